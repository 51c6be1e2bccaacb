// Calls that correct programs make and that fail, and what their errors say.

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

  static let all = [
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
    Complaint("The query has 31 alternatives after 'or' and 'in', and the limit is 30.") {
      _ = try await $0.collection("a").whereField("n", in: Array(0..<31)).getDocuments()
    },
    Complaint("The query has 11 values in 'notIn', and the limit is 10.") {
      _ = try await $0.collection("a").whereField("n", notIn: Array(0..<11)).getDocuments()
    },
    Complaint("The query has 6 aggregates, and the limit is 5.") {
      let fields = (0..<6).map { AggregateField.sum("f\($0)") }
      _ = try await $0.collection("a").aggregate(fields).getAggregation(source: .server)
    },
  ]
}
