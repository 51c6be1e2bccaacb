// The state of both streams.

internal import DocumentStore

enum StreamPhase: Hashable {
  case stopped
  /// Until the next attempt.
  case waiting
  case opening
  case open

  var isStarted: Bool { self != .stopped }
}

struct WatchSide {
  var phase = StreamPhase.stopped
  var hasFailed = false
  var backoff: Backoff
  /// Lives as long as the stream.
  var aggregator = WatchAggregator()
  /// All that is to be followed, whether there is a stream or not.
  var targets: [TargetID: TargetData] = [:]
  var isIdleTimerRunning = false
}

struct WriteSide {
  static let pipelineMax = 10

  var phase = StreamPhase.stopped
  var isHandshakeComplete = false
  var hasFailed = false
  var backoff: Backoff
  /// The first batches of the queue: sent, or to be sent on the open stream.
  var pipeline: [PendingBatch] = []
  var isIdleTimerRunning = false
}

/// Documents that are being asked for one by one.
struct LimboSide {
  struct Resolution {
    let path: DocumentPath
    /// The remote has said that it is there.
    var isReceived = false
  }

  var nextID: Int32 = 1
  var active: [DocumentPath: TargetID] = [:]
  var resolutions: [TargetID: Resolution] = [:]
  var enqueued: [DocumentPath] = []
  /// The targets whose views want to know.
  var references: [DocumentPath: Set<TargetID>] = [:]
}
