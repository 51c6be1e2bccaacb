// Limits for bytes from outside.

/// The sizes up to which messages are decoded. Each limit is checked before memory is reserved.
package struct WireLimits: Sendable {
  /// The limits of a server: a commit of 10 MiB, with room for the envelope.
  package static let standard = WireLimits()

  /// The size of a message.
  package var bytesMax = 10 * 1024 * 1024 + 64 * 1024
  /// The number of messages inside each other, also in JSON. The values of a document have their own limit.
  package var depthMax = 100
  /// The number of all repeated elements of a message, counted at every depth. An element that takes more
  /// than `bytesPerElement` in memory counts as several. Without this limit, two bytes on the wire could
  /// become hundreds in memory.
  package var countMax = 2_000_000
  /// The memory of one counted element.
  static let bytesPerElement = 32
  /// The number of labels of a stream.
  static let labelsMax = 1000

  /// How the documents in the message are read.
  package var documents = DocumentReading.standard

  package init() {}
}
