// The methods of google.firestore.v1.Firestore.

/// A method, under its name in the protocol.
enum ServiceMethod: String, CaseIterable, Sendable {
  case getDocument = "GetDocument"
  case listDocuments = "ListDocuments"
  case createDocument = "CreateDocument"
  case updateDocument = "UpdateDocument"
  case deleteDocument = "DeleteDocument"
  case batchGetDocuments = "BatchGetDocuments"
  case beginTransaction = "BeginTransaction"
  case commit = "Commit"
  case rollback = "Rollback"
  case runQuery = "RunQuery"
  case runAggregationQuery = "RunAggregationQuery"
  case write = "Write"
  case listen = "Listen"
  case listCollectionIds = "ListCollectionIds"
  case batchWrite = "BatchWrite"

  private static let prefixes = ["/google.firestore.v1.Firestore/", "google.firestore.v1.Firestore/"]

  /// Finds a method by its full name, `/google.firestore.v1.Firestore/Commit`, or by its last part.
  init?(named name: String) {
    let prefix = Self.prefixes.first { name.utf8.starts(with: $0.utf8) } ?? ""
    self.init(rawValue: String(name.dropFirst(prefix.count)))
  }
}
