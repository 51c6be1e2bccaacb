// The targets of a session, and the messages that wait to be sent.

internal import DocumentStore
internal import OfflineSync

extension WatchSession {
  struct State {
    /// A request has at most two messages as its answer. A client can add and remove all targets at once.
    private static let outboxMax = 4 * WatchSession.targetsMax

    private var targets: [TargetID: WatchedTarget] = [:]
    private var targetsOfQueries: [Int32: TargetID] = [:]
    /// The number before the first id of the newest target.
    private var lastQueryID = -Int32(WatchedTarget.documentsMax)
    private var outbox: [WatchChange] = []
    /// Whether a block is enqueued that sends the outbox.
    private var isFlushQueued = false
    private(set) var isClosed = false
    /// The time up to which the client has everything.
    var sentVersion = SnapshotVersion.none

    /// Whether there is a target whose state the client has.
    var hasSentTargets: Bool { targets.values.contains(where: \.isSent) }

    func has(_ target: WatchedTarget) -> Bool { targets[target.id]?.queryIDs == target.queryIDs }

    // MARK: Targets

    /// Adds a target. Returns nil if the session is closed.
    mutating func add(
      _ request: WatchTarget, _ token: AuthorityLife.TokenCheck?
    ) throws(RemoteError) -> WatchedTarget? {
      guard !isClosed else { return nil }
      guard targets[request.id] == nil else {
        throw RemoteError(.invalidArgument, "The stream already has a target with the id \(request.id).")
      }
      guard targets.count < WatchSession.targetsMax else {
        throw .tooManyTargets
      }
      var request = request
      if request.id.value == 0 { request.id = freeID }
      let target = WatchedTarget(request, token, firstQueryID: nextQueryIDs())
      targets[request.id] = target
      for id in target.queryIDs { targetsOfQueries[id] = request.id }
      return target
    }

    /// The least id that no target has.
    private var freeID: TargetID {
      var id: Int32 = 1
      while targets[TargetID(id)] != nil { id += 1 }
      return TargetID(id)
    }

    /// Reserves ids for all queries of a target. Ids of ended targets are used again after 21 million
    /// targets.
    private mutating func nextQueryIDs() -> Int32 {
      let count = Int32(WatchedTarget.documentsMax)
      repeat {
        lastQueryID = lastQueryID > .max - 2 * count ? 0 : lastQueryID + count
      } while targetsOfQueries[lastQueryID + 1] != nil
      return lastQueryID + 1
    }

    mutating func remove(_ id: TargetID) -> WatchedTarget? {
      guard let target = targets.removeValue(forKey: id) else { return nil }
      for query in target.queryIDs { targetsOfQueries[query] = nil }
      return target
    }

    /// Removes a target, unless another one has its id by now.
    mutating func remove(_ target: WatchedTarget) -> WatchedTarget? { has(target) ? remove(target.id) : nil }

    /// Returns whether the session was open.
    mutating func close() -> Bool {
      defer { isClosed = true }
      targets = [:]
      targetsOfQueries = [:]
      outbox = []
      return !isClosed
    }

    // MARK: Snapshots

    /// A snapshot, as far as it concerns targets that still exist.
    struct News {
      var changes: [(change: LiveStreamChange, target: TargetID)] = []
      /// The targets of which the snapshot has the whole state for the first time.
      var complete: [(target: WatchedTarget, present: [StoredDocument])] = []
      var failures: [(target: WatchedTarget, error: DocumentStoreError)] = []
      var outbox: [WatchChange] = []
    }

    /// Takes a snapshot over. Returns nil if the session is closed.
    mutating func take(_ snapshot: StreamSnapshot) -> News? {
      guard !isClosed else { return nil }
      var news = News(outbox: takeOutbox())
      var unsent: Set<TargetID> = []
      for (query, result) in snapshot.queries.sorted(by: { $0.key < $1.key }) {
        guard let id = targetsOfQueries[query] else { continue }
        switch result {
        case .failure(let error): if let target = targets[id] { news.failures.append((target, error)) }
        case .success(let state):
          if targets[id]?.isSent == true {
            news.changes += state.changes.map { ($0, id) }
          } else {
            targets[id]?.add(state, of: query)
            unsent.insert(id)
          }
        }
      }
      // A target is completed after all of its queries have their states of this snapshot.
      for id in unsent.sorted() {
        guard let present = targets[id]?.complete(), let target = targets[id] else { continue }
        news.complete.append((target, present))
      }
      return news
    }

    // MARK: Outbox

    enum Put { case isNew, isQueued, isFull }

    mutating func put(_ messages: [WatchChange]) -> Put {
      guard !isClosed else { return .isQueued }
      guard outbox.count < Self.outboxMax else { return .isFull }
      outbox += messages
      defer { isFlushQueued = true }
      return isFlushQueued ? .isQueued : .isNew
    }

    /// Takes the messages of the outbox when the block that sends them runs.
    mutating func flush() -> [WatchChange] {
      isFlushQueued = false
      return takeOutbox()
    }

    private mutating func takeOutbox() -> [WatchChange] {
      defer { outbox = [] }
      return outbox
    }
  }
}
