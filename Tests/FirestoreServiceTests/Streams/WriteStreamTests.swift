// A write stream, whose requests and blocks are exchanged one at a time.

import ByteStore
import DocumentStore
import FirestoreService
import FirestoreWire
import OfflineSync
import Testing

@testable import Authority

@Suite struct WriteStreamTests {
  private final class Client {
    let service: TestService
    let queue = ManualQueue()
    let events = ServiceEvents()
    let call: ServiceCall
    private var taken = 0

    init(_ service: TestService) {
      self.service = service
      call = service.begin("Write", on: queue.service, events)
    }

    func send(
      _ writes: [Wire.Write] = [], database: String = "", token: [UInt8] = [], labels: Wire.Labels = [:]
    ) throws {
      var request = Wire.WriteRequest()
      request.database = database
      request.writes = writes
      request.streamToken = token
      request.labels = labels
      call.send(try service.format.encode(request))
    }

    func open(_ labels: Wire.Labels = [:]) throws -> Wire.IdentifiedWriteResponse {
      try send(database: TestService.database, labels: labels)
      return try next()
    }

    /// Waits for the next event, whose message it returns.
    func next<Response: WireMessage>(as type: Response.Type = Response.self) throws -> Response {
      let count = taken + 1
      queue.run()
      while events.all.count < count { queue.waitAndRun() }
      taken = count
      return try events.all[count - 1].message(in: service.format)
    }

    /// Waits for the end, and returns its error.
    func end() -> RemoteError? {
      queue.run()
      while events.all.last?.isEnd != true { queue.waitAndRun() }
      guard case .ended(let error)? = events.all.last else { return nil }
      return error
    }
  }

  @Test(arguments: WireFormat.allCases)
  func writesAreAnsweredInOrder(_ format: WireFormat) throws {
    let service = try TestService(format)
    let client = Client(service)
    let opened = try client.open()
    #expect(!opened.streamId.isEmpty && !opened.streamToken.isEmpty && opened.commitTime == nil)
    for number in 1...5 {
      try client.send([TestService.set("rooms/a", Int64(number))], token: opened.streamToken)
    }
    var times: [Wire.Timestamp] = []
    var tokens = [opened.streamToken]
    for _ in 1...5 {
      let response = try client.next(as: Wire.WriteResponse.self)
      #expect(response.writeResults.map(\.updateTime) == [response.commitTime])
      times.append(try #require(response.commitTime))
      tokens.append(response.streamToken)
    }
    #expect(times.map { $0.stored?.microseconds ?? 0 }.sorted() == times.map { $0.stored?.microseconds ?? 0 })
    #expect(Set(tokens).count == 6)
    #expect(try service.store.document(at: DocumentPath(["rooms", "a"]))?.fields["n"] == .integer(5))
    try client.send()
    #expect(client.end() == nil)
  }

  @Test func aStoredTokenIsRefused() throws {
    let client = Client(try TestService())
    try client.send(database: TestService.database, token: [1])
    #expect(
      client.end()
        == RemoteError(
          .invalidArgument,
          "Resuming streams is not supported, 'stream_token' must not be set on an initial write request."))
  }

  @Test func theFirstRequestHasNoWrites() throws {
    let service = try TestService()
    let client = Client(service)
    try client.send([TestService.set("rooms/a", 1)], database: TestService.database)
    #expect(client.end()?.code == .invalidArgument)
    #expect(try service.store.document(at: DocumentPath(["rooms", "a"])) == nil)
  }

  @Test func aFailedWriteEndsTheStreamAndLaterOnesAreNotApplied() throws {
    let service = try TestService()
    let client = Client(service)
    let token = try client.open().streamToken
    try client.send([TestService.set("rooms/a", 1)], token: token)
    try client.send([TestService.set("rooms/b", 1).requiring(exists: true)], token: token)
    try client.send([TestService.set("rooms/c", 1)], token: token)
    _ = try client.next(as: Wire.WriteResponse.self)
    #expect(client.end()?.code == .notFound)
    client.queue.run()
    #expect(try service.store.document(at: DocumentPath(["rooms", "a"])) != nil)
    #expect(try service.store.document(at: DocumentPath(["rooms", "c"])) == nil)
    #expect(client.events.all.count == 3)
  }

  @Test func theEndOfRequestsEndsTheStreamAfterTheAnswers() throws {
    let service = try TestService()
    let client = Client(service)
    let token = try client.open().streamToken
    for number in 1...3 { try client.send([TestService.set("rooms/a", Int64(number))], token: token) }
    client.call.finish()
    #expect(client.end() == nil)
    #expect(client.events.all.count == 5, "a handshake, three answers and the end")
  }

  @Test func aCancelledStreamIsSilent() throws {
    let service = try TestService()
    let client = Client(service)
    let token = try client.open().streamToken
    client.call.cancel()
    try client.send([TestService.set("rooms/a", 1)], token: token)
    client.queue.run()
    #expect(client.events.all.count == 1)
    #expect(try service.store.document(at: DocumentPath(["rooms", "a"])) == nil)
  }

  @Test func waitingRequestsAreLimited() throws {
    let refusals = Locked<[ServiceRefusal]>([])
    let service = try TestService {
      $0.waitingWritesMax = 2
      $0.onRefusal = { refusal in refusals.withLock { $0.append(refusal) } }
    }
    let client = Client(service)
    try client.send(database: TestService.database)
    for number in 1...2 { try client.send([TestService.set("rooms/a", Int64(number))]) }
    #expect(client.end()?.code == .resourceExhausted)
    #expect(refusals.withLock { $0 } == [.waitingWrites])
  }

  /// The queue never runs, as if the client did not read.
  @Test func aStreamWhoseQueueWaitsEndsAtItsLimit() throws {
    let service = try TestService { $0.waitingWritesMax = 2 }
    let client = Client(service)
    try client.send(database: TestService.database)
    try client.send([TestService.set("rooms/a", 1)])
    #expect(client.queue.count == 1)
    #expect(client.call.waitingBytes > 0)
    for _ in 1...5 { try client.send([TestService.set("rooms/a", 2)]) }
    #expect(client.queue.count == 1)
    #expect(client.call.waitingBytes == 0)
    guard case .ended(let error)? = client.events.all.last, client.events.all.count == 1 else {
      Issue.record("\(client.events.all.count) events")
      return
    }
    #expect(error?.code == .resourceExhausted)
    client.queue.run()
    #expect(client.events.all.count == 1)
  }

  /// The end comes from another thread than the messages.
  @Test func theEndFollowsAMessageThatIsBeingDelivered() throws {
    let service = try TestService { $0.waitingWritesMax = 2 }
    let queue = ManualQueue()
    let events = ServiceEvents()
    let call = Locked<ServiceCall?>(nil)
    let request = try service.format.encode(Wire.WriteRequest())
    let begun = service.service.handle(
      "Write", metadata: CallMetadata(), format: service.format, on: queue.service
    ) { event in
      if !event.isEnd {
        let call = call.withLock { $0 }
        for _ in 1...3 { call?.send(request) }
        #expect(events.all.isEmpty)
      }
      events.add(event)
    }
    call.withLock { $0 = begun }
    var first = Wire.WriteRequest()
    first.database = TestService.database
    begun.send(try service.format.encode(first))
    queue.run()
    #expect(events.all.map(\.isEnd) == [false, true])
    call.withLock { $0 = nil }
  }

  @Test func invalidRequestsEndTheStream() throws {
    let client = Client(try TestService())
    _ = try client.open()
    client.call.send([0xFF])
    #expect(client.end()?.code == .invalidArgument)
    let other = Client(try TestService())
    _ = try other.open()
    try other.send([TestService.set("rooms/a", 1)], database: "projects/p/databases/other")
    #expect(other.end()?.code == .invalidArgument)
  }

  // MARK: Clients of Dugout

  private func labels(
    _ batch: Int64, registration: [UInt8] = [], guards: Int32 = 0
  ) throws -> Wire.Labels {
    var identity = Wire.WriteIdentity()
    identity.queue = "queue"
    identity.run = -7
    identity.batch = batch
    identity.firstOpen = batch
    identity.registration = registration
    identity.guardCount = guards
    return [WriteLabels.write: try WriteLabels.text(identity)]
  }

  /// The handshake that registers the run of `labels`.
  private func register(_ client: Client) throws -> (streamToken: [UInt8], registration: [UInt8]) {
    let runs = Wire.RunRegistrations([
      RunRegistration(queue: "queue", run: RunID(UInt64(bitPattern: -7)), token: [])
    ])
    let opened = try client.open([WriteLabels.runs: try WriteLabels.text(runs)])
    return (opened.streamToken, opened.registrations?.registrations.first?.token ?? [])
  }

  private var increment: Wire.Write {
    var write = TestService.set("rooms/a", [])
    write.updateMask = Wire.DocumentMask()
    var transform = Wire.DocumentTransform.FieldTransform()
    transform.fieldPath = "n"
    transform.transformType = .increment(.integer(1))
    write.updateTransforms = [transform]
    return write
  }

  @Test(arguments: WireFormat.allCases)
  func aBatchWithAnIdentityIsAppliedOnce(_ format: WireFormat) throws {
    let service = try TestService(format)
    try service.set(["rooms/a": 10])
    var answers: [Wire.IdentifiedWriteResponse] = []
    for _ in 0..<2 {
      let client = Client(service)
      let (token, registration) = try register(client)
      try client.send([increment], token: token, labels: labels(1, registration: registration))
      answers.append(try client.next())
    }
    #expect(try service.store.document(at: DocumentPath(["rooms", "a"]))?.fields["n"] == .integer(11))
    #expect(answers[0].commitTime == answers[1].commitTime)
    #expect(answers[0].writeResults == answers[1].writeResults)
    #expect(answers[0].writeResults.first?.transformResults == [.integer(11)])
    #expect(answers[0].writeResults.first?.versionBefore != nil)
  }

  @Test(arguments: WireFormat.allCases)
  func aHandshakeRegistersRuns(_ format: WireFormat) throws {
    let service = try TestService(format)
    let runs = Wire.RunRegistrations([
      RunRegistration(queue: "queue", run: RunID(UInt64(bitPattern: -7)), token: []),
      RunRegistration(queue: "queue", run: RunID(8), token: []),
    ])
    let client = Client(service)
    let opened = try client.open([WriteLabels.runs: try WriteLabels.text(runs)])
    let registrations = try #require(opened.registrations?.registrations)
    #expect(registrations.map(\.run) == runs.registrations.map(\.run))
    #expect(registrations.allSatisfy { !$0.token.isEmpty })
    try client.send(
      [increment], token: opened.streamToken, labels: labels(1, registration: registrations[0].token))
    #expect(try client.next(as: Wire.IdentifiedWriteResponse.self).writeResults.count == 1)
    let other = Client(service)
    try other.send(database: TestService.database, labels: [WriteLabels.runs: "%"])
    #expect(other.end()?.code == .invalidArgument)
  }

  @Test func aGuardThatDoesNotHoldIsOvertaken() throws {
    let service = try TestService()
    try service.set(["rooms/a": 10])
    let client = Client(service)
    let (token, registration) = try register(client)
    var verify = Wire.Write()
    verify.operation = .verify(TestService.name("rooms/a"))
    try client.send(
      [verify.requiring(exists: false), increment], token: token,
      labels: labels(1, registration: registration, guards: 1))
    let answer = try client.next(as: Wire.IdentifiedWriteResponse.self)
    #expect(answer.isOvertaken)
    #expect(client.end()?.code == .failedPrecondition)
    #expect(try service.store.document(at: DocumentPath(["rooms", "a"]))?.fields["n"] == .integer(10))
  }

  /// Regression: each stream held a thread while it waited for the turn of its run. This thread runs the
  /// blocks of all streams.
  @Test func batchesOfOneRunOnManyStreamsHoldNoThread() throws {
    let service = try TestService()
    let clients = (0..<20).map { _ in Client(service) }
    let opened = try clients.map { try register($0) }
    #expect(Set(opened.map(\.registration)).count == 1)
    let run = RunName(user: nil, queue: "queue", run: RunID(UInt64(bitPattern: -7)))
    let (turns, held) = (service.authority.ledger.turns, Locked<RunTurns.Turn?>(nil))
    #expect(turns.begin([run.path]) { turn in held.withLock { $0 = turn } })
    for (number, client) in clients.enumerated() {
      let labels = try labels(Int64(number) + 1, registration: opened[number].registration)
      try client.send([increment], token: opened[number].streamToken, labels: labels)
      client.queue.run()
    }
    let late = Client(service)
    let runs = Wire.RunRegistrations([RunRegistration(queue: run.queue, run: run.run, token: [])])
    try late.send(database: TestService.database, labels: [WriteLabels.runs: try WriteLabels.text(runs)])
    late.queue.run()
    #expect(turns.waitingCount == 21, "the registration waits, too")
    held.withLock { $0 }?.end()
    let numbers = try clients.map {
      try $0.next(as: Wire.IdentifiedWriteResponse.self).writeResults.first?.transformResults
    }
    #expect(numbers == (1...20).map { [.integer($0)] })
    #expect(try late.next(as: Wire.IdentifiedWriteResponse.self).registrations != nil)
  }

  @Test func labelsThatAreNoIdentityAreRefused() throws {
    for text in ["%%", "/w==", "CgVxdWV1ZTAF"] {
      let client = Client(try TestService())
      let token = try client.open().streamToken
      try client.send([increment], token: token, labels: [WriteLabels.write: text])
      #expect(client.end()?.code == .invalidArgument)
    }
  }
}
