// Hints for automatic indexes, in the form that existing code uses.

private import DocumentStore
public import Foundation
private import OfflineSync

/// Turns automatic index creation on and off, and drops indexes. No call changes the result of a query.
///
/// Unlike Firestore, a database starts with automatic index creation turned on. Turning it off keeps
/// existing indexes.
public final class PersistentCacheIndexManager: NSObject, Sendable {
  private let firestore: Firestore

  init(_ firestore: Firestore) { self.firestore = firestore }

  /// Lets queries create the indexes they need. This is the default.
  public func enableIndexAutoCreation() { firestore.client().store.createsIndexes(true) }

  /// Stops the creation of indexes. Queries use existing indexes, or scan all documents.
  public func disableIndexAutoCreation() { firestore.client().store.createsIndexes(false) }

  /// Drops all indexes, including declared ones. Has no effect on a read-only database.
  public func deleteAllIndexes() {
    guard firestore.access == .readAndWrite else { return }
    // Runs on the queue of index declarations, after the earlier ones, so that the indexes they create are
    // dropped too.
    firestore.client().store.work(
      after: 0, inTurn: { $0.indexes },
      { view in
        for index in view.store.indexList { view.store.dropIndex(index.definition) }
      }, done: { _ in })
  }

  public override func isEqual(_ object: Any?) -> Bool {
    (object as? PersistentCacheIndexManager)?.firestore === firestore
  }

  public override var hash: Int { ObjectIdentifier(firestore).hashValue }
}

extension Firestore {
  /// The index manager; nil for a database in memory.
  public var persistentCacheIndexManager: PersistentCacheIndexManager? {
    isInMemory ? nil : PersistentCacheIndexManager(self)
  }
}
