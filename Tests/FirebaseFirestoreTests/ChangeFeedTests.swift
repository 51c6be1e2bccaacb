// The change feed as a sequence, its positions, and its consumers.

import Authority
import DocumentStore
import Foundation
import OfflineSync
import Testing

@testable import FirebaseFirestore

@Suite(.timeLimit(.minutes(5))) struct ChangeFeedTests {
  private typealias Iterator = FirestoreChanges.Iterator

  /// Returns the next changes as text, such as "set a/b 1" and "delete a/b", with a bar after each commit.
  private func next(_ count: Int, _ iterator: inout Iterator) async throws -> [String] {
    var texts: [String] = []
    for _ in 0..<count {
      let change = try #require(try await iterator.next())
      let number = (change.snapshot.get("n") as? Int).map { " \($0)" } ?? ""
      texts.append("\(change.kind) \(change.document.path)\(number)\(change.isLastOfCommit ? " |" : "")")
    }
    return texts
  }

  /// Returns the position after so many changes from the start of `changes`.
  private func position(after count: Int, in changes: FirestoreChanges) async throws -> ChangePosition {
    var iterator = changes.makeAsyncIterator()
    for _ in 1..<count { _ = try await iterator.next() }
    return try #require(try await iterator.next()).position
  }

  /// Returns the error of the first attempt to read.
  private func failure(of changes: FirestoreChanges) async -> FirestoreChangesError? {
    var iterator = changes.makeAsyncIterator()
    do {
      _ = try await iterator.next()
      return nil
    } catch {
      return error as? FirestoreChangesError
    }
  }

  private func code(_ body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
    do {
      try await body()
      return nil
    } catch {
      return FirestoreErrorCode.Code(rawValue: (error as NSError).code)
    }
  }

  /// Registers "a" and commits a batch of two documents, then one document, then a deletion.
  private func register(_ firestore: Firestore) async throws -> FirestoreChangeConsumer {
    let consumer = try await firestore.registerConsumer("a")
    try await firestore.batch().setData(["n": 1], forDocument: firestore.document("a/1"))
      .setData(["n": 2], forDocument: firestore.document("a/2")).commit()
    try await firestore.document("a/3").setData(["n": 3])
    try await firestore.document("a/1").delete()
    return consumer
  }

  private static let all = ["set a/1 1", "set a/2 2 |", "set a/3 3 |", "delete a/1 |"]

  // MARK: The sequence

  @Test func aLoopGetsPastChangesAndThenNewOnes() async throws {
    let firestore = Firestore.memory()
    _ = try await register(firestore)
    var iterator = firestore.changes().makeAsyncIterator()
    #expect(try await next(4, &iterator) == Self.all)
    try await firestore.document("a/4").setData(["n": 4])
    #expect(try await next(1, &iterator) == ["set a/4 4 |"])
    try await firestore.terminate()
  }

  @Test func aLoopWithoutAConsumerGetsTheChangesAfterItsStart() async throws {
    let firestore = Firestore.memory()
    try await firestore.document("a/1").setData(["n": 1])
    var iterator = firestore.changes().makeAsyncIterator()
    try await firestore.document("a/2").setData(["n": 2])
    #expect(try await next(1, &iterator) == ["set a/2 2 |"])
    try await firestore.terminate()
  }

  @Test func aChangeShowsItsCommit() async throws {
    let firestore = Firestore.memory()
    var iterator = firestore.changes().makeAsyncIterator()
    let document = firestore.document("a/b")
    try await document.setData(["n": 1])
    try await document.setData(["n": 2])
    try await document.delete()
    var changes: [FirestoreChange] = []
    for _ in 0..<3 { changes.append(try #require(try await iterator.next())) }
    #expect(changes.map(\.isCreation) == [true, false, false])
    #expect(changes.map(\.snapshot.exists) == [true, true, false])
    #expect(changes.map { $0.snapshot.get("n") as? Int } == [1, 2, nil], "as each commit left the document")
    #expect(changes.allSatisfy { $0.hasCommittedData && $0.isLastOfCommit })
    #expect(changes.map(\.version) == changes.map(\.version).sorted())
    #expect(Set(changes.map(\.version)).count == 3)
    #expect(changes[0].commitTime < changes[1].commitTime)
    try await firestore.terminate()
  }

  @Test func aLargeCommitShowsTheDocumentsOfTheTimeOfReading() async throws {
    let firestore = Firestore.memory()
    var iterator = firestore.changes().makeAsyncIterator()
    let text = String(repeating: "x", count: 600_000)
    try await firestore.batch().setData(["n": 1, "t": text], forDocument: firestore.document("a/1"))
      .setData(["n": 1, "t": text], forDocument: firestore.document("a/2")).commit()
    try await firestore.document("a/1").setData(["n": 2])
    let first = try #require(try await iterator.next())
    #expect(!first.hasCommittedData && first.snapshot.get("n") as? Int == 2)
    let second = try #require(try await iterator.next())
    #expect(!second.hasCommittedData && second.snapshot.get("n") as? Int == 1)
    let third = try #require(try await iterator.next())
    #expect(third.hasCommittedData && third.version > first.version)
    try await firestore.terminate()
  }

  /// The changes fill several pages, and the loop falls behind all of them.
  @Test func aSlowLoopGetsEveryChangeInOrder() async throws {
    let firestore = Firestore.memory()
    var (slow, other) = (firestore.changes().makeAsyncIterator(), firestore.changes().makeAsyncIterator())
    for n in 0..<250 { try await firestore.document("a/b").setData(["n": n]) }
    let expected = (0..<250).map { "set a/b \($0) |" }
    #expect(try await next(250, &slow) == expected)
    #expect(try await next(250, &other) == expected, "each loop reads separately")
    try await firestore.terminate()
  }

  // MARK: The end of a loop

  @Test func cancellationEndsAWaitingLoop() async throws {
    let firestore = Firestore.memory()
    let consumer = try await register(firestore)
    let (seen, report) = AsyncStream<Int>.makeStream()
    let loop = Task {
      var count = 0
      for try await _ in consumer.changes() {
        count += 1
        report.yield(count)
      }
      return count
    }
    for await count in seen where count == 4 { break }
    loop.cancel()
    #expect(try await loop.value == 4)
    try await firestore.terminate()
  }

  @Test func terminationThrowsOnce() async throws {
    let firestore = Firestore.memory()
    var iterator = firestore.changes().makeAsyncIterator()
    try await firestore.document("a/b").setData(["n": 1])
    #expect(try await next(1, &iterator) == ["set a/b 1 |"])
    try await firestore.terminate()
    #expect(await code { _ = try await iterator.next() } == .failedPrecondition)
    #expect(try await iterator.next() == nil)
  }

  @Test func theEndOfTheLastLoopEndsTheFeed() async throws {
    let firestore = Firestore.memory()
    try await firestore.document("a/b").setData(["n": 0])
    let store = try #require(firestore.client().store.openView).store
    do {
      var iterator = firestore.changes().makeAsyncIterator()
      try await firestore.document("a/b").setData(["n": 1])
      #expect(try await next(1, &iterator) == ["set a/b 1 |"])
    }
    let end = try store.feedRange().newest
    try await firestore.document("a/b").setData(["n": 2])
    #expect(try store.feedRange().newest == end, "the feed writes nothing more")
    try await firestore.terminate()
  }

  // MARK: Positions

  @Test func aLoopContinuesAfterAnyPosition() async throws {
    let firestore = Firestore.memory()
    let consumer = try await register(firestore)
    var wrong: [String] = []
    for count in 1...3 {
      let position = try await position(after: count, in: consumer.changes())
      let stored = try JSONDecoder().decode(
        [ChangePosition].self, from: JSONEncoder().encode([position]))
      let text = try #require(ChangePosition(position.description))
      if stored != [position] || text != position { wrong.append("\(position)") }
      var iterator = firestore.changes(after: stored[0]).makeAsyncIterator()
      let rest = try await next(4 - count, &iterator)
      if rest != Array(Self.all[count...]) { wrong.append("\(count): \(rest)") }
    }
    #expect(wrong == [])
    try await firestore.terminate()
  }

  @Test func otherTextIsNoPosition() throws {
    let id = "00000000000000010000000000000002"
    #expect(ChangePosition("\(id)-7-5") != nil && ChangePosition("\(id)-7.2-5") != nil)
    let texts = [
      "", "7", id, "\(id)-7", "\(id)-7-5-1", "\(id)-+7-5", "\(id)-07-5", "\(id)-7.-5", "\(id)-7.1.1-5",
      "\(id)--7-5", "\(id)-0.1-5", "\(id)0-7-5", "\(id)-7-x", "\(id)-18446744073709551616-5",
    ]
    #expect(texts.filter { ChangePosition($0) != nil } == [])
    let code = Data(#"["nonsense"]"#.utf8)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode([ChangePosition].self, from: code) }
  }

  @Test func positionsAreOrdered() async throws {
    let firestore = Firestore.memory()
    let consumer = try await register(firestore)
    var positions = [try await consumer.position()]
    var iterator = consumer.changes().makeAsyncIterator()
    for _ in 0..<4 { positions.append(try #require(try await iterator.next()).position) }
    #expect(positions.shuffled().sorted() == positions && Set(positions).count == 5)
    try await firestore.terminate()
  }

  @Test func positionsOfOtherHistoriesAreRejected() async throws {
    let (firestore, other) = (Firestore.memory(), Firestore.memory())
    let (consumer, otherConsumer) = (try await register(firestore), try await register(other))
    let foreign = try await position(after: 1, in: otherConsumer.changes())
    #expect(await failure(of: firestore.changes(after: foreign)) == .foreignPosition)
    let first = try await position(after: 2, in: consumer.changes())
    let later = ChangePosition(
      first.database, commit: first.commit + 1000, changeCount: nil, time: first.time)
    #expect(await failure(of: firestore.changes(after: later)) == .lostPosition)
    let another = ChangePosition(
      first.database, commit: first.commit, changeCount: nil, time: first.time - 1)
    #expect(await failure(of: firestore.changes(after: another)) == .lostPosition, "of a lost commit")
    await #expect(throws: FirestoreChangesError.foreignPosition) { try await consumer.acknowledge(foreign) }
    await #expect(throws: FirestoreChangesError.lostPosition) { try await consumer.acknowledge(later) }
    try await firestore.terminate()
    try await other.terminate()
  }

  @Test func aTruncatedPositionSaysWhereToContinue() async throws {
    let firestore = Firestore.memory()
    let consumer = try await register(firestore)
    let old = try await position(after: 1, in: consumer.changes())
    let newest = try await position(after: 4, in: consumer.changes())
    // This write comes after the start of the loops above, so their readers have ended.
    try await firestore.document("a/4").setData(["n": 4])
    try await consumer.acknowledge(newest)
    guard case .truncated(let oldest)? = await failure(of: firestore.changes(after: old)) else {
      Issue.record("it was not truncated")
      return
    }
    #expect(oldest == newest)
    var iterator = firestore.changes(after: oldest).makeAsyncIterator()
    #expect(try await next(1, &iterator) == ["set a/4 4 |"])
    // The error also has a code of Firestore.
    #expect(await code { throw FirestoreChangesError.truncated(oldest: oldest) } == .outOfRange)
    try await firestore.terminate()
  }

  // MARK: Consumers

  @Test func aConsumerGetsWhatItHasNotAcknowledgedAfterARestart() async throws {
    let database = try TestDatabase()
    var consumer = try await register(database.firestore)
    try await consumer.acknowledge(try await position(after: 2, in: consumer.changes()))
    await database.restart()
    #expect(try await database.firestore.changeConsumers() == ["a"])
    consumer = try await database.firestore.registerConsumer("a")
    try await database.firestore.document("a/4").setData(["n": 4])
    var iterator = consumer.changes().makeAsyncIterator()
    #expect(try await next(3, &iterator) == Self.all[2...] + ["set a/4 4 |"])
    await database.close()
  }

  @Test func positionsSurviveRestarts() async throws {
    let database = try TestDatabase()
    let consumer = try await register(database.firestore)
    let text = try await position(after: 1, in: consumer.changes()).description
    await database.restart()
    let position = try #require(ChangePosition(text))
    var iterator = database.firestore.changes(after: position).makeAsyncIterator()
    #expect(try await next(3, &iterator) == Array(Self.all[1...]))
    await database.close()
  }

  @Test func wholeCommitsAreAcknowledgedAndPositionsOnlyAdvance() async throws {
    let firestore = Firestore.memory()
    let consumer = try await register(firestore)
    let first = try await position(after: 1, in: consumer.changes())
    let third = try await position(after: 3, in: consumer.changes())
    try await consumer.acknowledge(first)
    var iterator = consumer.changes().makeAsyncIterator()
    #expect(try await next(4, &iterator) == Self.all, "the commit is reported again")
    try await consumer.acknowledge(third)
    try await consumer.acknowledge(first)
    #expect(try await consumer.position() == third)
    try await firestore.terminate()
  }

  @Test func aRemovedConsumerIsUnknown() async throws {
    let firestore = Firestore.memory()
    let consumer = try await register(firestore)
    _ = try await firestore.registerConsumer("b")
    #expect(try await firestore.changeConsumers() == ["a", "b"])
    let position = try await position(after: 2, in: consumer.changes())
    try await consumer.unregister()
    try await consumer.unregister()
    #expect(try await firestore.changeConsumers() == ["b"])
    #expect(await code { try await consumer.acknowledge(position) } == .notFound)
    #expect(await code { for try await _ in consumer.changes() {} } == .notFound)
    #expect(await code { _ = try await consumer.position() } == .notFound)
    let name = String(repeating: "x", count: 1001)
    #expect(await code { _ = try await firestore.registerConsumer(name) } == .invalidArgument)
    try await firestore.terminate()
  }

  // MARK: Snapshots

  @Test func aSnapshotAndTheChangesAfterItAreTheDatabase() async throws {
    let (firestore, other) = (Firestore.memory(), Firestore.memory())
    for n in 1...3 { try await firestore.document("a/\(n)").setData(["n": n]) }
    let snapshot = try await firestore.databaseSnapshot()
    try await firestore.document("a/1").setData(["n": 10])
    try await firestore.document("a/2").delete()
    let query = firestore.collection("a")
    var copy: [String: Int] = [:]
    for document in try await snapshot.documents(of: query) {
      copy[document.reference.path] = document.get("n") as? Int
    }
    #expect(copy == ["a/1": 1, "a/2": 2, "a/3": 3])
    var iterator = firestore.changes(after: snapshot.position).makeAsyncIterator()
    #expect(try await next(2, &iterator) == ["set a/1 10 |", "delete a/2 |"])
    let foreign = other.collection("a")
    #expect(await code { _ = try await snapshot.documents(of: foreign) } == .invalidArgument)
    snapshot.close()
    #expect(await code { _ = try await snapshot.documents(of: query) } != nil)
    try await firestore.terminate()
    try await other.terminate()
  }

  // MARK: With a remote

  @Test func theFeedOfACacheReportsPendingWritesAndAnswers() async throws {
    let firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = try LoopbackRemote(authority: try DocumentStore.openInMemory())
    settings.acknowledgement = .local
    firestore.settings = settings
    try await firestore.disableNetwork()
    var iterator = firestore.changes().makeAsyncIterator()
    try await firestore.document("a/b").setData(["n": 1])
    let pending = try #require(try await iterator.next())
    #expect(pending.snapshot.metadata.hasPendingWrites && pending.snapshot.metadata.isFromCache)
    try await firestore.enableNetwork()
    try await firestore.waitForPendingWrites()
    var answer = pending
    while answer.snapshot.metadata.hasPendingWrites { answer = try #require(try await iterator.next()) }
    #expect(answer.document.path == "a/b" && answer.version > pending.version)
    #expect(answer.snapshot.get("n") as? Int == 1)
    try await firestore.terminate()
  }
}
