// A database with a remote, beside that of the default app.

import DocumentStore
package import FirebaseFirestore
import OfflineSync

extension TestApp {
  /// In memory, with a remote of its own; its callbacks run where those of the app do.
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
