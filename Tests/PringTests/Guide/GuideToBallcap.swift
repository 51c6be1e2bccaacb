// The last examples of docs/pring.md, word by word: Ballcap reads what Pring wrote. GuideTests runs them.

import Ballcap
import FirebaseFirestore

struct Human: Codable, Modelable {
  static var name: String { "person" }

  var name: String?
  var age: Int = 0
  var isMember: Bool = false
  var tags: [String: Bool] = [:]
}

func readAsModel(_ id: String) async throws -> Human? {
  BallcapApp.configure(Firestore.firestore().document("version/1"))
  defer { BallcapApp.configure() }
  return try await Ballcap.Document<Human>.get(id: id)?.data
}
