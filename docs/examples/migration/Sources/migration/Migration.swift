// The documents of a Firestore project, in a store of ours: first imported as they were, then brought to a new form.
//
//   dugout import DIRECTORY firestore_export      an export that Firestore's emulator has made, or yours
//   migration DIRECTORY
//
// Customers get the sum of their orders, and one name in place of two. It can be run as often as one likes, and be
// ended at any time: each customer is brought to the new form in one commit, and those that have it are left alone.

import FirebaseFirestore

/// As it was.
struct OldCustomer: Codable {
  var first: String
  var last: String
}

/// As it is to be.
struct Customer: Codable {
  var name: String
  var total: Double
  var version = 2
}

struct Order: Codable {
  var total: Double
  var customer: DocumentReference
}

@main
struct Migration {
  static func main() async {
    guard CommandLine.arguments.count == 2 else { fail("usage: migration DIRECTORY", 2) }
    let folder = URL(fileURLWithPath: CommandLine.arguments[1])
    // Without this file there is no store, and an open would make one.
    guard FileManager.default.fileExists(atPath: folder.appendingPathComponent("MANIFEST").path) else {
      fail("There is no store in \(folder.path).", 1)
    }
    do {
      try await run(folder)
    } catch {
      fail(error.localizedDescription, 1)
    }
  }

  private static func fail(_ text: String, _ code: Int32) -> Never {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
    exit(code)
  }

  private static func run(_ folder: URL) async throws {
    let firestore = try Firestore.open(at: folder)
    let customers = firestore.collection("customers")
    let totals = try await totals(of: firestore.collection("orders"))
    var moved = 0
    for document in try await customers.getDocuments().documents where document["version"] == nil {
      let old = try document.data(as: OldCustomer.self)
      let new = Customer(name: "\(old.first) \(old.last)", total: totals[document.reference.path] ?? 0)
      try await document.reference.setData(Firestore.Encoder().encode(new))
      moved += 1
    }
    print("\(moved) customers brought to the new form.")
    try await firestore.createIndex(FirestoreIndex("customers", [.descending("total")]))
    let best = try await customers.typed(Customer.self).order(by: \.total, descending: true).limit(to: 3)
      .get()
    for customer in best { print("\(customer.name): \(customer.total)") }
    try await firestore.terminate()
  }

  /// By the customer's path: references of an export say which project they came from, and paths are the same.
  private static func totals(of orders: CollectionReference) async throws -> [String: Double] {
    try await orders.getDocuments().documents.reduce(into: [:]) { totals, document in
      let order = try document.data(as: Order.self)
      totals[order.customer.path, default: 0] += order.total
    }
  }
}
