// The requests of a stream that wait for its queue.
//
// Invariants:
//   - One block of the queue at most is going to take a request, however many requests wait.
//   - Requests beyond the limits end the stream, and all that wait are released. A queue that waits for its
//     client therefore keeps no more than the limits.

internal import OfflineSync

/// Encoded requests, oldest first.
struct WaitingRequests {
  enum Addition {
    case taken
    /// The request is the first one beyond a limit.
    case exceeds
    /// The stream is over.
    case ignored
  }

  enum Next {
    case request([UInt8])
    /// The last request was taken.
    case end
    case nothing
  }

  static let tooMany = RemoteError(
    .resourceExhausted, "Too many requests of the stream wait for earlier ones.")
  /// The maximum size of the requests that wait, unless it is one.
  private static let bytesMax = 32 << 20

  private let countMax: Int
  private var requests: [[UInt8]] = []
  private(set) var byteCount = 0
  private var hasBlock = false
  /// Whether no request follows.
  private var isFinished = false
  private var hasEnded = false
  private var isClosed = false

  init(countMax: Int) { self.countMax = countMax }

  mutating func add(_ request: [UInt8]) -> Addition {
    guard !isClosed else { return .ignored }
    guard requests.count < countMax, byteCount + request.count <= Self.bytesMax || requests.isEmpty else {
      close()
      return .exceeds
    }
    requests.append(request)
    byteCount += request.count
    return .taken
  }

  mutating func finish() { isFinished = true }

  /// Releases all requests. No other one is taken.
  mutating func close() {
    isClosed = true
    requests = []
    byteCount = 0
  }

  /// Whether the caller has to add a block that takes the next request, or the end after the last one.
  mutating func needsBlock() -> Bool {
    guard !hasBlock, !isClosed, !requests.isEmpty || isFinished && !hasEnded else { return false }
    hasBlock = true
    return true
  }

  /// Removes the oldest request. Called by the block.
  mutating func takeFirst() -> Next {
    hasBlock = false
    guard !isClosed else { return .nothing }
    guard !requests.isEmpty else {
      guard isFinished, !hasEnded else { return .nothing }
      hasEnded = true
      return .end
    }
    let request = requests.removeFirst()
    byteCount -= request.count
    return .request(request)
  }
}
