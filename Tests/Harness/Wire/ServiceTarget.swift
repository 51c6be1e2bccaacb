// Fuzzes the calls of Firestore's protocol, from bytes to bytes.
//
//   input   := method:u8 form:u8 request*
//   request := size:u16 byte{size}                          little-endian; the last one may be shorter
//
// A call must end with one status, or the input runs for ever. Its answers must be messages of the method.
// Each input begins with the same documents in a store of its own.

import Authority
import ByteStore
import DocumentStore
import FirestoreService
import FirestoreWire
import OfflineSync

struct ServiceTarget: FuzzTarget {
  static let name = "service"
  let seeds: [[UInt8]]

  init(seed: UInt64) { seeds = ServiceSeeds().inputs }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    guard input.count >= 2 else { return "too short" }
    let method = ServiceMethods.all[Int(input[0]) % ServiceMethods.all.count]
    let format: WireFormat = input[1] & 1 == 0 ? .protobuf : .json
    let events = try Self.call(method.name, format, Self.requests(Array(input.dropFirst(2))))
    guard case .ended(let error)? = events.last else { throw FuzzFinding("\(method.name) has no status") }
    for (number, event) in events.enumerated() {
      switch event {
      case .message(let bytes): try method.check(bytes, format)
      case .ended:
        guard number == events.count - 1 else { throw FuzzFinding("\(method.name) goes on after its status") }
      }
    }
    let answers = events.count > 1 ? "with answers" : "without answers"
    guard let error else { return "\(method.name): ok, \(answers)" }
    guard error.message.utf8.count <= 3000 else {
      throw FuzzFinding("\(method.name): a status has a message of \(error.message.utf8.count) bytes")
    }
    guard error.code != .internal, error.code != .unknown else {
      throw FuzzFinding("\(method.name): \(error)")
    }
    let text = String(error.message.prefix { !"'\"/".contains($0) }).withoutNumbers.prefix(40)
    return "\(method.name): \(error.code) \(text), \(answers)"
  }

  func variant(of input: [UInt8], other: [UInt8], _ random: inout SeededRandom) -> [UInt8]? {
    guard input.count > 4, !random.oneIn(4) else { return nil }
    var requests = Self.requests(Array(input.dropFirst(2)))
    let others = Self.requests(Array(other.dropFirst(2)))
    guard !requests.isEmpty else { return nil }
    let place = random.below(requests.count)
    let another = others.randomElement(using: &random) ?? []
    switch random.below(8) {
    case 0: requests.append(another)
    case 1: requests.append(requests[place])
    default:
      requests[place] =
        input[1] & 1 == 0
        ? WireMutator.mutated(requests[place], other: another, &random)
        : JSONMutator.mutated(requests[place], other: another, &random)
    }
    return Array(input.prefix(2)) + requests.flatMap(Self.written)
  }

  // MARK: Calls

  /// Makes a call, and returns its events.
  private static func call(
    _ method: String, _ format: WireFormat, _ requests: [[UInt8]]
  ) throws(FuzzFinding) -> [ServiceEvent] {
    do {
      let store = try DocumentStore.openInMemory(options: options)
      defer { try? store.close() }
      try store.commit(ServiceSeeds.documents)
      let service = try FirestoreService(databases: [ServiceSeeds.database: Authority.of(store)])
      let blocks = Locked<[@Sendable () -> Void]>([])
      let events = Locked<[ServiceEvent]>([])
      let queue = ServiceQueue { block in
        blocks.withLock { $0.append(block) }
        blocks.wakeAll()
      }
      func runBlocks() {
        while let block = blocks.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { block() }
      }
      let call = service.handle(method, metadata: CallMetadata(), format: format, on: queue) { event in
        events.withLock { $0.append(event) }
      }
      for request in requests {
        call.send(request)
        runBlocks()
      }
      call.finish()
      runBlocks()
      // Commits of a write stream run on other threads, which add blocks when they are done.
      while !events.withLock({ $0.contains(where: isEnd) }) {
        blocks.withLock(when: { !$0.isEmpty }) { _ in }
        runBlocks()
      }
      return events.withLock { $0 }
    } catch {
      throw FuzzFinding("\(method): \(error)")
    }
  }

  private static func isEnd(_ event: ServiceEvent) -> Bool { if case .ended = event { true } else { false } }

  private static var options: DocumentStore.Options {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    return options
  }

  // MARK: Requests

  private static func requests(_ bytes: [UInt8]) -> [[UInt8]] {
    var requests: [[UInt8]] = []
    var rest = bytes[...]
    while rest.count >= 2, requests.count < 8 {
      let size = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
      rest = rest.dropFirst(2)
      requests.append(Array(rest.prefix(size)))
      rest = rest.dropFirst(size)
    }
    return requests
  }

  static func written(_ request: [UInt8]) -> [UInt8] {
    [UInt8(truncatingIfNeeded: request.count), UInt8(truncatingIfNeeded: request.count >> 8)]
      + request.prefix(0xFFFF)
  }
}

/// The methods, and the messages with which they answer.
enum ServiceMethods {
  struct Method {
    var name: String
    var answer: any WireMessage.Type

    func check(_ bytes: [UInt8], _ format: WireFormat) throws(FuzzFinding) {
      do throws(RemoteError) { try decode(answer, bytes, format) } catch {
        throw FuzzFinding("an answer of \(name) cannot be decoded: \(error)")
      }
    }

    private func decode<Message: WireMessage>(
      _ type: Message.Type, _ bytes: [UInt8], _ format: WireFormat
    ) throws(RemoteError) {
      _ = try format.decode(Message.self, bytes) as Message
    }
  }

  static let all = [
    Method(name: "GetDocument", answer: Wire.Document.self),
    Method(name: "ListDocuments", answer: Wire.ListDocumentsResponse.self),
    Method(name: "CreateDocument", answer: Wire.Document.self),
    Method(name: "UpdateDocument", answer: Wire.Document.self),
    Method(name: "DeleteDocument", answer: Wire.Timestamp.self),
    Method(name: "BatchGetDocuments", answer: Wire.BatchGetDocumentsResponse.self),
    Method(name: "BeginTransaction", answer: Wire.BeginTransactionResponse.self),
    Method(name: "Commit", answer: Wire.CommitResponse.self),
    Method(name: "Rollback", answer: Wire.Timestamp.self),
    Method(name: "RunQuery", answer: Wire.RunQueryResponse.self),
    Method(name: "RunAggregationQuery", answer: Wire.RunAggregationQueryResponse.self),
    Method(name: "Write", answer: Wire.WriteResponse.self),
    Method(name: "Listen", answer: Wire.ListenResponse.self),
    Method(name: "ListCollectionIds", answer: Wire.ListCollectionIdsResponse.self),
    Method(name: "BatchWrite", answer: Wire.BatchWriteResponse.self),
    Method(name: "PartitionQuery", answer: Wire.PartitionQueryResponse.self),
    Method(name: "ExecutePipeline", answer: Wire.Status.self),
  ]
}

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
