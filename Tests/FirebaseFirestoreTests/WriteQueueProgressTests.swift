// The write queue as users see it: pending writes, progress and cancellation.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@Suite(.timeLimit(.minutes(2))) struct WriteQueueProgressTests {
  private let authority: DocumentStore
  private let remote: LoopbackRemote
  private let firestore = Firestore.memory()

  init() throws {
    authority = try DocumentStore.openInMemory()
    remote = try LoopbackRemote(authority: authority)
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = remote
    settings.acknowledgement = .local
    firestore.settings = settings
  }

  /// Formats the counts as one line: pending, accepted, rejected, cancelled.
  private static func text(_ progress: WriteQueueProgress?) -> String {
    guard let progress else { return "none" }
    return [
      progress.pendingCount, progress.acceptedCount, progress.rejectedCount, progress.cancelledCount,
    ].map { "\($0)" }.joined(separator: " ")
  }

  @Test func everyQueueStepIsReportedInOrder() async throws {
    var rules = LoopbackRules()
    rules.mayWrite = { _, mutations in
      mutations.contains { $0.path.id == "secret" } ? RemoteError(.permissionDenied, "no") : nil
    }
    remote.setRules(rules)
    try await firestore.disableNetwork()
    let events = Events<WriteQueueProgress>()
    let registration = firestore.addWriteQueueListener(events.add)
    var first = await events.next
    #expect(Self.text(first) == "0 0 0 0" && first?.fractionCompleted == 1 && first?.oldest == nil)
    let before = Date()
    var wrong: [String] = []
    for (count, id) in ["a", "b", "secret", "c"].enumerated() {
      try await firestore.document("rooms/\(id)").setData(["n": count])
      first = await events.next
      if Self.text(first) != "\(count + 1) 0 0 0" || first?.sentCount != 0 {
        wrong.append("\(id): \(String(describing: first))")
      }
    }
    #expect(wrong == [])
    #expect(first?.fractionCompleted == 0)
    let oldest = try #require(first?.oldest)
    #expect(abs(oldest.timeIntervalSince(before)) < 60)
    let pending = try await firestore.pendingWrites()
    #expect(pending.map(\.paths) == [["rooms/a"], ["rooms/b"], ["rooms/secret"], ["rooms/c"]])
    #expect(pending.allSatisfy { !$0.isSent })
    try await firestore.cancelPendingWrite(pending[1].id)
    let cancelled = await events.next
    #expect(Self.text(cancelled) == "3 0 0 1" && cancelled?.fractionCompleted == 0.25)

    try await firestore.enableNetwork()
    var received: [WriteQueueProgress] = []
    while received.last?.pendingCount != 0 {
      if let progress = await events.next { received.append(progress) }
    }
    #expect(received.contains { $0.sentCount == $0.pendingCount && $0.sentCount > 0 })
    let fractions = received.map(\.fractionCompleted)
    #expect(fractions == fractions.sorted() && fractions.last == 1)
    #expect(Self.text(received.last) == "0 2 1 1")
    #expect(Set(received.map(Self.text)).isSuperset(of: ["3 0 0 1", "2 1 0 1", "1 1 1 1", "0 2 1 1"]))
    // A listener that is added later starts with new counts.
    let late = Events<WriteQueueProgress>()
    firestore.addWriteQueueListener(late.add)
    #expect(Self.text(await late.next) == "0 0 0 0")
    registration.remove()
    try await firestore.document("rooms/d").setData(["n": 1])
    #expect(Self.text(await late.next) == "1 0 0 0")
    try await firestore.waitForPendingWrites()
    try await firestore.terminate()
  }

  @Test func sentWritesAreMarked() async throws {
    var faults = LoopbackFaults()
    _ = try await firestore.collection("rooms").getDocuments(source: .server)
    try await firestore.document("rooms/open").setData(["n": 1])
    try await firestore.waitForPendingWrites()
    faults.latency = 3_600_000_000...3_600_000_000
    remote.setFaults(faults)
    for number in 0..<12 { try await firestore.document("rooms/\(number)").setData(["n": number]) }
    // At most ten writes are in flight at a time.
    #expect(try await firestore.pendingWrites().map(\.isSent) == (0..<12).map { $0 < 10 })
    try await firestore.terminate()
  }

  @Test func anUndeliverableWriteCanBeCancelledAndLaterWritesProceed() async throws {
    let path = try DocumentPath(["rooms", "stuck"])
    try authority.commit([.set(path, StoredMap([("n", .integer(1))]))])
    let (refusals, refused) = AsyncStream.makeStream(of: Void.self)
    var rules = LoopbackRules()
    rules.mayWrite = { _, mutations in
      guard mutations.contains(where: { $0.path == path }) else { return nil }
      refused.yield()
      return RemoteError(.unavailable, "not now")
    }
    remote.setRules(rules)
    let stuck = firestore.document("rooms/stuck")
    var snapshots = stuck.snapshots.makeAsyncIterator()
    #expect(try await snapshots.next()?["n"] as? Int == 1)
    try await stuck.updateData(["n": 2])
    #expect(try await snapshots.next()?["n"] as? Int == 2)
    for id in ["a", "b"] { try await firestore.document("rooms/\(id)").setData(["n": 1]) }
    var attempts = refusals.makeAsyncIterator()
    for _ in 0..<2 { await attempts.next() }
    let pending = try await firestore.pendingWrites()
    #expect(pending.map(\.paths) == [["rooms/stuck"], ["rooms/a"], ["rooms/b"]])
    #expect(try authority.document(at: DocumentPath(["rooms", "a"])) == nil)

    try await firestore.cancelPendingWrite(try #require(pending.first).id)
    #expect(try stuck.read()["n"] as? Int == 1)
    #expect(try await snapshots.next()?["n"] as? Int == 1)
    try await firestore.waitForPendingWrites()
    #expect(try await firestore.pendingWrites().isEmpty)
    let missing = try ["a", "b"].filter { try authority.document(at: DocumentPath(["rooms", $0])) == nil }
    #expect(missing == [])
    #expect(try authority.document(at: path)?.fields["n"] == .integer(1))
    try await firestore.terminate()
  }

  @Test func progressIsReportedPerUser() async throws {
    try await firestore.disableNetwork()
    try await firestore.changeUser("ann")
    let events = Events<WriteQueueProgress>()
    firestore.addWriteQueueListener(events.add)
    #expect(Self.text(await events.next) == "0 0 0 0")
    try await firestore.document("rooms/a").setData(["n": 1])
    #expect(Self.text(await events.next) == "1 0 0 0")
    try await firestore.changeUser("bob")
    #expect(Self.text(await events.next) == "0 0 0 0")
    try await firestore.changeUser("ann")
    #expect(Self.text(await events.next) == "1 0 0 0")
    try await firestore.cancelPendingWrite(try #require(try await firestore.pendingWrites().first).id)
    #expect(Self.text(await events.next) == "0 0 0 1")
    try await firestore.terminate()
  }

  @Test func aLoopSeesTheQueueDrainAndEndsAtTermination() async throws {
    try await firestore.disableNetwork()
    for number in 0..<30 { try await firestore.document("rooms/\(number)").setData(["n": number]) }
    var last: WriteQueueProgress?
    for try await progress in firestore.writeQueueProgress {
      if last == nil { try await firestore.enableNetwork() }
      last = progress
      if progress.pendingCount == 0 { break }
    }
    #expect(Self.text(last) == "0 30 0 0")
    var receivedCount = 0
    for try await _ in firestore.writeQueueProgress {
      receivedCount += 1
      try await firestore.terminate()
    }
    #expect(receivedCount == 1)
  }

  @Test func withoutARemoteNoWriteIsQueued() async throws {
    let firestore = Firestore.memory()
    firestore.document("rooms/a").setData(["n": 1], completion: nil)
    var progress = firestore.writeQueueProgress.makeAsyncIterator()
    #expect(Self.text(try await progress.next()) == "0 0 0 0")
    #expect(try await firestore.pendingWrites().isEmpty)
    try await firestore.terminate()
    #expect(try await progress.next() == nil)
  }

  @Test func anUnusableDatabaseReportsTheCause() async throws {
    let database = try TestDatabase()
    let holder = try DocumentStore.open(database.firestore.storeDirectory)
    let events = Events<WriteQueueProgress>()
    database.firestore.addWriteQueueListener(events.add)
    #expect((await events.nextError as NSError?)?.code == 14)
    do {
      for try await _ in database.firestore.writeQueueProgress { Issue.record("it was opened") }
      Issue.record("the loop ended without the error")
    } catch FirestoreErrorCode.unavailable {}
    try holder.close()
    await database.close()
  }
}
