// The databases of a history's clients.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync

enum LayerStore {
  /// Opens a client's store below the folder. A client always uses the same app name, because the name is a
  /// part of the store's path.
  static func open(
    _ number: Int, named name: String, in folder: URL, _ remote: LoopbackRemote?,
    _ durability: FirestoreDurability = .synced
  ) -> Firestore {
    let name = "layers-\(name)-\(number)"
    FirebaseApp.configure(
      name: name, options: FirebaseOptions(directory: folder.appendingPathComponent("\(number)")))
    guard let app = FirebaseApp.app(name: name) else { preconditionFailure("the app was just made") }
    let firestore = Firestore.firestore(app: app)
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: name)
    settings.remote = remote
    settings.acknowledgement = .local
    settings.durability = durability
    firestore.settings = settings
    return firestore
  }

  static func close(_ firestore: Firestore) async {
    await withCheckedContinuation { done in firestore.app.delete { _ in done.resume() } }
  }
}
