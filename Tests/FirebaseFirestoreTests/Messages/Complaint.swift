// Calls that a correct program may make and that fail, with their error messages.

import DocumentStore
import FirebaseFirestore
import Foundation

struct Complaint: Sendable {
  var message: String
  var call: @Sendable (Firestore) async throws -> Void

  init(_ message: String, _ call: @escaping @Sendable (Firestore) async throws -> Void) {
    self.message = message
    self.call = call
  }

  static let all = local + unorderedLimits + queries + remote

  private static let local = [
    Complaint("Firestore transactions require all reads to be executed before all writes") {
      try await run($0) { document, transaction in
        transaction.deleteDocument(document)
        _ = try transaction.getDocument(document)
      }
    },
    Complaint("Can't update a document that doesn't exist.") {
      try await run($0) { document, transaction in
        _ = try transaction.getDocument(document)
        transaction.updateData(["n": 1], forDocument: document)
      }
    },
    Complaint("The client has already been terminated.") {
      try await $0.terminate()
      try await run($0) { _, _ in }
    },
    Complaint("The client has already been terminated.") {
      try await $0.terminate()
      _ = try await $0.document("a/b").getDocument()
    },
    Complaint("Invalid Json format.") {
      if let error = await ($0 as any OldConfiguration).configured("{") {
        throw NSError(domain: FirestoreErrorDomain, code: 3, userInfo: [NSLocalizedDescriptionKey: error])
      }
    },
    Complaint("Persistence cannot be cleared while the client is running.") {
      try await $0.document("a/b").setData(["n": 1])
      try await $0.clearPersistence()
    },
    Complaint("Top-level Int is not allowed.") { try $0.document("a/b").setData(from: 1) },
    Complaint("No document to update: a/b") { try await $0.document("a/b").updateData(["n": 1]) },
    Complaint("An update cannot change both 'n' and 'n.m' (found in document a/b)") {
      try await $0.document("a/b").updateData(["n": 1, "n.m": 2])
    },
    Complaint("The path \"a/__b__\" is not valid: names like \"__b__\" are reserved.") {
      try await $0.document("a/__b__").setData(["n": 1])
    },
    Complaint("The path \"a/.\" is not valid: \".\" is not a name.") {
      _ = try await $0.document("a/.").getDocument()
    },
    Complaint("The path \"__a__\" is not valid: names like \"__a__\" are reserved.") {
      _ = try await $0.collection("__a__").getDocuments()
    },
    Complaint("The path \"__objects__\" is not valid: names like \"__objects__\" are reserved.") {
      _ = try await $0.collectionGroup("__objects__").getDocuments()
    },
    Complaint("The path \"__blobs__\" is not valid: names like \"__blobs__\" are reserved.") {
      _ = try await $0.collectionGroup("__blobs__").count.getAggregation(source: .server)
    },
    Complaint("The query has 6 aggregates, and the limit is 5.") {
      let fields = (0..<6).map { AggregateField.sum("f\($0)") }
      _ = try await $0.collection("a").aggregate(fields).getAggregation(source: .server)
    },
  ]

  private static let unorderedLimits = [
    unorderedLimit { _ = try await $0.getDocuments() },
    unorderedLimit { _ = try await $0.count.getAggregation(source: .server) },
    unorderedLimit { _ = try $0.read() },
    unorderedLimit { _ = try await $0.explain() },
    unorderedLimit { for try await _ in $0.firestore.documents(in: $0) {} },
    unorderedLimit { for try await _ in $0.snapshots {} },
  ]

  private static func unorderedLimit(_ read: @escaping @Sendable (Query) async throws -> Void) -> Complaint {
    Complaint("limit(toLast:) queries require specifying at least one OrderBy() clause.") {
      try await read($0.collection("a").limit(toLast: 1))
    }
  }

  private static let queries = queriesBeyondLimits.map { message, query in
    Complaint(message) { _ = try await query($0.collection("a")).getDocuments() }
  }

  static let queriesBeyondLimits: [(message: String, query: @Sendable (Query) -> Query)] = [
    (
      "The query has 31 alternatives after 'or' and 'in', and the limit is 30.",
      { $0.whereField("n", in: Array(0..<31)) }
    ),
    (
      "The query has 11 values in 'notIn', and the limit is 10.",
      { $0.whereField("n", notIn: Array(0..<11)) }
    ),
    (
      "A query cannot use 'notIn' together with 'or'.",
      {
        $0.whereField("n", notIn: [1])
          .whereFilter(.orFilter([.whereField("m", isEqualTo: 1), .whereField("m", isEqualTo: 2)]))
      }
    ),
    (
      "A query can use one 'arrayContains' or 'arrayContainsAny' filter in each of its alternatives.",
      { $0.whereField("n", arrayContains: 1).whereField("m", arrayContains: 2) }
    ),
  ]

  private static func run(
    _ firestore: Firestore,
    _ block: @escaping @Sendable (DocumentReference, Transaction) throws -> Void
  ) async throws {
    _ = try await firestore.runTransaction { transaction, errorPointer in
      do {
        try block(firestore.document("a/b"), transaction)
      } catch {
        errorPointer?.pointee = error as NSError
      }
      return nil
    }
  }
}
