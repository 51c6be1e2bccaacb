// Classes of an app whose tests use `@testable import Ballcap`. They declare plain names, which would
// conflict with internal members of the layer's base class if those had no prefix.

import FirebaseFirestore
import FirebaseStorage
import Foundation

@testable import Ballcap

private class Visit: Object {
  var times: [Timestamp] = []
  var reference = ""
  var whole = false
  var read = 0
  var snapshots: [DocumentSnapshot] = []
  var readTime = Date()
  var decoder = ""
  var place = ""
  var storage = ""

  class func whole(
    of snapshot: DocumentSnapshot, at readTime: Date, _ decoder: Firestore.Decoder
  ) throws -> Object? { nil }

  required init(_ documentReference: DocumentReference) { super.init(documentReference) }

  init(read snapshot: DocumentSnapshot, at readTime: Date) { super.init(snapshot.reference) }
}

private final class Room: Visit, DataRepresentable, DataListenable, DataCacheable, HierarchicalStructurable {
  struct Model: Codable, Modelable {
    var times: [Int] = []
    var propertyLines = ""
    var opened: ServerTimestamp = .pending
  }

  enum CollectionKeys: String { case times, home }

  var data: Room.Model?
  var listener: ListenerRegistration?
  var home = ""
  var wantsTimes = ""
  var batch = 0
  var writes: [String] = []
  var made = Date()
  var object = ""
  var objects: [String] = []
  var taken = false
  var finds = 0
  static let home = "lobby"
  static let made = 1

  func take(_ object: Room) { times = object.times }
  static func object(of snapshot: DocumentSnapshot) -> String { snapshot.documentID }
}

private func use(_ room: Room) {
  room.times.append(Timestamp())
  room.save { error in print(error as Any, room.home, Room.home, room.wantsTimes) }
  room.get(.cacheOnly) { room, error in print(room?.times as Any) }
}

/// The layer's own names are accessible as well.
private func internals(_ room: Room) {
  let cached: [String: Any]? = DocumentCache.shared.get(reference: room.documentReference)
  DocumentCache.shared.clear()
  room.createdAt = Timestamp()
  print(cached as Any)
}
