// The answer by which arrays leave.

/// How the arrays of a back channel leave.
enum BackChannelMode: Equatable, Sendable {
  /// As they come.
  case streaming
  /// In one answer, for which the client waits for this time at most, or for the time of keep-alives.
  case polling(nanoseconds: UInt64?)
}

/// The state of a back channel.
struct BackChannel {
  /// The number of its request.
  let request: UInt64
  let isPolling: Bool
  /// The number of the last array that was sent.
  var sent: UInt64
  var arrayCount = 0
  var byteCount = 0
  /// Bytes that the client may not have read yet.
  var unreadBytes = 0
  var isAskedWhenRead = false
  /// When an array without a meaning is due.
  var deadline: UInt64

  /// Whether it has sent so much that it ends.
  func isFull(_ limits: ChannelLimits) -> Bool {
    arrayCount >= limits.arraysPerBackChannelMax || byteCount >= limits.bytesPerBackChannelMax
  }
}
