// What one can choose about a data source.

extension DataSource {
  public struct Option: Sendable {
    /// How long `retrieve` may take before that is reported, in seconds.
    public var timeout: Int = 10
    /// Whether snapshots that bring nothing but news about themselves are kept from `onChanged`.
    public var skipsMetadataChanges = false

    public init() {}
  }
}
