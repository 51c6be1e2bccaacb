// Commits with the identity of a batch in their metadata.

import ByteStore
import DocumentStore
import FirestoreWire
import OfflineSync
import Testing

@testable import Authority
@testable import FirestoreService

@Suite struct CommitOnceTests {
  private typealias Answer = Wire.IdentifiedCommitResponse

  private let run = RunRegistration(queue: "queue", run: RunID(UInt64(bitPattern: -7)))

  /// A service whose caller sends this batch.
  private func service(
    _ service: TestService, batch: Int64, registration: [UInt8]? = nil, guards: Int32 = 0
  ) throws -> TestService {
    var identity = Wire.WriteIdentity()
    identity.queue = run.queue
    identity.run = -7
    identity.batch = batch
    identity.firstOpen = batch
    identity.registration =
      try registration ?? service.authority.ledger.register(run, as: service.metadata.user)
    identity.guardCount = guards
    var service = service
    service.metadata.writeIdentity = try WriteLabels.text(identity)
    return service
  }

  private func commit(_ writes: [Wire.Write], to service: TestService) throws -> Answer {
    try service.answer("Commit", TestService.commitRequest(writes))
  }

  private func error(
    _ writes: [Wire.Write], from service: TestService, in transaction: [UInt8] = []
  ) throws -> RemoteError? {
    try service.error("Commit", TestService.commitRequest(writes, in: transaction))
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

  private func number(_ service: TestService) throws -> StoredValue? {
    try service.store.document(at: DocumentPath(["rooms", "a"]))?.fields["n"]
  }

  // MARK: Once

  @Test(arguments: WireFormat.allCases)
  func aCommitThatArrivesAgainHasTheSameAnswer(_ format: WireFormat) throws {
    let plain = try TestService(format)
    try plain.set(["rooms/a": 10])
    let client = try service(plain, batch: 1)
    let first = try commit([increment], to: client)
    #expect(try commit([increment], to: client) == first)
    #expect(try number(plain) == .integer(11))
    #expect(first.isIdentified && !first.isClosed)
    #expect(first.writeResults.map(\.transformResults) == [[.integer(11)]])
    #expect(first.writeResults.first?.versionBefore != nil)
    let stored = try #require(try plain.store.document(at: DocumentPath(["rooms", "a"])))
    #expect(first.commitTime == Wire.Timestamp(stored.updateTime))
    #expect(
      try commit([increment], to: service(plain, batch: 2)).writeResults[0].transformResults[0]
        == .integer(12))
  }

  @Test func aStreamAndACommitKnowTheSameBatches() throws {
    let plain = try TestService()
    let client = try service(plain, batch: 1)
    let committed = try commit([increment], to: client)
    let token = try plain.authority.ledger.register(run, as: nil)
    var write = RemoteWrite(
      id: WriteID(queue: run.queue, run: run.run, batch: BatchID(1)),
      mutations: [
        .patch(
          try DocumentPath(["rooms", "a"]), StoredMap(), mask: FieldMask([]),
          transforms: [FieldTransform(try StoredFieldPath(["n"]), .increment(.integer(1)))])
      ], firstOpen: BatchID(1))
    write.registration = token
    let taken = try #require(try plain.authority.take(write, as: nil))
    #expect(Wire.Timestamp(taken.version.stored) == committed.commitTime)
    #expect(try number(plain) == .integer(1))
  }

  @Test(arguments: WireFormat.allCases)
  func onlyACommitWithAnIdentitySaysSo(_ format: WireFormat) throws {
    let plain = try TestService(format)
    #expect(try !commit([increment], to: plain).isIdentified)
    let events = ServiceEvents()
    let call = try service(plain, batch: 1).begin("Commit", events)
    call.send(try format.encode(TestService.commitRequest([increment])))
    guard case .message(let bytes)? = events.all.first else {
      Issue.record("no answer")
      return
    }
    if format == .json {
      #expect(String(decoding: bytes, as: UTF8.self).contains(#""dugoutIdentified":true"#))
    }
    // Other clients skip the fields.
    #expect(try format.decode(Wire.CommitResponse.self, bytes).writeResults.count == 1)
  }

  @Test func otherMethodsIgnoreTheIdentity() throws {
    var service = try TestService()
    service.metadata.writeIdentity = "%%"
    var batch = Wire.BatchWriteRequest()
    batch.database = TestService.database
    batch.writes = [increment]
    for _ in 0..<2 { _ = try service.answer("BatchWrite", batch, as: Wire.BatchWriteResponse.self) }
    #expect(try number(service) == .integer(2))
  }

  // MARK: Refusals

  @Test func aFailedCommitCanBeSentAgain() throws {
    let plain = try TestService()
    let client = try service(plain, batch: 1)
    let refused = try error([increment.requiring(exists: true)], from: client)
    #expect(refused?.code == .notFound)
    #expect(refused?.message.contains(TestService.name("rooms/a")) == true)
    #expect(try commit([increment], to: client).isIdentified)
  }

  @Test func otherWritesUnderTheSameIdentityAreRefused() throws {
    let plain = try TestService()
    let client = try service(plain, batch: 1)
    _ = try commit([increment], to: client)
    #expect(try error([increment, increment], from: client)?.code == .invalidArgument)
    #expect(try number(plain) == .integer(1))
  }

  @Test func aGuardThatDoesNotHoldIsOvertaken() throws {
    let plain = try TestService()
    try plain.set(["rooms/a": 10])
    let client = try service(plain, batch: 1, guards: 1)
    var verify = Wire.Write()
    verify.operation = .verify(TestService.name("rooms/a"))
    let refused = try error([verify.requiring(exists: false), increment], from: client)
    #expect(refused == AuthorityLife.guardFailed)
    #expect(try number(plain) == .integer(10))
    #expect(try commit([verify.requiring(exists: true), increment], to: client).writeResults.count == 1)
    #expect(try number(plain) == .integer(11))
  }

  @Test func aRunNeedsItsRegistration() throws {
    let plain = try TestService()
    let other = try TestService()
    let foreign = try other.authority.ledger.register(run, as: nil)
    for (token, expected) in [
      ([], WriteLedger.unregistered), ([1, 2], .outcomeUnknown), (foreign, .outcomeUnknown),
    ] as [([UInt8], RemoteError)] {
      let client = try service(plain, batch: 1, registration: token)
      #expect(try error([increment], from: client) == expected)
      #expect(try error([], from: client) == expected)
    }
    #expect(try number(plain) == nil)
  }

  @Test func aCommitHasATransactionOrAnIdentity() throws {
    let plain = try TestService()
    let transaction = try plain.begin()
    let client = try service(plain, batch: 1)
    #expect(try error([increment], from: client, in: transaction)?.code == .invalidArgument)
    #expect(try number(plain) == nil)
    try plain.commit([increment], in: transaction)
    #expect(try number(plain) == .integer(1))
  }

  @Test(arguments: WireFormat.allCases)
  func metadataThatIsNoIdentityIsRefused(_ format: WireFormat) throws {
    var service = try TestService(format)
    var long = Wire.WriteIdentity()
    long.queue = String(repeating: "q", count: WriteLabels.metadataBytesMax)
    for text in [
      "%%", "/w==", "CgVxdWV1ZTAF", "\u{0}", "é", "AAAA, AAAA", try WriteLabels.text(long),
    ] {
      service.metadata.writeIdentity = text
      for writes in [[increment], []] {
        #expect(try error(writes, from: service)?.code == .invalidArgument, "\(text.prefix(20))")
      }
    }
    service.metadata.writeIdentity = ""
    #expect(try error([increment], from: service) == WriteLedger.unregistered)
    #expect(try number(service) == nil)
  }

  @Test func guardsThatAreNotInTheRequestAreRefused() throws {
    let plain = try TestService()
    for guards in [-1, 1, 2, Int32.max, .min] {
      #expect(
        try error([increment], from: service(plain, batch: 1, guards: guards))?.code == .invalidArgument)
      #expect(try error([], from: service(plain, batch: 1, guards: guards))?.code == .invalidArgument)
    }
  }

  @Test func theRulesAreAskedOnce() throws {
    var plain = try TestService()
    plain.metadata.user = "ada"
    var rules = plain.authority.rules
    rules.mayWrite = { user, _ in user == "ada" ? nil : RemoteError(.permissionDenied, "No.") }
    plain.authority.setRules(rules)
    let client = try service(plain, batch: 1)
    let answer = try commit([increment], to: client)
    rules.mayWrite = { _, _ in RemoteError(.permissionDenied, "No.") }
    plain.authority.setRules(rules)
    #expect(try commit([increment], to: client) == answer)
    #expect(try error([increment], from: service(plain, batch: 2)) == RemoteError(.permissionDenied, "No."))
    // Another user has other batches.
    var other = client
    other.metadata.user = "bob"
    #expect(try error([increment], from: other) == .outcomeUnknown)
  }

  // MARK: Closing

  @Test(arguments: WireFormat.allCases)
  func aCommitWithoutWritesClosesTheBatch(_ format: WireFormat) throws {
    let plain = try TestService(format)
    let client = try service(plain, batch: 1)
    for _ in 0..<2 {
      let closed = try commit([], to: client)
      #expect(closed.isIdentified && closed.isClosed && closed.commitTime == nil)
    }
    #expect(try error([increment], from: client)?.code == .invalidArgument)
    #expect(try number(plain) == nil)
    let next = try service(plain, batch: 2)
    let answer = try commit([increment], to: next)
    let asked = try commit([], to: next)
    #expect(asked == answer && !asked.isClosed)
    #expect(try number(plain) == .integer(1))
  }

  // MARK: Waits

  @Test func aCommitWaitsForATransactionThatHasReadItsDocument() throws {
    let plain = try TestService()
    try plain.set(["rooms/a": 1])
    let transaction = try plain.begin()
    _ = try plain.get("rooms/a", by: .transaction(transaction))
    let (queue, events) = (ManualQueue(), ServiceEvents())
    let client = try service(plain, batch: 1)
    let call = client.begin("Commit", on: queue.service, events)
    call.send(try plain.format.encode(TestService.commitRequest([increment])))
    queue.run()
    #expect(events.all.isEmpty)
    try plain.commit([TestService.set("rooms/a", 5)], in: transaction)
    while events.all.last?.isEnd != true { queue.waitAndRun() }
    #expect(
      try events.answers(in: plain.format, as: Answer.self).first?.writeResults[0].transformResults == [
        .integer(6)
      ])
  }

  /// One thread runs the blocks of all calls.
  @Test func commitsOfOneRunHoldNoThread() throws {
    let plain = try TestService()
    let name = RunName(user: nil, queue: run.queue, run: run.run)
    let clients = try (1...20).map { try service(plain, batch: $0) }
    let (turns, held) = (plain.authority.ledger.turns, Locked<RunTurns.Turn?>(nil))
    #expect(turns.begin([name.path]) { turn in held.withLock { $0 = turn } })
    let calls = try clients.map { client in
      let (queue, events) = (ManualQueue(), ServiceEvents())
      let call = client.begin("Commit", on: queue.service, events)
      call.send(try plain.format.encode(TestService.commitRequest([increment])))
      queue.run()
      return (queue, events, call)
    }
    #expect(turns.waitingCount == 20)
    held.withLock { $0 }?.end()
    for (queue, events, _) in calls { while events.all.last?.isEnd != true { queue.waitAndRun() } }
    #expect(try number(plain) == .integer(20))
  }

  @Test func tooManyCommitsOfOneRunAreRefused() throws {
    let refusals = Locked<[ServiceRefusal]>([])
    let plain = try TestService { $0.onRefusal = { refusal in refusals.withLock { $0.append(refusal) } } }
    let name = RunName(user: nil, queue: run.queue, run: run.run)
    let client = try service(plain, batch: 1)
    let (turns, held) = (plain.authority.ledger.turns, Locked<[RunTurns.Turn]>([]))
    for _ in 0..<RunTurns.lineMax {
      #expect(turns.begin([name.path]) { turn in held.withLock { $0.append(turn) } })
    }
    #expect(try error([increment], from: client)?.code == .resourceExhausted)
    #expect(try error([], from: client)?.code == .resourceExhausted)
    #expect(refusals.withLock { $0 } == [.waitingWrites, .waitingWrites])
    while let turn = held.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { turn.end() }
  }
}
