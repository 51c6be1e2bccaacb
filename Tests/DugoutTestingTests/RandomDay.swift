// A random day of several clients, for the tests of the world itself.

import DugoutTesting
import FirebaseFirestore

/// Writes, listens, runs transactions, cuts connections and relaunches clients, as the world's seed decides.
struct RandomDay {
  let world: TestWorld
  var steps = 25

  func run() async throws {
    var random = world.generator()
    let clients = try ["phone", "tablet", "desktop"].map { try world.client($0, configure: Self.configure) }
    for client in clients { listen(client) }
    for _ in 0..<steps {
      let client = clients[Int.random(in: 0..<clients.count, using: &random)]
      try await act(client, &random)
      try await world.time.advance(by: .milliseconds(Int.random(in: 0...400, using: &random)))
    }
    world.network.setFaults(.none)
    world.network.restoreAll()
    try await world.checkConvergence(of: "notes")
  }

  private static func configure(_ settings: FirestoreSettings) { settings.acknowledgement = .local }

  private func listen(_ client: TestClient) {
    let world = world
    client.firestore.collection("notes").addSnapshotListener { snapshot, _ in
      let texts = snapshot?.documents.map { "\($0.documentID)=\($0.data()["text"] ?? "")" } ?? []
      world.note("\(client) shows \(texts)")
    }
  }

  private func act(_ client: TestClient, _ random: inout SeededGenerator) async throws {
    let notes = client.firestore.collection("notes")
    switch Int.random(in: 0..<12, using: &random) {
    case 0, 1: try await notes.document("\(Int.random(in: 0..<4, using: &random))").delete()
    case 2: _ = try await notes.addDocument(data: ["text": "new"])
    case 3: world.network.cut(client)
    case 4: world.network.restore(client)
    case 5: world.network.setFaults(.random(using: &random), of: client)
    case 6:
      try await client.relaunch()
      listen(client)
    case 7: try await world.authority.firestore.document("notes/0").setData(["text": "authority"])
    case 8: await count(client)
    default:
      async let first: Void = notes.document("\(Int.random(in: 0..<4, using: &random))").setData(
        ["text": "\(random.next() % 100)", "at": FieldValue.serverTimestamp()])
      async let second: Void = notes.document("both").setData(["text": client.name])
      _ = try await (first, second)
    }
  }

  /// Increments a counter in a transaction, which fails without a connection.
  private func count(_ client: TestClient) async {
    let counter = client.firestore.document("notes/counter")
    client.firestore.runTransaction { transaction, error in
      do {
        let count = try transaction.getDocument(counter).data()?["count"] as? Int ?? 0
        transaction.setData(["count": count + 1], forDocument: counter)
        return count + 1
      } catch let failure as NSError {
        unsafe error?.pointee = failure
        return nil
      }
    } completion: { [world] value, error in
      world.note("\(client) counted \(value ?? "nothing"): \(error?.localizedDescription ?? "done")")
    }
  }
}
