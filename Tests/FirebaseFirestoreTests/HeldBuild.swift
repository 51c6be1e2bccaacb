// A helper that blocks index builds until a test releases them.

import ByteStore
import Dispatch
import OfflineSync
import Synchronization
import Testing

@testable import DocumentStore
@testable import FirebaseFirestore

/// Blocks all index builds of a database until `release()`.
final class HeldBuild: Sendable {
  let store: DocumentStore
  private let released = Mutex(false)

  /// Requires that the database is open and that no index build is in progress.
  init(in firestore: Firestore) throws {
    store = try #require(firestore.client().store.openView).store
    // This has the effect of an index build that never ends.
    store.building.withLock { $0.running += 1 }
    // Limits the wait, even if the test fails before it calls `release()`.
    DispatchQueue.global().asyncAfter(deadline: .now() + 30) { [self] in release() }
  }

  var isReleased: Bool { released.withLock { $0 } }

  /// The number of documents read by index builds since the database was opened.
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
