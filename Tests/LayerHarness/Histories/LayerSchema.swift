// The classes of the histories' objects, declared as in an app.

import FirebaseFirestore
import Foundation
import Pring

/// The database that contains the classes' collections: the database of the current client.
enum LayerDatabase {
  @TaskLocal static var current: Firestore?

  static var firestore: Firestore { current ?? Firestore.firestore() }
}

class LayerPerson: Object {
  override class var modelName: String { "people" }
  override class var reference: CollectionReference { LayerDatabase.firestore.collection(path) }

  var name = ""
  var visits = 0
}

final class LayerNote: Object {
  override class var reference: CollectionReference { LayerDatabase.firestore.collection(path) }

  var text = ""
}

final class LayerRoom: Object {
  override class var modelName: String { "rooms" }
  override class var reference: CollectionReference { LayerDatabase.firestore.collection(path) }

  /// Incremented by each like of any client.
  var likes = 0
  /// The number of joined people, maintained by transactions.
  var joined = 0
  var tags: Set<String> = []
  let guests: ReferenceCollection<LayerPerson> = []
  let members: ReferenceCollection<LayerPerson> = []
  let notes: NestedCollection<LayerNote> = []
  let shelf: List<LayerNote> = []
}
