// Times and limits of a session.

/// Numbers that tests change. Times are in microseconds.
package struct ChannelSettings: Sendable {
  /// Attempts to open a session before the call ends.
  package var openAttemptsMax = 2
  /// Requests in a row without a result, of one kind, before the call ends.
  package var attemptsMax = 5
  /// The delay before the second attempt, which doubles with each one.
  package var delayMin: Int64 = 500_000
  package var delayMax: Int64 = 4_000_000
  /// The time in which a back channel brings its first bytes, unless something on the way holds them back.
  /// Silence is measured in these times.
  package var detectionTime: Int64 = 5_000_000
  /// An answer of a back channel is short if it ends within this time.
  package var shortAnswerTime: Int64 = 1_000_000
  /// The time between arrays of the server, if it does not say another one.
  package var keepAlive: Int64 = 30_000_000
  /// Seconds without a byte after which a request that is not a back channel fails.
  package var silenceSeconds: Double = 20
  /// The time in which such an answer ends after its begin. A proxy may send one without an end.
  package var answerTime: Int64 = 20_000_000
  /// Messages in one request.
  package var messagesMax = 500
  /// Bytes of these messages, unless there is only one.
  package var messageBytesMax = 512 * 1024
  /// The length of a piece of the back channel in UTF-16 code units, and in bytes: a message, and the form
  /// around it.
  package var pieceLengthMax = receivedBytesMax + 64 * 1024

  package init() {}

  /// The size of a message of the server: 64 MiB. A document of 1 MiB that consists of booleans has 24 MiB in
  /// JSON.
  static let receivedBytesMax = 64 << 20

  /// Times of keep-alives that the client believes.
  static let keepAlives: ClosedRange<Int64> = 1_000_000...600_000_000
  /// Bytes of an answer that is not a back channel.
  static let answerBytesMax = 64 * 1024
}
