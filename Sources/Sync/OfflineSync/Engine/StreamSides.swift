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
  /// The batch whose documents are being looked up, since others have changed them. Nothing is sent until then.
  var lookup: BatchID?
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
  var enqueued = PathQueue()
  /// The targets whose views want to know.
  var references: [DocumentPath: Set<TargetID>] = [:]
  /// The same by target.
  var pathsOfTargets: [TargetID: Set<DocumentPath>] = [:]

  /// False if nobody else wants to know of it any more.
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

/// Documents in the order in which they came, each once. Nothing here takes as long as there are many.
struct PathQueue {
  private var items: [(number: Int, path: DocumentPath)] = []
  private var start = 0
  private var lastNumber = 0
  /// An item with another number has left.
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
