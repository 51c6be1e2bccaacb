// Indexes as existing code asks for them: as hints.

private import DocumentStore
public import Foundation
private import OfflineSync

/// Turns the making of indexes on and off, and drops them. None of it changes a result.
///
/// Unlike in the original, the index that a query needs is made without being asked for; turning that off
/// keeps those that are there.
public final class PersistentCacheIndexManager: NSObject, Sendable {
  private let firestore: Firestore

  init(_ firestore: Firestore) { self.firestore = firestore }

  /// Queries have the indexes made that they need. This is how every database begins.
  public func enableIndexAutoCreation() { firestore.client().createsIndexes(true) }

  /// Queries use the indexes that there are, and look at each document where none helps.
  public func disableIndexAutoCreation() { firestore.client().createsIndexes(false) }

  /// Drops them all, also those that were declared.
  public func deleteAllIndexes() {
    // Behind the declarations that came before: what those make goes, too.
    firestore.client().work(
      after: 0, inTurn: { $0.indexConfiguration },
      { view in
        for index in view.store.indexList { view.store.dropIndex(index.definition) }
      }, { _ in })
  }

  public override func isEqual(_ object: Any?) -> Bool {
    (object as? PersistentCacheIndexManager)?.firestore === firestore
  }

  public override var hash: Int { ObjectIdentifier(firestore).hashValue }
}

extension Firestore {
  /// Nil for a database in memory.
  public var persistentCacheIndexManager: PersistentCacheIndexManager? {
    isInMemory ? nil : PersistentCacheIndexManager(self)
  }
}
