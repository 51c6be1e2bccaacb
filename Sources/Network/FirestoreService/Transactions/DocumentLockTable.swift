// The locks of documents, as a value without threads and clocks.
//
// Locks only delay. Whether a transaction may commit is decided by the validation of its reads.
//
//   - A transaction holds shared locks of what it has read, and exclusive locks of what it commits. A commit
//     without a transaction waits for locks, and holds none.
//   - An owner that holds nothing waits for all holders of conflicting locks, and for the older owners that
//     wait for conflicting locks. It gets all locks of a request at once.
//   - An owner that holds locks waits for older holders only. Younger transactions that have read what it
//     writes fail when they commit.
//   - A lock ends after a while, and so does each wait.
//
// Why there is no deadlock: an owner that holds locks waits only for older holders, so a cycle would need an
// owner without locks. But only other owners without locks wait for such an owner, in the order of age.
//
// Why a change costs no work for each request that waits: a request is blocked at one of its documents. Only
// when something ends there, it is checked again. The requests of one kind are blocked there in the order of
// age, so a check ends at the first one that still waits.

internal import DocumentStore

struct DocumentLockTable {
  typealias Granted = @Sendable () -> Void

  struct Limits: Sendable {
    /// A lock, and a wait for locks, ends after this time.
    var nanoseconds: UInt64 = 5_000_000_000
    /// The maximum number of requests that wait.
    var waitingMax = 10_000
    /// Further locks of one owner, or of all owners, are not held.
    var locksPerOwnerMax = 1000
    var locksMax = 100_000
  }

  struct Request {
    /// Distinguishes requests.
    let number: UInt64
    let owner: LockOwner
    let modes: [DocumentPath: LockMode]
    /// Whether the owner holds the locks from then on.
    let isKept: Bool
    /// The time at which its wait ends, unless it ends before.
    var end = UInt64.max
    /// Called when the request no longer waits.
    let granted: Granted
  }

  enum Answer: Equatable {
    case granted
    case waiting
    case tooMany
  }

  private struct Waiting {
    let request: Request
    let end: UInt64
    /// The document at which the request is blocked.
    var blocked: DocumentPath
    var kind: LockQueue.Kind
  }

  private struct LockEnd: Comparable {
    let end: UInt64
    let owner: LockOwner
    let path: DocumentPath

    static func < (first: LockEnd, second: LockEnd) -> Bool { first.end < second.end }
  }

  private struct WaitEnd: Comparable {
    let end: UInt64
    let number: UInt64

    static func < (first: WaitEnd, second: WaitEnd) -> Bool {
      (first.end, first.number) < (second.end, second.number)
    }
  }

  private let limits: Limits
  private var queues: [DocumentPath: LockQueue] = [:]
  private var held: [LockOwner: Set<DocumentPath>] = [:]
  private var lockCount = 0
  private var requests: [UInt64: Waiting] = [:]
  /// The requests that wait, by their owners.
  private var requestsOfOwners: [LockOwner: Set<UInt64>] = [:]
  private var lockEnds = LazyHeap<LockEnd>()
  private var waitEnds = LazyHeap<WaitEnd>()
  /// Documents at which something has ended, until the requests there are checked.
  private var freed: Set<DocumentPath> = []
  /// The requests that were granted, until the caller takes them.
  private var granted: [Granted] = []
  /// The number of checks of requests so far, for tests.
  private(set) var checkCount = 0

  init(_ limits: Limits) { self.limits = limits }

  /// Whether no commit has to wait for a lock.
  var isEmpty: Bool { queues.isEmpty }
  var waitingCount: Int { requests.count }

  // MARK: Requests

  /// Requests locks. If the request waits, its `granted` is in the result of a later call.
  mutating func request(_ request: Request, at now: UInt64) -> Answer {
    expire(at: now)
    let end = min(now &+ limits.nanoseconds, request.end)
    guard end > now, let path = blockingPath(request) else {
      if request.isKept { hold(request.modes, by: request.owner, at: now) }
      return .granted
    }
    guard requests.count < limits.waitingMax else { return .tooMany }
    let kind = kind(of: request, at: path)
    requests[request.number] = Waiting(request: request, end: end, blocked: path, kind: kind)
    requestsOfOwners[request.owner, default: []].insert(request.number)
    waitEnds.insert(WaitEnd(end: end, number: request.number)) { [requests] in requests[$0.number] != nil }
    let entry = LockQueue.Entry(owner: request.owner, number: request.number)
    for (path, mode) in request.modes {
      queues[path, default: LockQueue()].add(entry, mode) { [requests] in requests[$0.number] != nil }
    }
    block(entry, at: path, kind: kind)
    return .waiting
  }

  /// The document at which a request has to wait; nil if it is ready.
  private mutating func blockingPath(_ request: Request) -> DocumentPath? {
    checkCount += 1
    for (path, mode) in request.modes where isBlocked(request, at: path, mode: mode) { return path }
    return nil
  }

  private mutating func isBlocked(
    _ request: Request, at path: DocumentPath, mode: LockMode
  ) -> Bool {
    guard queues[path] != nil else { return false }
    guard held[request.owner] == nil else {
      return queues[path]?.hasHolder(olderThan: request.owner, conflictingWith: mode) ?? false
    }
    if queues[path]?.hasHolder(conflictingWith: mode) == true { return true }
    let first = queues[path]?.firstWaiting(conflictingWith: mode) { [requests] in requests[$0.number] != nil }
    return first.map { $0.owner.isOlder(than: request.owner) } ?? false
  }

  private func kind(of request: Request, at path: DocumentPath) -> LockQueue.Kind {
    guard held[request.owner] != nil else { return .holdsNothing }
    return request.modes[path] == .exclusive ? .exclusive : .shared
  }

  private mutating func block(_ entry: LockQueue.Entry, at path: DocumentPath, kind: LockQueue.Kind) {
    queues[path]?.block(entry, kind) { [requests] in
      requests[$0.number].map { $0.blocked == path && $0.kind == kind } ?? false
    }
  }

  /// Adds locks without waiting.
  mutating func hold(_ modes: [DocumentPath: LockMode], by owner: LockOwner, at now: UInt64) {
    let heldNothing = held[owner] == nil
    for (path, mode) in modes {
      let known = queues[path]?.holds[owner]
      if let known, known.mode == .exclusive || mode == .shared { continue }
      if known == nil {
        guard held[owner]?.count ?? 0 < limits.locksPerOwnerMax, lockCount < limits.locksMax else { continue }
        lockCount += 1
      }
      let end = now &+ limits.nanoseconds
      queues[path, default: LockQueue()].hold(LockQueue.Hold(mode: mode, end: end), by: owner)
      held[owner, default: []].insert(path)
      lockEnds.insert(LockEnd(end: end, owner: owner, path: path)) { [queues] in
        queues[$0.path]?.holds[$0.owner]?.end == $0.end
      }
    }
    if heldNothing, held[owner] != nil { didChange(owner, at: now) }
  }

  /// An owner waits in another way from now on, because it has got its first lock or lost its last one.
  private mutating func didChange(_ owner: LockOwner, at now: UInt64) {
    for number in requestsOfOwners[owner] ?? [] { check(number, at: now) }
  }

  // MARK: Ends

  /// Ends all locks and requests of an owner. Returns what is granted by that.
  mutating func end(_ owner: LockOwner, at now: UInt64) -> [Granted] {
    for number in (requestsOfOwners[owner] ?? []).sorted() {
      if let request = remove(number) { granted.append(request.granted) }
    }
    for path in held[owner] ?? [] { removeHold(of: owner, at: path, now: now) }
    return advance(at: now)
  }

  /// Ends a wait without locks. Returns its request, and what is granted by that.
  mutating func cancel(_ number: UInt64, at now: UInt64) -> [Granted] {
    guard let request = remove(number) else { return [] }
    granted.append(request.granted)
    return advance(at: now)
  }

  /// Ends all locks and all waits.
  mutating func endAll() -> [Granted] {
    let all = granted + requests.sorted { $0.key < $1.key }.map(\.value.request.granted)
    self = DocumentLockTable(limits)
    return all
  }

  /// Ends the waits and the locks whose time is over, and returns all that was granted.
  mutating func endOverdue(at now: UInt64) -> [Granted] {
    expire(at: now)
    return takeGranted()
  }

  /// The requests that were granted by the calls so far.
  mutating func takeGranted() -> [Granted] {
    defer { granted = [] }
    return granted
  }

  /// A time before which `endOverdue` is not due; nil if no request waits.
  mutating func nextEnd() -> UInt64? {
    guard let wait = nextWaitEnd() else { return nil }
    return min(wait.end, nextLockEnd()?.end ?? .max)
  }

  private mutating func nextWaitEnd() -> WaitEnd? {
    waitEnds.first { [requests] in requests[$0.number] != nil }
  }

  private mutating func nextLockEnd() -> LockEnd? {
    lockEnds.first { [queues] in queues[$0.path]?.holds[$0.owner]?.end == $0.end }
  }

  private mutating func expire(at now: UInt64) {
    while let next = nextLockEnd(), next.end <= now { removeHold(of: next.owner, at: next.path, now: now) }
    while let next = nextWaitEnd(), next.end <= now { grant(next.number, at: now) }
    granted = advance(at: now)
  }

  private mutating func removeHold(of owner: LockOwner, at path: DocumentPath, now: UInt64) {
    guard queues[path]?.removeHold(of: owner) == true else { return }
    lockCount -= 1
    freed.insert(path)
    removeIfEmpty(path)
    held[owner]?.remove(path)
    guard held[owner]?.isEmpty == true else { return }
    held[owner] = nil
    didChange(owner, at: now)
  }

  private mutating func removeIfEmpty(_ path: DocumentPath) {
    if queues[path]?.isEmpty == true { queues[path] = nil }
  }

  // MARK: Granting

  /// Grants the requests that are ready at documents where something has ended.
  private mutating func advance(at now: UInt64) -> [Granted] {
    while let path = freed.popFirst() {
      for kind in LockQueue.Kind.allCases {
        while let number = firstBlocked(at: path, kind), check(number, at: now) {}
      }
    }
    return takeGranted()
  }

  private mutating func firstBlocked(at path: DocumentPath, _ kind: LockQueue.Kind) -> UInt64? {
    let entry = queues[path]?.firstBlocked(kind) { [requests] in
      requests[$0.number].map { $0.blocked == path && $0.kind == kind } ?? false
    }
    return entry?.number
  }

  /// Grants a request if it is ready. Returns false if it is still blocked at its document.
  @discardableResult
  private mutating func check(_ number: UInt64, at now: UInt64) -> Bool {
    guard let waiting = requests[number] else { return true }
    checkCount += 1
    let (request, path) = (waiting.request, waiting.blocked)
    if kind(of: request, at: path) == waiting.kind,
      isBlocked(request, at: path, mode: request.modes[path] ?? .exclusive)
    {
      return false
    }
    guard let path = blockingPath(request) else {
      grant(number, at: now)
      return true
    }
    let kind = kind(of: request, at: path)
    requests[number] = Waiting(request: request, end: waiting.end, blocked: path, kind: kind)
    block(LockQueue.Entry(owner: request.owner, number: number), at: path, kind: kind)
    return true
  }

  private mutating func grant(_ number: UInt64, at now: UInt64) {
    guard let request = remove(number) else { return }
    if request.isKept { hold(request.modes, by: request.owner, at: now) }
    granted.append(request.granted)
  }

  /// Removes a request that waits.
  private mutating func remove(_ number: UInt64) -> Request? {
    guard let request = requests.removeValue(forKey: number)?.request else { return nil }
    requestsOfOwners[request.owner]?.remove(number)
    if requestsOfOwners[request.owner]?.isEmpty == true { requestsOfOwners[request.owner] = nil }
    for path in request.modes.keys {
      queues[path]?.waitingCount -= 1
      freed.insert(path)
      removeIfEmpty(path)
    }
    return request
  }
}
