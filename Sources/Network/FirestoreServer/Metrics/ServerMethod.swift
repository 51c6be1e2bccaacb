// The methods by which requests are counted and logged. Everything else is one method, so that clients cannot
// create labels.

/// A method of the server.
enum ServerMethod: Int, CaseIterable, Sendable {
  case getDocument, listDocuments, createDocument, updateDocument, deleteDocument, batchGetDocuments,
    beginTransaction, commit, rollback, runQuery, runAggregationQuery, partitionQuery, write, listen,
    listCollectionIds, batchWrite, executePipeline
  /// `grpc.health.v1.Health/Check`.
  case healthCheck
  /// The paths of the emulator.
  case emulator
  /// Questions of browsers whether they may send a request.
  case preflight
  case unknown

  private static let servicePrefix = "/google.firestore.v1.Firestore/"
  private static let healthPath = "/grpc.health.v1.Health/Check"

  private static let byName = [String: ServerMethod](
    uniqueKeysWithValues: allCases.prefix { $0 != .healthCheck }.map { ($0.name, $0) })

  /// The method of a call of gRPC.
  init(path: String) {
    if path.utf8.starts(with: Self.servicePrefix.utf8) {
      self.init(name: String(path.utf8.dropFirst(Self.servicePrefix.utf8.count)) ?? "")
    } else {
      self = path == Self.healthPath ? .healthCheck : .unknown
    }
  }

  /// The method of the service with a name, such as `Commit`.
  init(name: String) { self = Self.byName[name] ?? .unknown }

  /// Whether clients send any number of requests in one call.
  var isStreamOfRequests: Bool { self == .listen || self == .write }

  /// The name in metrics and logs.
  var name: String {
    switch self {
    case .getDocument: "GetDocument"
    case .listDocuments: "ListDocuments"
    case .createDocument: "CreateDocument"
    case .updateDocument: "UpdateDocument"
    case .deleteDocument: "DeleteDocument"
    case .batchGetDocuments: "BatchGetDocuments"
    case .beginTransaction: "BeginTransaction"
    case .commit: "Commit"
    case .rollback: "Rollback"
    case .runQuery: "RunQuery"
    case .runAggregationQuery: "RunAggregationQuery"
    case .partitionQuery: "PartitionQuery"
    case .write: "Write"
    case .listen: "Listen"
    case .listCollectionIds: "ListCollectionIds"
    case .batchWrite: "BatchWrite"
    case .executePipeline: "ExecutePipeline"
    case .healthCheck: "Health"
    case .emulator: "emulator"
    case .preflight: "preflight"
    case .unknown: "unknown"
    }
  }
}
