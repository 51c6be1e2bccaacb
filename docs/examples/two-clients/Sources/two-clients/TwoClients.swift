// Two clients and an authority in one process: both clients edit a shopping list, one of them offline.
//
//   two-clients

import Authority
import DocumentStore
import FirebaseFirestore

@main
struct TwoClients {
  static func main() async throws {
    // The authority, to whose state both clients converge. The authority could be stored in a directory
    // instead of in memory, and so could the store of a client.
    let authority = try DocumentStore.openInMemory()
    let remote = try LoopbackRemote(authority: authority)
    let ada = Client("Ada", remote)
    let bob = Client("Bob", remote)

    try await ada.put("milk", count: 1)
    try await bob.wait(for: "milk", count: 1)
    print("Bob sees what Ada has written.")

    try await ada.firestore.disableNetwork()
    try await ada.add(2, to: "milk")
    try await ada.put("bread", count: 1)
    try await bob.add(3, to: "milk")
    print("Ada is offline and sees:", try await ada.list())
    print("Bob is online and sees: ", try await bob.list())
    print("Ada's queue:", try await ada.firestore.pendingWrites().count, "writes")

    try await ada.firestore.enableNetwork()
    try await ada.firestore.waitForPendingWrites()
    // Both clients increment the count at the same time, and both increments take effect.
    for client in [ada, bob] {
      try await client.wait(for: "milk", count: 6)
      try await client.wait(for: "bread", count: 1)
    }
    let (one, other) = (try await ada.list(), try await bob.list())
    print("Together again, both see:", one)
    guard one == other else {
      print("They do not agree:", other)
      exit(1)
    }
    for client in [ada, bob] { try await client.end() }
    try authority.close()
  }
}

struct Client {
  let firestore: Firestore
  private let list: CollectionReference
  /// While a listener on the list exists, the cache keeps the whole list.
  private let following: any ListenerRegistration

  init(_ name: String, _ remote: LoopbackRemote) {
    firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.remote = remote
    // A write returns when it is in the queue, before the authority has acknowledged it.
    settings.acknowledgement = .local
    settings.dispatchQueue = DispatchQueue(label: name)
    firestore.settings = settings
    list = firestore.collection("shopping")
    following = list.addSnapshotListener { @Sendable _, _ in }
  }

  func end() async throws {
    following.remove()
    try await firestore.terminate()
  }

  func put(_ item: String, count: Int) async throws {
    try await list.document(item).setData(["count": count])
  }

  func add(_ count: Int, to item: String) async throws {
    try await list.document(item).updateData(["count": FieldValue.increment(Int64(count))])
  }

  func list() async throws -> [String] {
    try await list.order(by: FieldPath.documentID()).getDocuments(source: .cache).documents
      .map { "\($0.documentID): \($0["count"] ?? "")" }
  }

  /// Returns when the authority has confirmed the count. An app would use a listener to show it.
  func wait(for item: String, count: Int) async throws {
    for try await snapshot in list.document(item).snapshots(includeMetadataChanges: true)
    where !snapshot.metadata.hasPendingWrites && snapshot["count"] as? Int == count {
      return
    }
  }
}
