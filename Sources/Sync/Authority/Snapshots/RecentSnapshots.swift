// Snapshots of the recent past, from which reads at a time begin.
//
// A snapshot is kept at most once a second, when there are new commits. Snapshots are kept for a minute, and
// the newest one that is older, so that each time of the last minute has a snapshot before it. Kept snapshots
// retain the space of data that was replaced since.
//
// Commits, reads and a timer release snapshots. The timer runs until one snapshot of the last commit is left,
// which retains nothing. So a store without commits has no timer.

internal import ByteStore
internal import Dispatch
internal import DocumentStore
internal import OfflineSync

final class RecentSnapshots: Sendable {
  private struct Kept: Sendable {
    let snapshot: StoreSnapshot
    let version: SnapshotVersion
    let position: FeedPosition
    /// When the snapshot was taken, by the clock that never goes back.
    let taken: UInt64
  }

  private struct State {
    var isKeeping = false
    var kept: [Kept] = []
    var waker: FeedWaker?
    var isTimerSet = false

    /// Releases the snapshots that no time of the last minute needs.
    mutating func prune(at now: UInt64) {
      let outdated = kept.prefix { now &- $0.taken > RecentSnapshots.lifetime }.count
      // The snapshot before a time is needed for reads at that time.
      kept.removeFirst(max(0, outdated - 1))
    }
  }

  private static let interval: UInt64 = 1_000_000_000
  private static let lifetime: UInt64 = 60_000_000_000
  /// A read fails if more documents have changed between its snapshot and its time.
  private static let changesMax = 100_000
  private static let commitsPerPage = 2000
  private static let pageBytesMax = 1 << 20
  /// A read also fails if the changes are more pages than these, because they are kept in memory.
  private static let pagesMax = 128

  private let store: DocumentStore
  private let state = Locked(State())
  private let queue = DispatchQueue(label: "dugout.authority.snapshots")

  init(_ store: DocumentStore) { self.store = store }

  /// Keeps snapshots from now on.
  func keep() throws(DocumentStoreError) {
    let isNew = state.withLock { state in
      defer { state.isKeeping = true }
      return !state.isKeeping
    }
    guard isNew else { return }
    do throws(DocumentStoreError) {
      try add(try store.snapshot())
    } catch {
      // The next call tries again.
      state.withLock { $0.isKeeping = false }
      throw error
    }
    let waker = store.onFeedCommit(queue) { [weak self] in self?.addIfDue() }
    state.withLock { $0.waker = waker }
  }

  /// The number of kept snapshots.
  var keptCount: Int { state.withLock { $0.kept.count } }
  /// Whether snapshots will be released without a further commit or read.
  var isTimerSet: Bool { state.withLock { $0.isTimerSet } }

  // MARK: Keeping

  /// Keeps a snapshot unless the last one is younger than a second.
  func addIfDue() {
    let now = store.clock.monotonicNanoseconds()
    let isDue = state.withLock { state in state.kept.last.map { now &- $0.taken >= Self.interval } ?? true }
    // Without a snapshot, reads of the time between fail. The next commit tries again.
    if isDue, let snapshot = try? store.snapshot() { try? add(snapshot) }
    setTimer()
  }

  /// Releases what is not needed any more, and replaces the last snapshot if there were commits after it.
  func prune() {
    let now = store.clock.monotonicNanoseconds()
    if isBehind {
      addIfDue()
    } else {
      state.withLock { $0.prune(at: now) }
      setTimer()
    }
  }

  /// Whether the last snapshot lacks commits, and retains what they have replaced.
  private var isBehind: Bool {
    let last = store.lastCommitTime.map { SnapshotVersion($0) } ?? .none
    return state.withLock { state in state.kept.last.map { $0.version < last } ?? false }
  }

  private func setTimer() {
    let isBehind = isBehind
    let isNew = state.withLock { state in
      guard !state.isTimerSet, isBehind || state.kept.count > 1 else { return false }
      state.isTimerSet = true
      return true
    }
    guard isNew else { return }
    queue.asyncAfter(deadline: .now() + .nanoseconds(Int(Self.lifetime + Self.interval))) { [weak self] in
      guard let self else { return }
      state.withLock { $0.isTimerSet = false }
      prune()
    }
  }

  private func add(_ snapshot: StoreSnapshot) throws(DocumentStoreError) {
    let now = store.clock.monotonicNanoseconds()
    let version = snapshot.time.map { SnapshotVersion($0) } ?? .none
    let kept = Kept(
      snapshot: snapshot, version: version, position: try snapshot.feedPosition(), taken: now)
    state.withLock { state in
      state.kept.append(kept)
      state.prune(at: now)
    }
  }

  // MARK: Reading

  /// All documents at a time before the last commit. Throws `failedPrecondition` if they are not kept.
  func snapshot(at version: SnapshotVersion) throws(RemoteError) -> PastSnapshot {
    let now = store.clock.monotonicNanoseconds()
    let base = state.withLock { state in
      state.prune(at: now)
      return state.kept.last { $0.version <= version }
    }
    guard let base else { throw Self.unkept }
    do throws(DocumentStoreError) {
      return try snapshot(at: version, from: base)
    } catch {
      if case .feedTruncated = error { throw Self.unkept }
      throw RemoteError(error)
    }
  }

  private static let unkept = RemoteError(
    .failedPrecondition, "The requested 'read_time' is too old: its documents are not kept any more.")

  private func snapshot(at version: SnapshotVersion, from base: Kept) throws(DocumentStoreError)
    -> PastSnapshot
  {
    var changed: [DocumentPath: StoredDocument?] = [:]
    var (position, last) = (base.position, base.version)
    for _ in 0..<Self.pagesMax {
      let (commits, end) = try store.feedChanges(
        after: position, max: Self.commitsPerPage, bytesMax: Self.pageBytesMax)
      for commit in commits {
        guard SnapshotVersion(commit.time) <= version else {
          return PastSnapshot(base.snapshot, changed, at: last)
        }
        last = SnapshotVersion(commit.time)
        for change in commit.changes { changed[change.path] = .some(try Self.state(change)) }
        guard changed.count <= Self.changesMax else { throw .feedTruncated("Too much has changed.") }
      }
      guard end > position else { return PastSnapshot(base.snapshot, changed, at: last) }
      position = end
    }
    throw .feedTruncated("Too much has changed.")
  }

  private static func state(_ change: FeedChange) throws(DocumentStoreError) -> StoredDocument? {
    switch change.outcome {
    case .written(let document): return document
    case .removed: return nil
    case .writtenWithMuchElse: throw .feedTruncated("The commit is too large for the feed.")
    }
  }
}
