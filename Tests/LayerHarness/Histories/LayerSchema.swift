// The classes whose objects the histories are about, as an app would declare them.

import FirebaseFirestore
import Foundation
import Pring

/// Where classes find their collections: the database of the client at work.
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

  /// Counted up by each like, whoever likes.
  var likes = 0
  /// How many have joined, counted by transactions.
  var joined = 0
  var tags: Set<String> = []
  let guests: ReferenceCollection<LayerPerson> = []
  let members: ReferenceCollection<LayerPerson> = []
  let notes: NestedCollection<LayerNote> = []
  let shelf: List<LayerNote> = []
}
