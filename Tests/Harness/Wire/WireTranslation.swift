// Translates decoded messages into engine values and back. No message may trap, and a value that was written
// must be read as the same value.

import DocumentStore
import FirestoreWire
import OfflineSync

enum WireTranslation {
  private static let database = DatabaseName(projectID: "p", databaseID: "(default)")

  /// An engine value that a message stands for.
  private enum Value {
    case query(QueryRequest)
    case aggregation(AggregationRequest)
    case mutation(Mutation)
    case target(TargetRequest)
    case change(WatchChange, SnapshotVersion)
    case document(RemoteDocument)
  }

  /// Returns a description of the outcome; empty if the message has no translation.
  static func check(_ message: any WireMessage) throws(FuzzFinding) -> String {
    let value: Value?
    do throws(RemoteError) { value = try read(message) } catch { return ", not translated: \(error.code)" }
    guard let value else { return "" }
    if let difference = difference(value) {
      throw FuzzFinding("the translation of \(type(of: message)): \(difference)")
    }
    return ", translated"
  }

  /// The value of a message; nil if it has none.
  private static func read(_ message: any WireMessage) throws(RemoteError) -> Value? {
    let root = database.documentsName
    switch message {
    case let query as Wire.StructuredQuery: return .query(try database.query(query, parent: root))
    case let request as Wire.RunQueryRequest:
      guard let query = request.structuredQuery else { return nil }
      return .query(try database.query(query, parent: request.parent))
    case let query as Wire.StructuredAggregationQuery:
      return .aggregation(try database.aggregation(query, parent: root))
    case let request as Wire.RunAggregationQueryRequest:
      guard let query = request.structuredAggregationQuery else { return nil }
      return .aggregation(try database.aggregation(query, parent: request.parent))
    case let write as Wire.Write: return .mutation(try database.mutation(write))
    case let target as Wire.Target: return .target(try database.target(target))
    case let request as Wire.ListenRequest:
      guard let target = request.targetChange?.addTarget else { return nil }
      return .target(try database.target(target, labels: request.labels))
    case let response as Wire.ListenResponse:
      return try database.change(response).map { .change($0.change, $0.version) }
    case let document as Wire.Document: return .document(try database.document(document))
    default: return nil
    }
  }

  // MARK: Writing and reading again

  /// Describes what is wrong with a value after it was written and read again; nil if it is the same.
  private static func difference(_ value: Value) -> String? {
    do throws(RemoteError) {
      switch value {
      case .query(let request):
        let (parent, query) = try database.wire(request)
        let again = try database.query(query, parent: parent)
        if let found = difference(request.query, again.query) { return found }
        guard again.mask == request.mask else { return "the mask of a query changes" }
        return try database.wire(again).query == query ? nil : "the message of a query is not stable"
      case .aggregation(let request):
        let (parent, query) = try database.wire(request)
        var again = try database.aggregation(query, parent: parent)
        if let found = difference(request.query, again.query) { return found }
        again.query = request.query
        return again == request ? nil : "aggregates change from \(request) to \(again)"
      case .mutation(let mutation):
        let again = try database.mutation(try database.wire(mutation))
        return again == written(mutation) ? nil : "a write changes from \(mutation) to \(again)"
      case .target(let request):
        let (target, labels) = try database.wire(request)
        var again = try database.target(target, labels: labels)
        if let found = difference(request.target.query, again.target.query) { return found }
        again.target.query = request.target.query
        return again == written(request) ? nil : "a target changes from \(request) to \(again)"
      case .change(let change, let version):
        let again = try database.change(database.wire(change, version))
        return again?.change == change && again?.version == version
          ? nil : "a change becomes \(String(describing: again)) from \(change) at \(version)"
      case .document(let document):
        let again = try database.document(database.wire(document))
        return again == document ? nil : "a document changes from \(document) to \(again)"
      }
    } catch {
      return "what was written is refused: \(error)"
    }
  }

  /// Queries that have the same results are the same. The engine's form of a query has the orders that the
  /// protocol adds.
  private static func difference(_ query: StructuredQuery, _ again: StructuredQuery) -> String? {
    let (first, second) = (query.executableForm.canonicalID, again.executableForm.canonicalID)
    return first == second ? nil : "the query \(first) is read again as \(second)"
  }

  /// A mutation as it is sent, without the fields that its mask does not list.
  private static func written(_ mutation: Mutation) -> Mutation {
    guard case .patch(let fields, let mask, let transforms) = mutation.change else { return mutation }
    return .patch(
      mutation.path, StoredMap().replacing(mask.paths, from: fields), mask: mask, transforms: transforms,
      precondition: mutation.precondition)
  }

  /// A target as it is sent. The number of documents that a client has belongs to a place to resume at.
  private static func written(_ request: TargetRequest) -> TargetRequest {
    var request = request
    if request.target.resumeToken.isEmpty, request.target.readTime == .none {
      request.target.expectedCount = nil
    }
    return request
  }
}
