// A second database, which has a remote, in addition to the database of the default app.

import Authority
import DocumentStore
package import FirebaseFirestore
import OfflineSync

extension TestApp {
  /// Opens an in-memory database with its own remote. The database's callbacks run on the app's callback
  /// queue.
  package func storeWithRemote() throws -> Firestore {
    let firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = Firestore.firestore().settings.dispatchQueue
    settings.remote = try LoopbackRemote(authority: try DocumentStore.openInMemory())
    settings.acknowledgement = .local
    firestore.settings = settings
    return firestore
  }
}
