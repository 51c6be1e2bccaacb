// The state of the watch stream, the write stream and limbo resolution.

internal import DocumentStore

enum StreamPhase: Hashable {
  case stopped
  /// Waits for the backoff timer.
  case waiting
  case opening
  case open

  var isStarted: Bool { self != .stopped }
}

struct WatchSide {
  var phase = StreamPhase.stopped
  var hasFailed = false
  var backoff: Backoff
  /// The aggregator of the current stream. Each new stream gets a new aggregator.
  var aggregator = WatchAggregator()
  /// All targets to watch, whether a stream is open or not.
  var targets: [TargetID: TargetData] = [:]
  var isIdleTimerRunning = false
}

struct WriteSide {
  static let pipelineMax = 10

  var phase = StreamPhase.stopped
  var isHandshakeComplete = false
  var hasFailed = false
  var backoff: Backoff
  /// The first batches of the queue: sent, or to be sent when the stream is open.
  var pipeline: [PendingBatch] = []
  /// The batch whose documents are being looked up because other clients changed them. The stream sends
  /// nothing until these documents have arrived.
  var lookup: BatchID?
  var isIdleTimerRunning = false
  /// The runs that the handshake of the current stream has named.
  var namedRuns: Set<RunID> = []
  /// Whether the remote of the current stream registers runs.
  var registersRuns = false

  /// Whether a new batch may be sent without another registration: the handshake is complete, or will be
  /// completed under the tokens that have come.
  var hasRegistered: Bool { isHandshakeComplete || registersRuns }

  /// Whether the batch has to wait for another stream, whose handshake names its run.
  func waitsForRegistration(_ batch: PendingBatch) -> Bool {
    registersRuns && !namedRuns.contains(batch.run)
  }
}

/// Limbo documents, each of which is resolved by its own target.
struct LimboSide {
  struct Resolution {
    let path: DocumentPath
    /// Whether the remote has reported that the document exists.
    var isReceived = false
  }

  var nextID: Int32 = 1
  var active: [DocumentPath: TargetID] = [:]
  var resolutions: [TargetID: Resolution] = [:]
  var enqueued = PathQueue()
  /// For each limbo document, the targets whose views contain it.
  var references: [DocumentPath: Set<TargetID>] = [:]
  /// The inverse of `references`: the limbo documents of each target.
  var pathsOfTargets: [TargetID: Set<DocumentPath>] = [:]

  /// Removes a target's reference to a limbo document. Returns false if no other target refers to that
  /// document.
  mutating func removeReference(to path: DocumentPath, of target: TargetID) -> Bool {
    pathsOfTargets[target]?.remove(path)
    if pathsOfTargets[target]?.isEmpty == true { pathsOfTargets[target] = nil }
    references[path]?.remove(target)
    return references[path]?.isEmpty == false
  }

  mutating func addReference(to path: DocumentPath, of target: TargetID) {
    pathsOfTargets[target, default: []].insert(path)
    references[path, default: []].insert(target)
  }
}

/// A FIFO queue of distinct documents. The cost of every operation is independent of the queue's length
/// (amortized).
struct PathQueue {
  private var items: [(number: Int, path: DocumentPath)] = []
  private var start = 0
  private var lastNumber = 0
  /// The number of each path's valid item. An item with a different number has been removed.
  private var numbers: [DocumentPath: Int] = [:]

  var isEmpty: Bool { numbers.isEmpty }
  var all: [DocumentPath] { items[start...].filter { numbers[$0.path] == $0.number }.map(\.path) }

  func contains(_ path: DocumentPath) -> Bool { numbers[path] != nil }

  mutating func append(_ path: DocumentPath) {
    guard numbers[path] == nil else { return }
    lastNumber += 1
    numbers[path] = lastNumber
    items.append((lastNumber, path))
  }

  mutating func remove(_ path: DocumentPath) {
    numbers[path] = nil
    if numbers.isEmpty { (items, start) = ([], 0) }
  }

  mutating func popFirst() -> DocumentPath? {
    while start < items.count {
      let (number, path) = items[start]
      start += 1
      if start > 64, start > items.count / 2 {
        items.removeFirst(start)
        start = 0
      }
      guard numbers[path] == number else { continue }
      remove(path)
      return path
    }
    return nil
  }
}
