// Migrates the documents of a Firestore project in a local store: first imports them unchanged, then
// converts them.
//
//   dugout import DIRECTORY firestore_export      an export written by the Firestore emulator, or your own
//   migration DIRECTORY
//
// Customers get the sum of their orders, and one name field instead of two. The migration can be
// repeated and interrupted at any time: it converts each customer in one commit, and skips converted
// customers.

import FirebaseFirestore

/// The old form.
struct OldCustomer: Codable {
  var first: String
  var last: String
}

/// The new form.
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
    // Without this file, the directory contains no store, and an open would create one.
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

  /// The sum of each customer's orders, keyed by the path of the customer. References in an export name the
  /// project that was exported, but the paths in them are unchanged.
  private static func totals(of orders: CollectionReference) async throws -> [String: Double] {
    try await orders.getDocuments().documents.reduce(into: [:]) { totals, document in
      let order = try document.data(as: Order.self)
      totals[order.customer.path, default: 0] += order.total
    }
  }
}
