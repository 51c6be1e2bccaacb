// The two directions of a session.

/// The requests that carry messages to the server.
struct ForwardState {
  /// The messages of the request; nil if there is none.
  var batch: MessageLine.Batch?
  /// The number by which the server knows the request.
  var number: UInt64 = 0
  /// The request that waits for its answer.
  var request: UInt64?
  var answer = WebAnswer()
  var attempts = ChannelAttempts()
  /// The timer that ends an answer which has begun.
  var limit: UInt64?
  /// The timer of the next attempt.
  var retry: UInt64?
}

/// The requests that bring arrays.
struct BackState {
  /// Whether each answer ends after the arrays that there are, because something on the way holds back
  /// answers that do not end.
  var polls: Bool
  /// Whether an answer has brought bytes some time before its end.
  var streams = false
  var request: UInt64?
  /// The answer, without the arrays.
  var answer = WebAnswer()
  var pieces: PieceReader
  var attempts = ChannelAttempts()
  /// The timer of the next attempt.
  var retry: UInt64?
  /// Whether the request has brought an array that was not here before.
  var hasBroughtArrays = false
  var hasBroughtMessages = false
  /// The short time after the begin of a request that follows an answer without a message.
  var pause: UInt64?
  /// Answers in a row without a message, each within that time.
  var emptyAnswers = ChannelAttempts()
  var byteCount = 0
  /// The timer of silence, and whether bytes have come since it was set.
  var watch: UInt64?
  var hasNewBytes = false
  /// Periods of that timer in a row without a byte.
  var silentPeriods = 0
  /// The reason for a request that follows one that was silent for too long; nil if a byte has come since. If
  /// this request is silent, too, the call ends.
  var trial: Trial?

  enum Trial {
    /// The connection may be dead.
    case connection
    /// Something on the way may hold back answers that do not end.
    case polling
  }

  /// Whether the program took no messages for a part of this period. The server could then not send anything.
  var wasPaused = false
  /// The timer that ends the back channel if no more bytes come.
  var suspicion: UInt64?
  var bytesWhenSuspected = 0

  init(polls: Bool, pieceLengthMax: Int) {
    self.polls = polls
    pieces = PieceReader(lengthMax: pieceLengthMax)
  }

  /// Begins a request. Attempts are counted further, and a trial goes on.
  mutating func reset(pieceLengthMax: Int) {
    (answer, pieces) = (WebAnswer(), PieceReader(lengthMax: pieceLengthMax))
    (hasBroughtArrays, hasBroughtMessages, hasNewBytes) = (false, false, false)
    (byteCount, silentPeriods) = (0, 0)
    (retry, watch, suspicion) = (nil, nil, nil)
  }
}
