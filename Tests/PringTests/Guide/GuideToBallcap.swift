// The last examples of docs/pring.md, verbatim, in which Ballcap reads documents that Pring wrote.
// GuideTests runs them.

import Ballcap
import FirebaseFirestore
import FirebaseStorage
import Foundation

struct Portrait: Codable, Hashable {
  var name: String
  var url: URL?
  var mimeType: String?
}

struct Human: Codable, Modelable {
  static var name: String { "person" }

  var name: String?
  var age: Int = 0
  var isMember: Bool = false
  var tags: [String: Bool] = [:]
  var picture: Portrait?
}

func readAsModel(_ id: String) async throws -> Human? {
  BallcapApp.configure(Firestore.firestore().document("version/1"))
  defer { BallcapApp.configure() }
  return try await Ballcap.Document<Human>.get(id: id)?.data
}

func readPictureOfModel(_ id: String) async throws -> Data? {
  BallcapApp.configure(Firestore.firestore().document("version/1"))
  defer { BallcapApp.configure() }
  guard let human = try await Ballcap.Document<Human>.get(id: id), let picture = human.data?.picture else {
    return nil
  }
  return try await human.storageReference.child("picture").child(picture.name).data(maxSize: 1 << 20)
}
