// Indexes that are not made before a test says so.

import ByteStore
import Dispatch
import OfflineSync
import Synchronization
import Testing

@testable import DocumentStore
@testable import FirebaseFirestore

/// Holds the making of all indexes up, until it is let go.
final class HeldBuild: Sendable {
  let store: DocumentStore
  private let released = Mutex(false)

  /// The database is open, and no index is being made.
  init(in firestore: Firestore) throws {
    store = try #require(firestore.client().openView).store
    // As if one were being made all the time.
    store.building.withLock { $0.running += 1 }
    // Nobody waits for ever, whatever goes wrong.
    DispatchQueue.global().asyncAfter(deadline: .now() + 30) { [self] in release() }
  }

  var isReleased: Bool { released.withLock { $0 } }

  /// How many documents were read to make indexes since the database was opened.
  var documentsRead: Int { store.documentsReadForIndexes.withLock { $0 } }

  func release() {
    let isFirst = released.withLock { released in
      defer { released = true }
      return !released
    }
    guard isFirst else { return }
    store.building.withLock { $0.running -= 1 }
    store.building.wakeAll()
  }
}
