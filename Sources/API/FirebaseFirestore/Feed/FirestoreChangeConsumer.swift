// Registered consumers of the change feed, whose positions the database stores.

import DocumentStore
import FirebaseCore
import Foundation
import OfflineSync

/// A named consumer of the change feed. The database keeps the changes that it has not acknowledged, also
/// while the database is closed.
///
/// ```swift
/// let mirror = try await Firestore.firestore().registerConsumer("mirror")
/// for try await change in mirror.changes() {
///   print(change.document.path)
///   if change.isLastOfCommit { try await mirror.acknowledge(change.position) }
/// }
/// ```
///
/// The feed has limits, so that a consumer that never returns does not fill the disk. Changes are kept for at
/// most seven days. All changes together use at most a tenth of the space in use, or 4 MiB if that is more.
/// Beyond the limits, the oldest changes are dropped, and `changes()` throws
/// `FirestoreChangesError.truncated`.
public final class FirestoreChangeConsumer: Sendable {
  /// The name under which the database stores the position.
  public let name: String
  private let firestore: Firestore

  fileprivate init(_ name: String, of firestore: Firestore) {
    self.name = name
    self.firestore = firestore
  }

  static func unknown(_ name: String) -> any Error {
    FirestoreErrors.make(.notFound, "The change feed has no consumer \"\(name)\". Register it first.")
  }

  /// The changes after the last acknowledged position, followed by each new change. After a restart or a
  /// crash, changes that were not acknowledged are reported again.
  public func changes() -> FirestoreChanges { FirestoreChanges(firestore, .consumer(name)) }

  /// Returns the last acknowledged position. For a new consumer, this is the position of its registration.
  nonisolated(nonsending) public func position() async throws -> ChangePosition {
    try await performed { [name] store in
      guard let position = store.feedPosition(ofConsumer: name) else { throw Self.unknown(name) }
      return try store.changePosition(after: position)
    }
  }

  /// Marks all changes up to a position as processed. When this returns, the position is stored with the
  /// durability of the database's writes.
  ///
  /// Only whole commits are acknowledged: after a restart, a commit in whose middle the position is will be
  /// reported again. A position before the acknowledged one has no effect. Throws `notFound` if the consumer
  /// was removed, and a `FirestoreChangesError` for a position that is not in the history of this database.
  nonisolated(nonsending) public func acknowledge(_ position: ChangePosition) async throws {
    try await performed { [name] store in
      try store.check(position)
      guard store.feedPosition(ofConsumer: name) != nil else { throw Self.unknown(name) }
      try store.feedConsumer(name).acknowledge(position.lastWholeCommit)
    }
  }

  /// Removes the consumer. Changes are no longer kept for it. A loop over `changes()` that is running
  /// continues. Has no effect if the consumer was removed before.
  nonisolated(nonsending) public func unregister() async throws {
    try await performed { [name] store in
      guard store.feedPosition(ofConsumer: name) != nil else { return }
      try store.feedConsumer(name).unregister()
    }
  }

  /// Runs `body` on a thread that may block. Throws if the database was terminated, because a consumer's loop
  /// may be running at that time.
  nonisolated(nonsending) private func performed<Value: Sendable>(
    _ body: @escaping @Sendable (DocumentStore) throws -> Value
  ) async throws -> Value {
    try await firestore.livingClient().store.performed { view in
      Result { try body(view.store) }.mapError(FirestoreErrors.translate(any:))
    }.get()
  }
}

extension Firestore {
  /// Returns the consumer of the change feed with this name, and registers it if it does not exist. The
  /// changes of commits after the registration are kept for it, until it acknowledges them or is removed.
  ///
  /// While a database has a consumer, each commit also writes its documents to the feed. This about doubles
  /// the bytes that a commit writes, and adds no sync.
  ///
  /// Throws `invalidArgument` for a name with more than 1000 bytes, and for more than 1000 consumers.
  nonisolated(nonsending) public func registerConsumer(
    _ name: String
  ) async throws -> FirestoreChangeConsumer {
    try await client().performedAfterWrites { view throws(DocumentStoreError) in
      _ = try view.store.feedConsumer(name)
    }
    return FirestoreChangeConsumer(name, of: self)
  }

  /// Returns the names of all registered consumers of the change feed, in order.
  nonisolated(nonsending) public func changeConsumers() async throws -> [String] {
    try await client().performedAfterWrites { $0.store.feedConsumers }
  }
}
