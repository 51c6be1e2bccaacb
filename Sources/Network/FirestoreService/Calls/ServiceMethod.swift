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
  case partitionQuery = "PartitionQuery"

  private static let prefixes = ["/google.firestore.v1.Firestore/", "google.firestore.v1.Firestore/"]

  /// Finds a method by its full name, `/google.firestore.v1.Firestore/Commit`, or by its last part.
  init?(named name: String) {
    let prefix = Self.prefixes.first { name.utf8.starts(with: $0.utf8) } ?? ""
    self.init(rawValue: String(name.dropFirst(prefix.count)))
  }

  /// The maximum size of a request that is decoded within `send`.
  private static let shortBytesMax = 4096
  /// The maximum size of such a request for a commit, whose other work is done elsewhere.
  private static let commitBytesMax = 1 << 16

  /// Whether a call with a request of this size can begin on the thread of an event loop.
  func beginsWithinSend(requestBytes: Int) -> Bool {
    switch self {
    case .getDocument, .batchGetDocuments, .beginTransaction, .rollback, .deleteDocument:
      requestBytes <= Self.shortBytesMax
    case .commit, .createDocument, .updateDocument: requestBytes <= Self.commitBytesMax
    case .listDocuments, .runQuery, .runAggregationQuery, .write, .listen, .listCollectionIds, .batchWrite,
      .partitionQuery:
      false
    }
  }
}
