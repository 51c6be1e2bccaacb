// The bytes with which a large target is resumed, through the messages of the network.

import Authority
import ByteStore
import DocumentStore
import FirestoreService
import FirestoreWire
import Harness
import OfflineSync
import Testing

@Suite struct ListenResumptionTests {
  private static let documentCount = 4_000
  /// A filter with the names of all documents has more than 5,000 bytes.
  private static let bytesMax = 2_000

  private let disk = SimulatedDisk()
  private let store: DocumentStore
  private static let database: DatabaseName = {
    guard let name = try? DatabaseName(TestService.database) else { preconditionFailure("a valid name") }
    return name
  }()

  init() throws {
    store = try Self.open(disk)
    // The change feed begins with the authority.
    _ = try Authority.of(store)
  }

  /// Commits documents with the numbers up to `count`.
  private func load(_ count: Int) throws {
    for start in stride(from: 0, to: count, by: 500) {
      try store.commit((start..<min(start + 500, count)).map { Self.set("d\($0)", Int64($0)) })
    }
  }

  private static func open(_ disk: SimulatedDisk) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let platform = Platform(
      fileSystem: disk, clock: SimulatedClock(), random: SimulatedRandomSource(seed: 1))
    return try DocumentStore.open("/served", options: options, platform: platform)
  }

  private static func path(_ name: String) -> DocumentPath { DocumentPath(unchecked: ["rooms", name]) }

  private static func set(_ name: String, _ number: Int64) -> Mutation {
    .set(path(name), StoredMap([("n", .integer(number))]))
  }

  private static let number = StoredFieldPath(unchecked: ["n"])
  private static let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))

  private static func queries() throws -> [StructuredQuery] {
    [
      rooms,
      try rooms.filtered(by: .field(number, .greaterThanOrEqual, .integer(500))),
      try rooms.ordered(by: OrderBy(number, .descending)),
    ]
  }

  /// A client of one target, which keeps what it was sent.
  private final class Client {
    private let query: StructuredQuery
    private(set) var documents: Set<DocumentPath> = []
    private var token: [UInt8] = []
    /// The last answer: its bytes, and what was special in it.
    private(set) var bytes = 0
    private(set) var names = 0
    private(set) var isReset = false

    init(_ query: StructuredQuery) { self.query = query }

    /// Connects, receives the target, and disconnects.
    func resume(from store: DocumentStore) throws {
      let service = try TestService(.json, over: store)
      let (queue, events) = (ManualQueue(), ServiceEvents())
      let call = service.begin("Listen", on: queue.service, events)
      var target = WatchTarget(TargetID(2), query, resumeToken: token)
      if !token.isEmpty { target.expectedCount = documents.count }
      var request = Wire.ListenRequest()
      request.database = TestService.database
      let (wire, labels) = try ListenResumptionTests.database.wire(TargetRequest(target))
      (request.targetChange, request.labels) = (.addTarget(wire), labels)
      call.send(try service.format.encode(request))
      queue.run()
      (bytes, names, isReset) = (0, 0, false)
      for event in events.all {
        guard case .message(let message) = event else { continue }
        bytes += message.count
        let response = try service.format.decode(Wire.ListenResponse.self, message)
        if let change = try ListenResumptionTests.database.change(response)?.change { take(change) }
      }
    }

    private func take(_ change: WatchChange) {
      switch change {
      case .target(let state, _, let token, let cause):
        #expect(cause == nil)
        if !token.isEmpty { self.token = token }
        guard state == .reset else { return }
        isReset = true
        documents = []
      case .document(let path, _, let updated, _):
        if updated.isEmpty { documents.remove(path) } else { documents.insert(path) }
      case .existenceFilter(_, let count, let filter):
        names = filter == nil ? names : count
        guard count != documents.count, let bloom = filter.flatMap({ BloomFilter($0) }) else {
          #expect(count == documents.count)
          return
        }
        documents = documents.filter { bloom.contains(TestService.name("rooms/\($0.id)")) }
      }
    }
  }

  /// Regression: requests from the network order by name, which was taken for a condition. A client that had
  /// missed a change was sent a filter with the names of all documents.
  @Test func aResumeAfterOneChangeIsSmall() throws {
    try load(Self.documentCount)
    for (index, query) in try Self.queries().enumerated() {
      let client = Client(query)
      try client.resume(from: store)
      #expect(client.bytes > 100 * Self.documentCount)
      let changes: [(String, Mutation)] = [
        ("elsewhere", .set(DocumentPath(unchecked: ["others", "o"]), StoredMap())),
        ("changed", Self.set("d\(1_500 + index)", 1_501)),
        ("added", Self.set("new-\(index)", 1_502)),
        ("removed", .delete(Self.path("d\(2_000 + index)"))),
        ("moved", Self.set("d\(2_500 + index)", 1)),
      ]
      for (name, change) in changes {
        try store.commit([change])
        try client.resume(from: store)
        #expect(client.bytes < Self.bytesMax, "\(name) \(index): \(client.bytes) bytes")
        #expect(client.names == 0 && !client.isReset, "\(name) \(index)")
        #expect(try client.documents == Set(store.documents(query).map(\.path)), "\(name) \(index)")
      }
    }
  }

  @Test func aResumeAfterARestartAndACompactionIsSmall() throws {
    try load(1_000)
    let clients = try Self.queries().map { Client($0) }
    for client in clients { try client.resume(from: store) }
    try store.commit([Self.set("d5", 1), .delete(Self.path("d700"))])
    try store.compact()
    try store.close()
    let store = try Self.open(disk)
    try store.commit([Self.set("new", 600)])
    for (client, query) in zip(clients, try Self.queries()) {
      try client.resume(from: store)
      #expect(client.bytes < Self.bytesMax && client.names == 0 && !client.isReset, "\(client.bytes) bytes")
      #expect(try client.documents == Set(store.documents(query).map(\.path)))
    }
  }

  /// A document that enters such a target need not have changed, so the client is sent its few documents.
  @Test func aTargetWithALimitIsSentAgain() throws {
    try load(50)
    let query = try Self.rooms.ordered(by: OrderBy(Self.number, .ascending)).limited(to: .first(5))
    let client = Client(query)
    try client.resume(from: store)
    try store.commit([.delete(Self.path("d3"))])
    try client.resume(from: store)
    #expect(client.isReset && client.bytes < Self.bytesMax, "\(client.bytes) bytes")
    #expect(try client.documents == Set(store.documents(query).map(\.path)))
  }
}
