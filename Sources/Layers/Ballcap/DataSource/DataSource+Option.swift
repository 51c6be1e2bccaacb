// What one can choose about a data source.

extension DataSource {
  /// What one can choose about a data source.
  public struct Option: Sendable {
    /// How long `retrieve` may take before that is reported, in seconds.
    public var timeout: Int = 10
    /// Whether snapshots that bring nothing but news about themselves are kept from `onChanged`.
    public var skipsMetadataChanges = false

    /// A timeout of ten seconds; changes of metadata are told.
    public init() {}
  }
}
