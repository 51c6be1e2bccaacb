// Listeners of queries and documents: events, their order and their contents.

import FirebaseFirestore
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct ListenerTests {
  // MARK: Events

  @Test func theFirstSnapshotIsCompleteAndLaterSnapshotsListChanges() async throws {
    let database = try TestDatabase()
    let rooms = database.firestore.collection("rooms")
    for (id, n) in [("a", 1), ("b", 2), ("c", 3)] { try await rooms.document(id).setData(["n": n]) }
    let events = Events<QuerySnapshot>()
    let registration = rooms.order(by: "n").addSnapshotListener(events.add)
    #expect(await events.next.map(Self.text) == "a b c; +a ->0, +b ->1, +c ->2")
    try await rooms.document("b").setData(["n": 9])
    #expect(await events.next.map(Self.text) == "a c b; *b 1->2")
    let batch = database.firestore.batch()
    batch.deleteDocument(rooms.document("a")).setData(["n": 5], forDocument: rooms.document("d"))
      .setData(["n": 0], forDocument: rooms.document("e")).setData(
        ["n": 10], forDocument: rooms.document("c"))
    try await batch.commit()
    #expect(await events.next.map(Self.text) == "e d b c; -a 0->, +e ->0, +d ->2, *c 1->3")
    registration.remove()
    registration.remove()
    try await rooms.document("z").setData(["n": 1])
    #expect(await events.rest(database) == 0)
    await database.close()
  }

  /// Formats documents and changes as one line; -, + and * mean removed, added and modified.
  private static func text(_ snapshot: QuerySnapshot) -> String {
    let changes = snapshot.documentChanges.map { change in
      let sign = ["+", "*", "-"][change.type.rawValue]
      let indexes = [change.oldIndex, change.newIndex].map { $0 == UInt(NSNotFound) ? "" : "\($0)" }
      return "\(sign)\(change.document.documentID) \(indexes.joined(separator: "->"))"
    }
    return snapshot.documents.map(\.documentID).joined(separator: " ") + "; "
      + changes.joined(separator: ", ")
  }

  @Test func aWriteWithoutEffectNotifiesNoListener() async throws {
    let database = try TestDatabase()
    let document = database.firestore.document("a/b")
    try await document.setData(["n": 1])
    let events = Events<DocumentSnapshot>()
    _ = document.addSnapshotListener(includeMetadataChanges: true, listener: events.add)
    #expect(await events.next?["n"] as? Int == 1)
    try await document.setData(["n": 1])
    try await database.firestore.document("a/other").setData(["n": 1])
    try await document.setData(["n": 2])
    #expect(await events.next?["n"] as? Int == 2)
    #expect(await events.rest(database) == 0)
    await database.close()
  }

  @Test func aDocumentListenerReportsExistence() async throws {
    let database = try TestDatabase()
    let document = database.firestore.document("a/b")
    let events = Events<DocumentSnapshot>()
    let registration = document.addSnapshotListener(events.add)
    let absent = await events.next
    #expect(absent?.exists == false && absent?.metadata.isFromCache == false)
    try await document.setData(["n": 1])
    #expect(await events.next?.data()?["n"] as? Int == 1)
    try await document.delete()
    let deleted = await events.next
    #expect(deleted?.exists == false && deleted?.metadata.hasPendingWrites == false)
    registration.remove()
    await database.close()
  }

  @Test func aServerTimestampIsReportedOnceWithItsValue() async throws {
    let database = try TestDatabase()
    let document = database.firestore.document("a/b")
    let events = Events<DocumentSnapshot>()
    _ = document.addSnapshotListener(includeMetadataChanges: true, listener: events.add)
    _ = await events.next
    try await document.setData(["t": FieldValue.serverTimestamp()])
    let snapshot = await events.next
    #expect(snapshot?["t"] is Timestamp && snapshot?.metadata.hasPendingWrites == false)
    #expect(await events.rest(database) == 0)
    await database.close()
  }

  @Test func aRemovedDocumentIsReportedWithItsLastFields() async throws {
    let database = try TestDatabase()
    let rooms = database.firestore.collection("rooms")
    try await rooms.document("a").setData(["n": 1, "open": true])
    let events = Events<QuerySnapshot>()
    _ = rooms.whereField("open", isEqualTo: true).addSnapshotListener(events.add)
    _ = await events.next
    try await rooms.document("a").setData(["n": 2, "open": false])
    let change = await events.next?.documentChanges.first
    #expect(change?.type == .removed)
    #expect(change?.document["n"] as? Int == 1)
    await database.close()
  }

  @Test func aLimitedQueryLosesOneDocumentAndGainsAnother() async throws {
    let database = try TestDatabase()
    let rooms = database.firestore.collection("rooms")
    for n in 1...4 { try await rooms.document("r\(n)").setData(["n": n]) }
    let (first, last) = (Events<QuerySnapshot>(), Events<QuerySnapshot>())
    _ = rooms.order(by: "n").limit(to: 2).addSnapshotListener(first.add)
    _ = rooms.order(by: "n").limit(toLast: 2).addSnapshotListener(last.add)
    #expect(await first.next.map(Self.text) == "r1 r2; +r1 ->0, +r2 ->1")
    #expect(await last.next.map(Self.text) == "r3 r4; +r3 ->0, +r4 ->1")
    try await rooms.document("r1").setData(["n": 9])
    #expect(await first.next.map(Self.text) == "r2 r3; -r1 0->, +r3 ->1")
    #expect(await last.next.map(Self.text) == "r4 r1; -r3 0->, +r1 ->1")
    await database.close()
  }

  // MARK: Order

  @Test func listenersAreNotifiedBeforeAWritesCompletion() async throws {
    let database = try TestDatabase()
    let document = database.firestore.document("a/b")
    let log = Log()
    let done = DispatchSemaphore(value: 0)
    for listener in 1...3 {
      _ = document.addSnapshotListener { snapshot, _ in
        log.add("listener \(listener) \(snapshot?["n"] as? Int ?? 0)")
      }
    }
    document.setData(["n": 1]) { _ in
      log.add("completion")
      done.signal()
    }
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        done.wait()
        continuation.resume()
      }
    }
    let lines = log.lines
    #expect(lines.last == "completion", "\(lines)")
    #expect((1...3).allSatisfy { lines.contains("listener \($0) 1") }, "\(lines)")
    await database.close()
  }

  /// On a concurrent queue too, callbacks run one at a time and in order.
  @Test func callbacksAreSerializedOnAConcurrentQueue() async throws {
    let firestore = Firestore.memory()
    let settings = FirestoreSettings()
    let queue = DispatchQueue(label: "dugout.test.concurrent", attributes: .concurrent)
    let key = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: key, value: true)
    settings.dispatchQueue = queue
    firestore.settings = settings
    let document = firestore.document("a/b")
    let log = Log()
    let running = Counter()
    let done = DispatchSemaphore(value: 0)
    let count = 200
    func logCallback(_ line: String) {
      running.add()
      if running.count > 1 { log.add("at once") }
      if DispatchQueue.getSpecific(key: key) != true { log.add("elsewhere") }
      log.add(line)
      running.remove()
    }
    document.addSnapshotListener { snapshot, _ in logCallback("snapshot \(snapshot?["n"] as? Int ?? 0)") }
    for n in 1...count {
      document.setData(["n": n]) { _ in
        logCallback("done \(n)")
        if n == count { done.signal() }
      }
    }
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        done.wait()
        continuation.resume()
      }
    }
    let lines = log.lines
    #expect(!lines.contains("at once") && !lines.contains("elsewhere"))
    #expect(lines.filter { $0.hasPrefix("done") } == (1...count).map { "done \($0)" })
    let numbers = lines.filter { $0.hasPrefix("snapshot") }.compactMap { Int($0.dropFirst(9)) }
    #expect(numbers == numbers.sorted() && numbers.last == count)
    try await firestore.terminate()
  }

  @Test func snapshotsReportTheirSource() async throws {
    let database = try TestDatabase()
    let document = database.firestore.document("a/b")
    try await document.setData(["n": 1])
    let (cache, standard) = (Events<DocumentSnapshot>(), Events<QuerySnapshot>())
    let options = SnapshotListenOptions().withSource(.cache)
    _ = document.addSnapshotListener(options: options, listener: cache.add)
    _ = database.firestore.collection("a").addSnapshotListener(
      options: options.withSource(.default).withIncludeMetadataChanges(true), listener: standard.add)
    #expect(await cache.next?.metadata.isFromCache == true)
    let snapshot = await standard.next
    #expect(snapshot?.metadata.isFromCache == false)
    #expect(snapshot?.documentChanges(includeMetadataChanges: true).count == 1)
    await database.close()
  }

  @Test func aLateListenerGetsTheCurrentState() async throws {
    let database = try TestDatabase()
    let rooms = database.firestore.collection("rooms")
    let (early, late) = (Events<QuerySnapshot>(), Events<QuerySnapshot>())
    _ = rooms.addSnapshotListener(early.add)
    #expect(await early.next?.isEmpty == true)
    // The test does not wait for this write, but the next listener sees it.
    rooms.document("a").setData(["n": 1], completion: nil)
    _ = rooms.addSnapshotListener(late.add)
    #expect(await late.next?.count == 1)
    #expect(await early.next?.count == 1)
    await database.close()
  }

  @Test func snapshotsInSyncListenersAreNotifiedOncePerRound() async throws {
    let database = try TestDatabase()
    let rooms = database.firestore.collection("rooms")
    let log = Log()
    let (first, second, sync) = (Events<QuerySnapshot>(), Events<QuerySnapshot>(), Events<NSNull>())
    _ = rooms.addSnapshotListener {
      first.add($0, $1); log.add("snapshot")
    }
    _ = rooms.order(by: "n").addSnapshotListener {
      second.add($0, $1); log.add("snapshot")
    }
    _ = (await first.next, await second.next)
    let registration = database.firestore.addSnapshotsInSyncListener {
      log.add("sync")
      sync.add(NSNull(), nil)
    }
    _ = await sync.next
    log.clear()
    try await rooms.document("a").setData(["n": 1])
    _ = await sync.next
    #expect(log.lines == ["snapshot", "snapshot", "sync"])
    try await database.firestore.document("elsewhere/a").setData(["n": 1])
    registration.remove()
    try await rooms.document("a").setData(["n": 2])
    _ = (await first.next, await second.next, await first.next, await second.next)
    #expect(await sync.rest(database) == 0)
    await database.close()
  }

  /// The second commit replaces the snapshot of the third listener, which waits in the queue before the
  /// in-sync event of the first commit.
  @Test func noSnapshotsInSyncEventComesInTheMiddleOfARound() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let document = firestore.document("a/b")
    let (log, resume) = (Log(), DispatchSemaphore(value: 0))
    let (held, sync) = (Events<NSNull>(), Events<NSNull>())
    for listener in 1...3 {
      _ = document.addSnapshotListener { snapshot, _ in
        let n = snapshot?["n"] as? Int ?? 0
        log.add("listener \(listener) \(n)")
        guard listener == 2, n == 1 else { return }
        held.add(NSNull(), nil)
        _ = resume.wait(timeout: .now() + 60)
      }
    }
    _ = firestore.addSnapshotsInSyncListener {
      log.add("sync")
      sync.add(NSNull(), nil)
    }
    _ = await sync.next
    log.clear()
    document.setData(["n": 1], completion: nil)
    _ = await held.next
    // After this registration, the in-sync event of the first commit is in the queue.
    _ = firestore.document("x/y").addSnapshotListener { _, _ in }
    try await firestore.waitForPendingWrites()
    document.setData(["n": 2], completion: nil)
    try await firestore.waitForPendingWrites()
    resume.signal()
    _ = await sync.next
    #expect(
      log.lines == ["listener 1 1", "listener 2 1", "listener 3 2", "listener 1 2", "listener 2 2", "sync"])
    #expect(await sync.rest(database) == 0)
    await database.close()
  }

  /// A snapshot from before the registration triggers no further in-sync event for the new listener.
  @Test func theFirstSnapshotsInSyncEventCoversEarlierSnapshots() async throws {
    let database = try TestDatabase()
    let document = database.firestore.document("a/b")
    let (events, sync) = (Events<DocumentSnapshot>(), Events<NSNull>())
    let firestore = database.firestore
    _ = document.addSnapshotListener { snapshot, error in
      if snapshot?.exists == false {
        firestore.addSnapshotsInSyncListener { sync.add(NSNull(), nil) }
      }
      events.add(snapshot, error)
    }
    _ = (await events.next, await sync.next)
    #expect(await sync.rest(database) == 0)
    try await document.setData(["n": 1])
    _ = (await events.next, await sync.next)
    #expect(await sync.rest(database) == 0)
    await database.close()
  }

  // MARK: Ends

  @Test func anErrorIsReportedOnceAndEndsTheListener() async throws {
    let database = try TestDatabase()
    let events = Events<QuerySnapshot>()
    _ = database.firestore.collection("__bad__").addSnapshotListener(events.add)
    let error = await events.nextError
    #expect((error as? FirestoreErrorCode)?.code == .invalidArgument)
    let query = database.firestore.collection("a").whereField("n", in: Array(0..<31))
    _ = query.addSnapshotListener(events.add)
    #expect((await events.nextError as? FirestoreErrorCode)?.code == .invalidArgument)
    await database.close()
  }

  @Test func listenersAreSilentAfterTermination() async throws {
    let database = try TestDatabase()
    let document = database.firestore.document("a/b")
    let events = Events<DocumentSnapshot>()
    let registration = document.addSnapshotListener(events.add)
    _ = await events.next
    document.setData(["n": 1], completion: nil)
    try await database.firestore.terminate()
    registration.remove()
    #expect(await events.rest(database) == 0)
    await database.close()
  }

  /// The error is still in the callback queue when the instance is terminated.
  @Test func aListenerOfAnInvalidQueryIsSilentAfterTermination() async throws {
    let database = try TestDatabase()
    let queue = database.firestore.settings.dispatchQueue
    let (log, resume) = (Log(), DispatchSemaphore(value: 0))
    queue.async { _ = resume.wait(timeout: .now() + 60) }
    let registration = database.firestore.collection("__bad__").addSnapshotListener { _, error in
      log.add("called \(error == nil)")
    }
    try await database.firestore.terminate()
    resume.signal()
    await withCheckedContinuation { done in queue.async { done.resume() } }
    #expect(log.lines == [])
    registration.remove()
    await database.close()
  }

  @Test func optionsAreEqualByValue() {
    let options = SnapshotListenOptions()
    #expect(options.source == .default && !options.includeMetadataChanges)
    let changed = options.withSource(.cache).withIncludeMetadataChanges(true)
    #expect(changed.source == .cache && changed.includeMetadataChanges)
    #expect(options != changed && changed.withSource(.default).withIncludeMetadataChanges(false) == options)
  }
}

/// The events of one listener, which a test can await.
final class Events<Snapshot: Sendable>: Sendable {
  private typealias Event = Result<Snapshot, any Error>
  private let stream: AsyncStream<Event>
  private let continuation: AsyncStream<Event>.Continuation
  private let pending = Counter()

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func add(_ snapshot: Snapshot?, _ error: (any Error)?) {
    pending.add()
    if let snapshot { continuation.yield(.success(snapshot)) }
    if let error { continuation.yield(.failure(error)) }
  }

  private func take() async -> Event? {
    var iterator = stream.makeAsyncIterator()
    defer { taken.add() }
    return await iterator.next()
  }

  private let taken = Counter()

  var next: Snapshot? {
    get async {
      guard case .success(let snapshot) = await take() else { return nil }
      return snapshot
    }
  }

  var nextError: (any Error)? {
    get async {
      guard case .failure(let error) = await take() else { return nil }
      return error
    }
  }

  /// Returns the number of unread events, after all callbacks that are already queued have run.
  func rest(_ database: TestDatabase) async -> Int {
    let queue = database.firestore.settings.dispatchQueue
    await withCheckedContinuation { done in queue.async { done.resume() } }
    return pending.count - taken.count
  }
}

/// Lines that any thread may append.
final class Log: Sendable {
  private let lock = NSLock()
  private nonisolated(unsafe) var all: [String] = []

  var lines: [String] { lock.withLock { all } }

  func add(_ line: String) { lock.withLock { all.append(line) } }

  func clear() { lock.withLock { all = [] } }
}
