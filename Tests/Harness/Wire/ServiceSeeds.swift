// Valid requests of every method of Firestore's protocol.

import DocumentStore
import FirestoreWire

/// Valid requests of every method.
struct ServiceSeeds {
  static let database = "projects/p/databases/(default)"
  static let documentsName = "\(database)/documents"
  private static let documentName = "\(documentsName)/c/1"
  private static let fields =
    #""fields":{"n":{"integerValue":"7"},"t":{"timestampValue":"2024-01-01T00:00:00.5Z"}}"#
  static let query =
    #"{"from":[{"collectionId":"c"}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"GREATER_THAN","value":{"integerValue":"0"}}},"orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"}],"limit":3}"#
  static let write =
    #"{"update":{"name":"\#(documentName)",\#(fields)},"updateMask":{"fieldPaths":["n","m.x"]},"updateTransforms":[{"fieldPath":"n","increment":{"integerValue":"1"}}],"currentDocument":{"exists":true}}"#

  /// The documents of each store.
  static let documents: [Mutation] = (0..<4).map { number in
    .set(
      DocumentPath(unchecked: ["c", "\(number)"]),
      StoredMap([
        ("n", .integer(Int64(number))), ("tags", .array([.string("a"), .integer(1)])),
        ("m", .map(StoredMap([("x", .double(1.5))]))),
      ]))
  }

  private(set) var inputs: [[UInt8]] = []

  init() {
    let (name, fields, query, write) = (Self.documentName, Self.fields, Self.query, Self.write)
    let parent = #""parent":"\#(Self.documentsName)""#
    let database = #""database":"\#(Self.database)""#
    add(0, Wire.GetDocumentRequest.self, #"{"name":"\#(name)","mask":{"fieldPaths":["n"]}}"#)
    add(
      1, Wire.ListDocumentsRequest.self, #"{\#(parent),"collectionId":"c","pageSize":2,"orderBy":"n desc"}"#)
    add(
      2, Wire.CreateDocumentRequest.self,
      #"{\#(parent),"collectionId":"c","documentId":"new","document":{\#(fields)}}"#)
    add(3, Wire.UpdateDocumentRequest.self, #"{"document":{"name":"\#(name)",\#(fields)}}"#)
    add(4, Wire.DeleteDocumentRequest.self, #"{"name":"\#(name)"}"#)
    add(
      5, Wire.BatchGetDocumentsRequest.self,
      #"{\#(database),"documents":["\#(name)","\#(name)x"],"newTransaction":{"readOnly":{}}}"#)
    add(6, Wire.BeginTransactionRequest.self, #"{\#(database),"options":{"readWrite":{}}}"#)
    add(7, Wire.CommitRequest.self, #"{\#(database),"writes":[\#(write),{"delete":"\#(name)"}]}"#)
    add(8, Wire.RollbackRequest.self, #"{\#(database),"transaction":"AAAA"}"#)
    add(9, Wire.RunQueryRequest.self, #"{\#(parent),"structuredQuery":\#(query)}"#)
    add(
      10, Wire.RunAggregationQueryRequest.self,
      #"{\#(parent),"structuredAggregationQuery":{"structuredQuery":\#(query),"aggregations":[{"alias":"a","count":{"upTo":"2"}},{"alias":"b","sum":{"field":{"fieldPath":"n"}}},{"avg":{"field":{"fieldPath":"m.x"}}}]}}"#
    )
    add(
      11, Wire.WriteRequest.self, #"{\#(database)}"#,
      #"{\#(database),"streamToken":"AA==","writes":[\#(write)]}"#,
      #"{\#(database)}"#)
    add(
      12, Wire.ListenRequest.self,
      #"{\#(database),"addTarget":{"query":{\#(parent),"structuredQuery":\#(query)},"targetId":2}}"#,
      #"{\#(database),"addTarget":{"documents":{"documents":["\#(name)"]},"targetId":4,"resumeToken":"AAAA","expectedCount":1}}"#,
      #"{\#(database),"removeTarget":2}"#)
    add(13, Wire.ListCollectionIdsRequest.self, #"{"parent":"\#(name)","pageSize":5}"#)
    add(14, Wire.BatchWriteRequest.self, #"{\#(database),"writes":[\#(write)],"labels":{"a":"b"}}"#)
    add(
      15, Wire.PartitionQueryRequest.self, #"{\#(parent),"structuredQuery":\#(query),"partitionCount":"3"}"#)
    add(16, Wire.RollbackRequest.self, "{}")
  }

  private mutating func add<Request: WireMessage>(
    _ method: UInt8, _ type: Request.Type, _ requests: String...
  ) {
    let json = requests.map { Array($0.utf8) }
    inputs.append([method, 1] + json.flatMap(ServiceTarget.written))
    let protobuf = json.compactMap { try? Request(json: $0).protobuf() }
    precondition(protobuf.count == requests.count, "a request of \(type) is not valid")
    inputs.append([method, 0] + protobuf.flatMap(ServiceTarget.written))
  }
}
