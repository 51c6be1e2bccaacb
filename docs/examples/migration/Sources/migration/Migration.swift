// Migrates the documents of a Firestore project in a local store: first imports them unchanged, then
// converts them.
//
//   dugout import DIRECTORY firestore_export      an export written by the Firestore emulator, or your own
//   migration DIRECTORY
//
// Customers get the sum of their orders, and one name field instead of two. The program can be repeated and
// interrupted at any time: the database records which pages of documents have been converted, in the commits
// that convert them.

import FirebaseFirestore

/// The old form.
struct OldCustomer: Codable {
  var first: String
  var last: String
  /// Written by the first migration, for customers with orders.
  var total: Double?
}

/// The new form.
struct Customer: Codable {
  var name: String
  var total: Double
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
    var moved = 0
    try await migrator(of: firestore).migrate(firestore) { progress in
      if progress.migration == Self.newForm { moved = progress.documentCount }
    }
    print("\(moved) customers brought to the new form.")
    try await firestore.createIndex(FirestoreIndex("customers", [.descending("total")]))
    let customers = firestore.collection("customers")
    let best = try await customers.typed(Customer.self).order(by: \.total, descending: true).limit(to: 3)
      .get()
    for customer in best { print("\(customer.name): \(customer.total)") }
    print("All customers: \(try await sum(of: customers))")
    try await firestore.terminate()
  }

  private static let newForm = "one name"

  /// The migrations, in the order in which they run. New versions of a program append theirs.
  private static func migrator(of firestore: Firestore) -> Migrator {
    var migrator = Migrator()
    // Each order is added once, because the position after a page is committed together with the page.
    migrator.registerPagedMigration("totals", over: firestore.collection("orders")) { batch, orders in
      for document in orders {
        let order = try document.data(as: Order.self)
        // References in an export name the project that was exported, but the paths in them are unchanged.
        let customer = firestore.document(order.customer.path)
        // The customer of an old order may have been deleted.
        guard try await customer.getDocument().exists else { continue }
        batch.updateData(["total": FieldValue.increment(order.total)], forDocument: customer)
      }
    }
    migrator.registerPagedMigration(newForm, over: firestore.collection("customers")) { batch, customers in
      for document in customers {
        let old = try document.data(as: OldCustomer.self)
        let new = Customer(name: "\(old.first) \(old.last)", total: old.total ?? 0)
        try batch.setData(from: new, forDocument: document.reference)
      }
    }
    return migrator
  }

  /// The sum of all customers in one state of the database, with one page of customers in memory.
  private static func sum(of customers: CollectionReference) async throws -> Double {
    var sum = 0.0
    for try await document in customers.firestore.documents(in: customers, pageSize: 1000) {
      sum += try document.data(as: Customer.self).total
    }
    return sum
  }
}
