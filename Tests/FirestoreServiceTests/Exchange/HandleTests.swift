// Methods, executors and bytes of any kind.

import Authority
import ByteStore
import DocumentStore
import FirestoreService
import FirestoreWire
import Foundation
import Harness
import OfflineSync
import Testing

@Suite struct HandleTests {
  private static let methods = [
    "GetDocument", "ListDocuments", "CreateDocument", "UpdateDocument", "DeleteDocument", "BatchGetDocuments",
    "BeginTransaction", "Commit", "Rollback", "RunQuery", "RunAggregationQuery", "Write", "Listen",
    "ListCollectionIds", "BatchWrite", "PartitionQuery",
  ]

  private func end(
    _ service: TestService, _ method: String, _ requests: [[UInt8]]
  ) -> RemoteError? {
    let (events, queue) = (ServiceEvents(), ManualQueue())
    let call = service.begin(method, on: queue.service, events)
    for request in requests { call.send(request) }
    call.finish()
    queue.run()
    while events.all.last?.isEnd != true { queue.waitAndRun() }
    #expect(events.all.filter(\.isEnd).count == 1)
    guard case .ended(let error)? = events.all.last else { return nil }
    return error
  }

  @Test func methodsHaveAFullName() throws {
    let service = try TestService()
    for prefix in ["", "/google.firestore.v1.Firestore/", "google.firestore.v1.Firestore/"] {
      #expect(
        end(service, "\(prefix)BeginTransaction", [try request(service)]) == nil)
    }
    for name in ["", "commit", "/Commit", "/google.firestore.v1beta1.Firestore/Commit", "Commit/", "Foo"] {
      #expect(end(service, name, [[]])?.code == .unimplemented, "\(name)")
      #expect(end(service, name, [])?.code == .unimplemented, "\(name)")
    }
  }

  private func request(_ service: TestService) throws -> [UInt8] {
    var request = Wire.BeginTransactionRequest()
    request.database = TestService.database
    return try service.format.encode(request)
  }

  @Test func aCallRunsWithinSendOrOnItsQueue() throws {
    let service = try TestService()
    let events = ServiceEvents()
    service.begin("BeginTransaction", events).send(try request(service))
    #expect(events.all.count == 2)
    let (later, queue) = (ServiceEvents(), ManualQueue())
    let call = service.begin("BeginTransaction", on: queue.service, later)
    call.send(try request(service))
    #expect(later.all.isEmpty)
    queue.run()
    #expect(later.all.count == 2)
  }

  @Test func aCancelledCallDoesNotRun() throws {
    let service = try TestService { $0.transactionsMax = 1 }
    let (events, queue) = (ServiceEvents(), ManualQueue())
    let call = service.begin("BeginTransaction", on: queue.service, events)
    call.send(try request(service))
    call.cancel()
    queue.run()
    #expect(events.all.isEmpty)
    _ = try service.begin()
  }

  @Test func aCallTakesOneRequest() throws {
    let service = try TestService()
    #expect(end(service, "Commit", [])?.code == .invalidArgument)
    let (events, queue) = (ServiceEvents(), ManualQueue())
    let call = service.begin("BeginTransaction", on: queue.service, events)
    call.send(try request(service))
    call.send(try request(service))
    queue.run()
    #expect(events.all.count == 2, "the call had ended before the second request")
  }

  @Test func anUnknownDatabaseIsNotFound() throws {
    let service = try TestService()
    var request = Wire.BeginTransactionRequest()
    request.database = "projects/p/databases/other"
    #expect(
      try service.error("BeginTransaction", request)
        == RemoteError(.notFound, "The database projects/p/databases/other does not exist."))
    request.database = "projects"
    #expect(try service.error("BeginTransaction", request)?.code == .invalidArgument)
  }

  @Test func anErrorFitsIntoTheHeadersOfAnAnswer() throws {
    let service = try TestService(.json)
    let long = "e" + String(repeating: "\u{301}", count: 100_000)
    let parent = #""parent":"\#(TestService.documents)""#
    for (method, request) in [
      (long, "{}"), ("BeginTransaction", #"{"database":"projects/\#(long)/databases/d"}"#),
      ("BeginTransaction", #"{"database":"\#(long)"}"#),
      ("ListDocuments", #"{\#(parent),"collectionId":"c","orderBy":"\#(long)"}"#),
      ("ListDocuments", #"{\#(parent),"collectionId":"c","mask":{"fieldPaths":["-\#(long.prefix(1))"]}}"#),
      ("CreateDocument", #"{\#(parent),"collectionId":"/\#(long)"}"#),
      ("CreateDocument", #"{\#(parent),"collectionId":"c","documentId":"/\#(long)"}"#),
      ("RunQuery", #"{\#(parent),"structuredQuery":{"orderBy":[{"direction":"\#(long)"}]}}"#),
    ] {
      let error = try #require(end(service, method, [Array(request.utf8)]))
      #expect(error.message.utf8.count <= 500, "\(method): \(error.message.utf8.count) bytes")
    }
  }

  @Test func anErrorOfAnyTextIsCut() throws {
    let service = FirestoreService { _ throws(RemoteError) in
      throw RemoteError(.notFound, String(repeating: "é", count: 100_000))
    }
    let events = ServiceEvents()
    let call = service.handle("BeginTransaction", metadata: CallMetadata(), format: .json) { events.add($0) }
    call.send(Array(#"{"database":"\#(TestService.database)"}"#.utf8))
    guard case .ended(let error?)? = events.all.last else { throw RemoteError(.internal, "no error") }
    #expect(error.code == .notFound && error.message.hasSuffix("éé…"))
    #expect((4090...4096).contains(error.message.utf8.count))
  }

  @Test func aDatabaseIsFoundOnceByAllCalls() async throws {
    let authority = try Authority.of(try DocumentStore.openInMemory())
    let callCount = 8
    let (started, found) = (Locked(0), Locked(0))
    let service = FirestoreService { _ throws(RemoteError) in
      found.withLock { $0 += 1 }
      // All calls have begun. Those that do not wait for this one get time to find the database, too.
      started.withLock(when: { $0 == callCount }) { _ in }
      for _ in 0..<1000 { sched_yield() }
      return authority
    }
    let request = Array(#"{"database":"\#(TestService.database)"}"#.utf8)
    let events = (0..<callCount).map { _ in ServiceEvents() }
    let threads = events.map { events in
      Thread {
        let call = service.handle("BeginTransaction", metadata: CallMetadata(), format: .json) {
          events.add($0)
        }
        started.withLock { $0 += 1 }
        started.wakeAll()
        call.send(request)
      }
    }
    for thread in threads { thread.start() }
    for events in events {
      #expect(events.wait(until: { $0.contains(where: \.isEnd) }).last == .ended(nil))
    }
    #expect(found.withLock { $0 } == 1)
  }

  @Test func aDatabaseThatWasNotFoundIsFoundLater() throws {
    let authority = try Authority.of(try DocumentStore.openInMemory())
    let isThere = Locked(false)
    let service = FirestoreService { _ throws(RemoteError) in
      guard isThere.withLock({ $0 }) else { throw RemoteError(.unavailable, "Not yet.") }
      return authority
    }
    let request = Array(#"{"database":"\#(TestService.database)"}"#.utf8)
    for expected in [RemoteError(.unavailable, "Not yet."), nil] {
      let events = ServiceEvents()
      service.handle("BeginTransaction", metadata: CallMetadata(), format: .json) { events.add($0) }
        .send(request)
      #expect(events.all.last == .ended(expected))
      isThere.withLock { $0 = true }
    }
  }

  @Test func allEndsAreDeliveredOnTheQueue() throws {
    let service = try TestService()
    for (method, request) in [("Foo", [] as [UInt8]?), ("Foo", nil), ("Commit", nil), ("Commit", [])] {
      let (events, queue) = (ServiceEvents(), ManualQueue())
      let call = service.begin(method, on: queue.service, events)
      if let request { call.send(request) }
      call.finish()
      #expect(events.all.isEmpty, "\(method)")
      queue.run()
      #expect(events.all.count == 1 && events.all[0].isEnd)
    }
  }

  @Test(arguments: WireFormat.allCases)
  func anyBytesGiveAStatusAndASentence(_ format: WireFormat) throws {
    let service = try TestService(format)
    try service.set(["rooms/a": 1])
    var random = SeededRandom(seed: 45)
    for method in Self.methods {
      var requests: [[UInt8]] = [
        [], [0xFF], Array("{".utf8), Array("{}".utf8), Array("[]".utf8), Array("null".utf8),
      ]
      for _ in 0..<60 { requests.append((0..<random.below(40)).map { _ in UInt8(random.below(256)) }) }
      for request in requests {
        guard let error = end(service, method, [request]) else { continue }
        #expect(!error.message.isEmpty, "\(method) \(request)")
      }
    }
    #expect(try service.store.document(at: DocumentPath(["rooms", "a"]))?.fields["n"] == .integer(1))
  }

  @Test(arguments: WireFormat.allCases)
  func damagedRequestsGiveAStatusAndASentence(_ format: WireFormat) throws {
    let service = try TestService(format)
    var random = SeededRandom(seed: 46)
    let valid = try format.encode(
      TestService.commitRequest([TestService.set("rooms/a", 1), TestService.delete("rooms/b")]))
    for _ in 0..<500 {
      var request = valid
      for _ in 0...random.below(3) { request[random.below(request.count)] = UInt8(random.below(256)) }
      if random.oneIn(4) { request.removeLast(random.below(request.count)) }
      if let error = end(service, "Commit", [request]) { #expect(!error.message.isEmpty) }
    }
  }
}
