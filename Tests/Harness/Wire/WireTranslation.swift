// Translates decoded messages into engine values and back. No message may trap, and a value that was written
// must be read as the same value.

import DocumentStore
import FirestoreWire
import OfflineSync

enum WireTranslation {
  private static let database = DatabaseName(projectID: "p", databaseID: "(default)")

  /// Returns a description of the outcome; empty if the message has no translation.
  static func check(_ message: any WireMessage) throws(FuzzFinding) -> String {
    do throws(RemoteError) {
      switch message {
      case let query as Wire.StructuredQuery:
        try again(try database.query(query, parent: database.documentsName))
      case let request as Wire.RunQueryRequest:
        guard let query = request.structuredQuery else { return "" }
        try again(try database.query(query, parent: request.parent))
      case let query as Wire.StructuredAggregationQuery:
        _ = try database.aggregation(query, parent: database.documentsName)
      case let write as Wire.Write: try again(try database.mutation(write))
      case let target as Wire.Target: _ = try database.wire(try database.target(target))
      case let response as Wire.ListenResponse:
        if let (change, version) = try database.change(response) { _ = database.wire(change, version) }
      case let document as Wire.Document: _ = database.wire(try database.document(document))
      default: return ""
      }
      return ", translated"
    } catch {
      if let finding = findings(error) { throw finding }
      return ", not translated: \(error.code)"
    }
  }

  private static func findings(_ error: RemoteError) -> FuzzFinding? {
    error.code == .dataLoss ? FuzzFinding(error.message) : nil
  }

  /// A query that was read has the same meaning after it was written. The engine's form of a query can have
  /// parts that the protocol lacks.
  private static func again(_ request: QueryRequest) throws(RemoteError) {
    let (parent, query) = try database.wire(request)
    let again = try readAgain("a query") { () throws(RemoteError) in try database.query(query, parent: parent)
    }
    let (isSame, first, second) = (
      again.query.executableForm.canonicalID == request.query.executableForm.canonicalID,
      request.query.canonicalID, again.query.canonicalID
    )
    guard isSame else { throw RemoteError(.dataLoss, "the query \(first) is read again as \(second)") }
  }

  private static func again(_ mutation: Mutation) throws(RemoteError) {
    let write = try database.wire(mutation)
    let again = try readAgain("a write") { () throws(RemoteError) in try database.mutation(write) }
    guard try database.wire(again) == write else {
      throw RemoteError(.dataLoss, "a write changes when it is read again")
    }
  }

  /// A message that this side has written is valid.
  private static func readAgain<Value>(
    _ what: String, _ read: () throws(RemoteError) -> Value
  ) throws(RemoteError) -> Value {
    do throws(RemoteError) { return try read() } catch {
      throw RemoteError(.dataLoss, "\(what) that was written cannot be read: \(error)")
    }
  }
}
