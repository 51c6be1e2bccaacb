// No thread waits for a commit of a call that has a queue.

import Authority
import ByteStore
import DocumentStore
import FirestoreWire
import Harness
import OfflineSync
import Testing

@testable import FirestoreService

@Suite struct WaitingCommitTests {

  /// The requests of all calls that commit, each for a document of its own.
  private func requests(_ service: TestService) throws -> [(method: String, bytes: [UInt8])] {
    var create = Wire.CreateDocumentRequest()
    create.parent = TestService.documents
    create.collectionId = "rooms"
    create.documentId = "created"
    create.document = Wire.Document()
    var update = Wire.UpdateDocumentRequest()
    update.document = Wire.Document()
    update.document?.name = TestService.name("rooms/updated")
    var delete = Wire.DeleteDocumentRequest()
    delete.name = TestService.name("rooms/deleted")
    var batch = Wire.BatchWriteRequest()
    batch.database = TestService.database
    batch.writes = (0..<120).map { TestService.set("rooms/batch-\($0)", 1) }
    let transaction = try service.begin()
    _ = try service.get("rooms/read", by: .transaction(transaction))
    let commits = [[], transaction].map { id in
      TestService.commitRequest([TestService.set("rooms/\(id.count)", 1)], in: id)
    }
    return [
      ("Commit", try service.format.encode(commits[0])), ("Commit", try service.format.encode(commits[1])),
      ("CreateDocument", try service.format.encode(create)),
      ("UpdateDocument", try service.format.encode(update)),
      ("DeleteDocument", try service.format.encode(delete)),
      ("BatchWrite", try service.format.encode(batch)),
    ]
  }

  @Test func noBlockOfTheQueueWaitsForACommit() throws {
    let held = HeldCommits()
    let service = try held.service()
    for (method, bytes) in try requests(service) {
      let (queue, events) = (ManualQueue(), ServiceEvents())
      held.hold()
      let call = service.begin(method, on: queue.service, events)
      call.send(bytes)
      queue.run()
      #expect(events.all.isEmpty, "\(method) has answered before its commit was durable")
      held.release()
      while events.all.last?.isEnd != true { queue.waitAndRun() }
      #expect(events.all.count == 2 && events.all.last == .ended(nil), "\(method): \(events.all)")
    }
  }

  @Test func aCallThatMayBeginWithinSendDoesNotWaitThere() throws {
    let held = HeldCommits()
    let service = try held.service()
    for (method, bytes) in try requests(service) where method != "BatchWrite" {
      let (queue, events) = (ManualQueue(), ServiceEvents())
      held.hold()
      let call = service.begin(method, on: queue.onLoop, events)
      call.send(bytes)
      #expect(queue.isEmpty && events.all.isEmpty, "\(method)")
      held.release()
      while events.all.last?.isEnd != true { queue.waitAndRun() }
      #expect(events.all.last == .ended(nil), "\(method)")
    }
  }

  @Test func readsOfAFewDocumentsAreAnsweredWithinSend() throws {
    let service = try TestService()
    try service.set(["rooms/a": 1])
    var get = Wire.GetDocumentRequest()
    get.name = TestService.name("rooms/a")
    var batch = Wire.BatchGetDocumentsRequest()
    batch.database = TestService.database
    batch.documents = [get.name]
    for (method, bytes) in [
      ("GetDocument", try service.format.encode(get)),
      ("BatchGetDocuments", try service.format.encode(batch)),
    ] {
      let (queue, events) = (ManualQueue(), ServiceEvents())
      service.begin(method, on: queue.onLoop, events).send(bytes)
      #expect(events.all.count == 2 && queue.isEmpty, "\(method)")
    }
    // A long request is read on the queue.
    batch.documents = (0..<200).map { TestService.name("rooms/\($0)") }
    let (queue, events) = (ManualQueue(), ServiceEvents())
    service.begin("BatchGetDocuments", on: queue.onLoop, events).send(try service.format.encode(batch))
    #expect(events.all.isEmpty)
    queue.run()
    #expect(events.all.count == 201)
  }

  @Test func methodsThatMayBeginWithinSend() {
    func mayBegin(_ method: String, _ bytes: Int = 100) -> Bool {
      FirestoreService.beginsWithinSend(method, requestBytes: bytes)
    }
    for method in ["GetDocument", "BatchGetDocuments", "Commit", "Rollback", "BeginTransaction"] {
      #expect(mayBegin("/google.firestore.v1.Firestore/\(method)"), "\(method)")
    }
    for method in ["RunQuery", "ListDocuments", "BatchWrite", "Listen", "Write", "Nothing"] {
      #expect(!mayBegin(method), "\(method)")
    }
    #expect(!mayBegin("BatchGetDocuments", 4097) && mayBegin("BatchGetDocuments", 4096))
    #expect(!mayBegin("Commit", 1 << 20))
  }

  /// The first call that names a database opens it, which can take long.
  @Test func aDatabaseIsNotOpenedWithinSend() throws {
    let opened = Locked(0)
    let authority = try Authority.of(try DocumentStore.openInMemory())
    let service = FirestoreService { _ throws(RemoteError) in
      opened.withLock { $0 += 1 }
      return authority
    }
    let bytes = try WireFormat.protobuf.encode(TestService.commitRequest([TestService.set("rooms/a", 1)]))
    for count in [1, 0] {
      let (queue, events) = (ManualQueue(), ServiceEvents())
      let call = service.handle(
        "Commit", metadata: CallMetadata(), format: .protobuf, on: queue.onLoop
      ) { events.add($0) }
      let before = opened.withLock { $0 }
      call.send(bytes)
      #expect(opened.withLock { $0 } == before && events.all.isEmpty)
      while events.all.last?.isEnd != true { queue.waitAndRun() }
      #expect(opened.withLock { $0 } == before + count)
      #expect(events.all.last == .ended(nil))
    }
  }

  /// Commits of many clients share the syncs of the store, although one thread begins all of them.
  @Test(arguments: ["Commit", "UpdateDocument"])
  func openCommitsOfManyClientsShareSyncs(_ method: String) throws {
    let clients = 64
    let held = HeldCommits()
    let service = try held.service()
    try service.set(["rooms/first": 1])
    let syncs = held.files.counters.syncs
    let begun = held.begunCount
    let (queue, events) = (ManualQueue(), ServiceEvents())
    held.hold()
    var calls: [ServiceCall] = []
    for number in 0..<clients {
      let write = TestService.set("rooms/\(number)", 1)
      var update = Wire.UpdateDocumentRequest()
      update.document = write.operation?.update
      let bytes =
        try method == "Commit"
        ? service.format.encode(TestService.commitRequest([write])) : service.format.encode(update)
      let call = service.begin(method, on: queue.onLoop, events)
      call.send(bytes)
      calls.append(call)
    }
    held.waitUntilBegun(begun + clients)
    held.release()
    while events.all.count(where: \.isEnd) < clients { queue.waitAndRun() }
    #expect(events.all.allSatisfy { $0 == .ended(nil) || !$0.isEnd })
    #expect(held.files.counters.syncs - syncs <= 4)
  }

  @Test func aCancelledCallTellsNothingAndItsCommitTakesEffect() throws {
    let held = HeldCommits()
    let service = try held.service()
    try service.set(["rooms/first": 1])
    let (queue, events) = (ManualQueue(), ServiceEvents())
    held.hold()
    let call = service.begin("Commit", on: queue.onLoop, events)
    call.send(try service.format.encode(TestService.commitRequest([TestService.set("rooms/a", 1)])))
    call.cancel()
    held.release()
    queue.waitAndRun()
    #expect(events.all.isEmpty)
    #expect(try service.get("rooms/a").first?.result?.found?.fields["n"] == .integer(1))
  }
}

extension ManualQueue {
  /// The queue of a transport whose calls can begin within `send`.
  fileprivate var onLoop: ServiceQueue {
    var queue = service
    queue.mayBeginWithinSend = true
    return queue
  }
}

/// Holds commits that have their place in the order, before they are durable.
private final class HeldCommits: StorePauses {
  private struct State {
    var isHeld = false
    var begunCount = 0
  }

  let files = WatchedFileSystem(SimulatedDisk())
  private let state = Locked(State())

  func service() throws -> TestService {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.pauses = self
    let platform = Platform(
      fileSystem: files, clock: SimulatedClock(), random: SimulatedRandomSource(seed: 1))
    return try TestService(over: try DocumentStore.open("/served", options: options, platform: platform))
  }

  func pause(at point: StorePoint) {
    switch point {
    case .readAhead:
      state.withLock { $0.begunCount += 1 }
      state.wakeAll()
    case .placed: state.withLock(when: { !$0.isHeld }) { _ in }
    default: break
    }
  }

  func hold() { state.withLock { $0.isHeld = true } }

  func release() {
    state.withLock { $0.isHeld = false }
    state.wakeAll()
  }

  /// The number of commits that are about to get their place.
  var begunCount: Int { state.withLock { $0.begunCount } }

  func waitUntilBegun(_ count: Int) { state.withLock(when: { $0.begunCount >= count }) { _ in } }
}
