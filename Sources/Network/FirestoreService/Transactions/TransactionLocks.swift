// The locks of one transaction.

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

/// The locks of one transaction. An optimistic transaction holds none, but its commit waits for others.
///
/// The first attempt locks what it has read, shared with other readers. A further attempt begins with
/// exclusive locks of what the earlier ones have tried to write. It waits for them before it takes its
/// snapshot, so that it fails only because of a commit that does not wait.
final class TransactionLocks: Sendable {
  let owner: LockOwner
  private let locks: DocumentLocks
  private let isOptimistic: Bool
  /// The documents that earlier attempts have tried to write, until they are locked.
  private let earlier: Locked<[DocumentPath]>

  init(_ locks: DocumentLocks, isOptimistic: Bool, after attempt: EndedAttempts.Attempt?) {
    self.locks = locks
    self.isOptimistic = isOptimistic
    owner = locks.owner(age: attempt?.age)
    earlier = Locked(attempt?.writes ?? [])
  }

  /// Waits until the transaction may read these documents. `done` is called within this call, or later on any
  /// thread.
  func beforeReading(
    _ paths: [DocumentPath], of call: CallWaits, _ done: @escaping @Sendable (RemoteError?) -> Void
  ) {
    guard !isOptimistic else { return done(nil) }
    var modes: [DocumentPath: LockMode] = [:]
    for path in paths { modes[path] = .shared }
    for path in earlier.withLock({ earlier in
      defer { earlier = [] }
      return earlier
    }) {
      modes[path] = .exclusive
    }
    locks.lock(modes, for: owner, of: call, done)
  }

  /// Locks documents that the transaction has read.
  func didRead(_ paths: [DocumentPath]) {
    if !isOptimistic { locks.hold(paths, by: owner) }
  }

  /// Waits until the transaction may write these documents. The locks last until `end`.
  func beforeCommit(
    _ paths: [DocumentPath], of call: CallWaits?, _ done: @escaping @Sendable (RemoteError?) -> Void
  ) {
    let modes = Dictionary(paths.map { ($0, LockMode.exclusive) }) { first, _ in first }
    locks.lock(modes, for: owner, of: call, done)
  }

  func end() { locks.end(owner) }
}
