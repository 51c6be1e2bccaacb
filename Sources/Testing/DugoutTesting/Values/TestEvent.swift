// The history of a world.

/// Something that happened in a world: a message that was sent, lost or duplicated, or a line of the test.
public struct TestEvent: Sendable, Hashable, CustomStringConvertible {
  /// The time since the start of the world.
  public let time: Duration
  /// The name of the client; nil for a line of the test.
  public let client: String?
  /// A description for people. Its wording may change between versions.
  public let text: String

  public var description: String {
    let seconds = Double(time.microseconds) / 1e6
    return "\(seconds) s: \(client.map { "\($0) " } ?? "")\(text)"
  }
}
