// The verbs of the REST API, which are the ends of paths with POST.

enum RESTVerb: String {
  case batchGet, batchWrite, beginTransaction, commit, listCollectionIds, partitionQuery, rollback,
    runAggregationQuery,
    runQuery

  var method: ServiceMethod {
    switch self {
    case .batchGet: .batchGetDocuments
    case .batchWrite: .batchWrite
    case .beginTransaction: .beginTransaction
    case .commit: .commit
    case .listCollectionIds: .listCollectionIds
    case .partitionQuery: .partitionQuery
    case .rollback: .rollback
    case .runAggregationQuery: .runAggregationQuery
    case .runQuery: .runQuery
    }
  }

  /// Whether the path names a database, with `/documents` at its end. Otherwise it names a parent.
  var isOfDatabase: Bool {
    switch self {
    case .batchGet, .batchWrite, .beginTransaction, .commit, .rollback: true
    case .listCollectionIds, .partitionQuery, .runAggregationQuery, .runQuery: false
    }
  }
}

extension ServiceMethod {
  var isStreamOfAnswers: Bool {
    switch self {
    case .batchGetDocuments, .runQuery, .runAggregationQuery, .listen, .write: true
    case .getDocument, .listDocuments, .createDocument, .updateDocument, .deleteDocument, .beginTransaction,
      .commit, .rollback, .listCollectionIds, .batchWrite, .partitionQuery:
      false
    }
  }
}
