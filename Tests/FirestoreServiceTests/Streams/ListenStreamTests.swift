// A watch stream, whose requests and blocks are exchanged one at a time.

import Authority
import ByteStore
import DocumentStore
import FirestoreService
import FirestoreWire
import OfflineSync
import Testing

@Suite struct ListenStreamTests {
  /// The caller's end of a stream.
  private final class Client {
    let service: TestService
    let queue: ManualQueue
    let events: ServiceEvents
    private(set) var call: ServiceCall?
    private(set) var token: [UInt8] = []
    private var seen = 0

    convenience init(_ service: TestService) {
      let queue = ManualQueue()
      self.init(service, queue, queue.service, ServiceEvents())
    }

    init(_ service: TestService, _ queue: ManualQueue, _ calls: ServiceQueue, _ events: ServiceEvents) {
      self.service = service
      self.queue = queue
      self.events = events
      call = service.begin("Listen", on: calls, events)
    }

    func send(_ change: Wire.ListenRequest.TargetChange?, database: String = TestService.database) throws {
      var request = Wire.ListenRequest()
      request.database = database
      request.targetChange = change
      call?.send(try service.format.encode(request))
    }

    func watch(
      _ id: Int32, _ collection: String = "rooms", from token: [UInt8] = [], once: Bool = false
    ) throws {
      var target = Wire.Target()
      target.targetId = id
      var query = Wire.Target.QueryTarget()
      query.parent = TestService.documents
      query.structuredQuery = Wire.StructuredQuery()
      query.structuredQuery?.from = [Wire.StructuredQuery.CollectionSelector()]
      query.structuredQuery?.from[0].collectionId = collection
      target.targetType = .query(query)
      target.once = once
      if !token.isEmpty { target.resumeType = .resumeToken(token) }
      try send(.addTarget(target))
    }

    /// Runs the blocks that wait, and returns the messages since the last call as text.
    func messages() throws -> [String] {
      queue.run()
      let all = events.all
      defer { seen = all.count }
      return try all[seen...].map { event in
        guard case .message(let bytes) = event else {
          guard case .ended(let error?) = event else { return "end" }
          return "end \(error.code)"
        }
        return text(try service.format.decode(Wire.ListenResponse.self, bytes))
      }
    }

    func close() { call = nil }

    private func text(_ response: Wire.ListenResponse) -> String {
      switch response.responseType {
      case .targetChange(let change):
        if !change.resumeToken.isEmpty { token = change.resumeToken }
        let cause = change.cause.map { " \($0.code)" } ?? ""
        return
          "\(change.targetChangeType) \(change.targetIds)\(change.readTime == nil ? "" : " time")\(cause)"
      case .documentChange(let change):
        let name = change.document?.name.split(separator: "/").last ?? ""
        var number = ""
        if case .integer(let n)? = change.document?.fields["n"] { number = "=\(n)" }
        return "\(name)\(number) in \(change.targetIds) out \(change.removedTargetIds)"
      case .documentDelete(let delete):
        return "\(delete.document.split(separator: "/").last ?? "") deleted \(delete.removedTargetIds)"
      case .documentRemove(let remove):
        return "\(remove.document.split(separator: "/").last ?? "") removed \(remove.removedTargetIds)"
      case .filter(let filter): return "filter \(filter.targetId) \(filter.count)"
      case nil: return "nothing"
      }
    }
  }

  @Test(arguments: WireFormat.allCases)
  func aTargetIsSentAndKeptCurrent(_ format: WireFormat) throws {
    let service = try TestService(format)
    try service.set(["rooms/a": 1, "rooms/b": 2])
    let client = Client(service)
    try client.watch(2)
    #expect(
      try client.messages() == [
        "add [2]", "a=1 in [2] out []", "b=2 in [2] out []", "current [2]", "noChange [] time",
      ])
    try service.commit([TestService.set("rooms/a", 3), TestService.delete("rooms/b")])
    let messages = try client.messages()
    #expect(messages.contains("a=3 in [2] out []"))
    #expect(messages.contains("b deleted [2]"))
    #expect(messages.last == "noChange [] time")
  }

  @Test func severalCommitsAreOneSnapshotForASlowReader() throws {
    let service = try TestService()
    let client = Client(service)
    try client.watch(2)
    _ = try client.messages()
    for number in 1...20 { try service.set(["rooms/a": Int64(number)]) }
    #expect(try client.messages() == ["a=20 in [2] out []", "noChange [] time"])
  }

  @Test func targetsAreAddedAndRemoved() throws {
    let service = try TestService()
    let client = Client(service)
    try client.watch(2)
    try client.watch(4, "users")
    _ = try client.messages()
    try client.send(.removeTarget(2), database: "")
    #expect(try client.messages() == ["remove [2]"])
    try service.commit([TestService.set("rooms/a", 1), TestService.set("users/u", 2)])
    #expect(try client.messages() == ["u=2 in [4] out []", "noChange [] time"])
  }

  @Test func theServiceChoosesAnId() throws {
    let client = Client(try TestService())
    try client.watch(0)
    let messages = try client.messages()
    #expect(messages.first == "add [1]" && messages.contains { $0.hasPrefix("current [1]") })
  }

  @Test func aRefusedTargetLeavesTheStreamOpen() throws {
    let service = try TestService()
    let client = Client(service)
    try client.watch(2)
    _ = try client.messages()
    var empty = Wire.Target()
    empty.targetId = 6
    try client.send(.addTarget(empty))
    #expect(try client.messages() == ["remove [6] 3"])
    try service.set(["rooms/a": 1])
    #expect(try client.messages() == ["a=1 in [2] out []", "noChange [] time"])
  }

  /// The requests wait in memory, because the queue does not run.
  @Test func requestsThatWaitAreLimited() throws {
    let client = Client(try TestService())
    for id in 1...2000 { try client.watch(Int32(id)) }
    #expect(client.queue.count == 1)
    #expect(client.events.all.isEmpty)
    #expect(client.call?.waitingBytes ?? 0 > 2000)
    for id in 2001...2010 { try client.watch(Int32(id)) }
    #expect(client.events.all.count == 1)
    #expect(client.call?.waitingBytes == 0)
    #expect(try client.messages() == ["end resourceExhausted"])
  }

  @Test func aStreamEndsAfterTheAnswersToItsRequests() throws {
    let service = try TestService()
    try service.set(["rooms/a": 1])
    let client = Client(service)
    try client.watch(2)
    try client.watch(4, "users")
    client.call?.finish()
    let messages = try client.messages()
    #expect(messages.contains("a=1 in [2] out []"))
    #expect(messages.contains("add [4]"))
    #expect(messages.last == "end")
  }

  /// The client cannot tell the two targets apart, so it drops both.
  @Test func aRefusedTargetEndsTheOneWithItsID() throws {
    let service = try TestService()
    let client = Client(service)
    try client.watch(2)
    var empty = Wire.Target()
    empty.targetId = 2
    try client.send(.addTarget(empty))
    #expect(try client.messages() == ["add [2]", "remove [2] 3"])
    try service.set(["rooms/a": 1])
    #expect(try client.messages() == [])
  }

  @Test func aTokenResumesATarget() throws {
    let service = try TestService()
    try service.set(["rooms/a": 1, "rooms/b": 2])
    let first = Client(service)
    try first.watch(2)
    _ = try first.messages()
    first.close()
    try service.set(["rooms/b": 3])
    let second = Client(service)
    try second.watch(2, from: first.token)
    let messages = try second.messages()
    #expect(messages.contains("b=3 in [2] out []"))
    #expect(!messages.contains { $0.hasPrefix("a=") }, "it has not changed")
  }

  @Test func aTargetCanEndWhenItIsCurrent() throws {
    let service = try TestService()
    try service.set(["rooms/a": 1])
    let client = Client(service)
    try client.watch(2, once: true)
    let messages = try client.messages()
    #expect(messages.contains("a=1 in [2] out []"))
    #expect(messages.last == "remove [2]")
    try service.set(["rooms/a": 2])
    #expect(try client.messages().isEmpty)
  }

  @Test func severalDocumentsAreOneTarget() throws {
    let service = try TestService()
    try service.set(["rooms/a": 1])
    let client = Client(service)
    var target = Wire.Target()
    target.targetId = 2
    var documents = Wire.Target.DocumentsTarget()
    documents.documents = ["rooms/a", "rooms/b"].map(TestService.name)
    target.targetType = .documents(documents)
    try client.send(.addTarget(target))
    let messages = try client.messages()
    #expect(messages.contains("a=1 in [2] out []") && messages.contains("b deleted [2]"))
    try service.set(["rooms/b": 2, "rooms/c": 3])
    #expect(try client.messages() == ["b=2 in [2] out []", "noChange [] time"])
  }

  @Test func theEndOfRequestsEndsTheStream() throws {
    let client = Client(try TestService())
    try client.watch(2)
    client.call?.finish()
    let messages = try client.messages()
    #expect(messages.contains { $0.hasPrefix("current [2]") })
    #expect(messages.last == "end")
  }

  @Test func invalidRequestsEndTheStream() throws {
    for request in [[0xFF], [UInt8](repeating: 0x0A, count: 40)] {
      let client = Client(try TestService())
      client.call?.send(request)
      #expect(try client.messages() == ["end invalidArgument"])
    }
    let none = Client(try TestService())
    try none.send(nil)
    #expect(try none.messages() == ["end invalidArgument"])
    let other = Client(try TestService())
    try other.watch(2)
    _ = try other.messages()
    try other.send(.removeTarget(2), database: "projects/p/databases/other")
    #expect(try other.messages() == ["end invalidArgument"])
    let unknown = Client(try TestService())
    try unknown.send(.removeTarget(2), database: "projects/q/databases/(default)")
    #expect(try unknown.messages() == ["end notFound"])
  }

  @Test func aCancelledStreamIsSilent() throws {
    let service = try TestService()
    let client = Client(service)
    try client.watch(2)
    _ = try client.messages()
    try service.set(["rooms/a": 1])
    client.call?.cancel()
    #expect(try client.messages().isEmpty)
    try client.watch(4)
    client.call?.finish()
    #expect(try client.messages().isEmpty)
  }

  /// An event loop must not wait for a delivery of the session.
  @Test func aCancelledStreamClosesItsSessionAside() throws {
    let service = try TestService()
    let aside = ManualQueue()
    let (queue, events) = (ManualQueue(), ServiceEvents())
    var calls = queue.service
    calls.runAside = { aside.service.add($0) }
    let client = Client(service, queue, calls, events)
    try client.watch(2)
    #expect(try client.messages().isEmpty == false && aside.isEmpty)
    client.call?.cancel()
    #expect(aside.count == 1)
    aside.run()
    try service.set(["rooms/a": 1])
    #expect(try client.messages().isEmpty && queue.isEmpty)
  }

  @Test func aStreamThatIsCancelledWhileItOpensHasNoSession() throws {
    let store = try DocumentStore.openInMemory()
    let authority = try Authority.of(store)
    let cancelled = Locked<ServiceCall?>(nil)
    let service = FirestoreService { _ throws(RemoteError) in
      cancelled.withLock { $0 }?.cancel()
      return authority
    }
    let (queue, events) = (ManualQueue(), ServiceEvents())
    let call = service.handle(
      "Listen", metadata: CallMetadata(), format: .protobuf, on: queue.service
    ) { events.add($0) }
    cancelled.withLock { $0 = call }
    var request = Wire.ListenRequest()
    request.database = TestService.database
    var target = Wire.Target()
    target.targetId = 2
    var documents = Wire.Target.DocumentsTarget()
    documents.documents = [TestService.name("rooms/a")]
    target.targetType = .documents(documents)
    request.targetChange = .addTarget(target)
    call.send(try WireFormat.protobuf.encode(request))
    queue.run()
    try store.commit([.set(DocumentPath(["rooms", "a"]), StoredMap())])
    #expect(queue.isEmpty, "a session would send the commit")
    #expect(events.all.isEmpty)
  }
}
