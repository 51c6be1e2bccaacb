// Calls to the loopback remote outside the streams. The rules apply to these calls, and their requests and
// answers may be lost.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@testable import FirebaseFirestore

@Suite struct LoopbackCallTests {
  private typealias Answers<Value> = Locked<[Result<Value, RemoteError>]>

  private let world: LoopbackWorld
  private let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))
  private static let away = RemoteError(.unavailable, "The authority cannot be reached.")

  init() throws { world = try LoopbackWorld() }

  private func room(_ name: String) -> DocumentPath { DocumentPath(unchecked: ["rooms", name]) }

  private func isThere(_ name: String, in world: LoopbackWorld? = nil) throws -> Bool {
    try (world ?? self.world).authority.document(at: room(name)) != nil
  }

  // MARK: Requests

  private func look(
    at names: String..., as user: String? = nil
  ) -> Answers<[RemoteDocument]> {
    let answers = Answers<[RemoteDocument]>([])
    world.remote.documents(at: names.map(room), as: user) { answer in
      answers.withLock { $0.append(answer) }
    }
    return answers
  }

  private func count(_ query: StructuredQuery, as user: String? = nil) -> Answers<[StoredValue]> {
    let answers = Answers<[StoredValue]>([])
    world.remote.aggregate([.count], over: query, as: user) { answer in
      answers.withLock { $0.append(answer) }
    }
    return answers
  }

  private func write(_ name: String, in world: LoopbackWorld? = nil) -> Answers<SnapshotVersion> {
    let answers = Answers<SnapshotVersion>([])
    (world ?? self.world).remote.commit([.set(room(name), StoredMap())], as: nil) { answer in
      answers.withLock { $0.append(answer) }
    }
    return answers
  }

  /// Returns the only answer; nil if there is none yet.
  private func only<Value>(_ answers: Answers<Value>) -> Result<Value, RemoteError>? {
    let all = answers.withLock { $0 }
    if all.count > 1 { Issue.record("a question was answered \(all.count) times") }
    return all.first
  }

  private func error<Value>(_ answers: Answers<Value>) -> RemoteError? {
    if case .failure(let error)? = only(answers) { error } else { nil }
  }

  private func value<Value>(_ answers: Answers<Value>) -> Value? {
    if case .success(let value)? = only(answers) { value } else { nil }
  }

  private func setFaults(in world: LoopbackWorld? = nil, _ change: (inout LoopbackFaults) -> Void) {
    var faults = LoopbackFaults()
    change(&faults)
    (world ?? self.world).remote.setFaults(faults)
  }

  private func pass(microseconds: Int64) { world.scheduler.play(for: microseconds) }

  // MARK: Rules

  @Test func aForbiddenDocumentCannotBeLookedUp() throws {
    for name in ["open", "secret"] { try world.authority.commit([.set(room(name), StoredMap())]) }
    let refusal = RemoteError(.permissionDenied, "by rule")
    let secret = StructuredQuery(.document(room("secret")))
    var rules = LoopbackRules()
    rules.mayRead = { user, query in user != "ann" && query == secret ? refusal : nil }
    world.remote.setRules(rules)
    let (open, both) = (look(at: "open", as: "bob"), look(at: "open", "secret", as: "bob"))
    let (nobody, ann) = (look(at: "secret"), look(at: "open", "secret", as: "ann"))
    world.pass(seconds: 1)
    #expect(value(open)?.map(\.path) == [room("open")])
    #expect(error(both) == refusal && error(nobody) == refusal)
    #expect(value(ann)?.map(\.path) == [room("open"), room("secret")])
  }

  @Test func aForbiddenQueryCannotBeCounted() throws {
    for name in ["a", "b"] { try world.authority.commit([.set(room(name), StoredMap())]) }
    let refusal = RemoteError(.permissionDenied, "by rule")
    let all = rooms
    var rules = LoopbackRules()
    rules.mayRead = { user, query in user != "ann" && query == all ? refusal : nil }
    world.remote.setRules(rules)
    let some = try rooms.limited(to: .first(1))
    let (bob, nobody, ann) = (count(rooms, as: "bob"), count(rooms), count(rooms, as: "ann"))
    let other = count(some, as: "bob")
    world.pass(seconds: 1)
    #expect(error(bob) == refusal && error(nobody) == refusal)
    #expect(value(ann) == [.integer(2)])
    #expect(value(other) == [.integer(1)])
  }

  // MARK: Time

  @Test func requestsAndAnswersHaveLatency() throws {
    setFaults { $0.latency = 1000...1000 }
    let (looked, counted, written) = (look(at: "a"), count(rooms), write("b"))
    pass(microseconds: 999)
    #expect(try !isThere("b"), "the question is on its way")
    pass(microseconds: 1)
    #expect(try isThere("b"))
    pass(microseconds: 999)
    #expect(only(looked) == nil && only(counted) == nil && only(written) == nil)
    pass(microseconds: 1)
    #expect(value(looked)?.map(\.fields) == [nil])
    #expect(value(counted) == [.integer(0)])
    let time = try #require(try world.authority.document(at: room("b"))).updateTime
    #expect(value(written) == SnapshotVersion(time))
  }

  // MARK: Loss

  @Test func aLostRequestFailsAsUnavailableWithoutEffect() throws {
    setFaults { $0.lossOneIn = 1 }
    let (looked, counted, written) = (look(at: "a"), count(rooms), write("b"))
    world.pass(seconds: 1)
    #expect(error(looked) == Self.away && error(counted) == Self.away && error(written) == Self.away)
    #expect(try !isThere("b"))
    world.remote.setFaults(LoopbackFaults())
    let (found, again) = (look(at: "a"), write("b"))
    world.pass(seconds: 1)
    #expect(value(found)?.count == 1 && value(again) != nil)
  }

  /// Makes a series of commits and returns their outcomes: done, lost, or unknown.
  private func story(seed: UInt64) throws -> [String] {
    let world = try LoopbackWorld(seed: seed)
    setFaults(in: world) { faults in
      faults.lossOneIn = 3
      faults.latency = 0...5000
    }
    var wrong: [String] = []
    let outcomes: [String] = try (0..<60).map { number in
      let answer = write("\(number)", in: world)
      world.pass(seconds: 1)
      let isThere = try isThere("\(number)", in: world)
      switch try #require(only(answer)) {
      case .success:
        if !isThere { wrong.append("\(number): done, but lost") }
        return "done"
      case .failure(.unanswered):
        // Its answer was lost.
        if !isThere { wrong.append("\(number): unanswered and lost") }
        return "unanswered"
      case .failure(let error):
        // The commit itself was lost.
        if error != Self.away || isThere { wrong.append("\(number): \(error), present: \(isThere)") }
        return "lost"
      }
    }
    #expect(wrong == [])
    return outcomes
  }

  @Test func aCommitWithALostAnswerIsAppliedAndUnanswered() throws {
    let seeds: [UInt64] = [1, 2, 3]
    let outcomes = try seeds.map { try story(seed: $0) }
    let all: Set = ["done", "lost", "unanswered"]
    #expect(outcomes.map { Set($0) } == [all, all, all])
    #expect(try seeds.map { try story(seed: $0) } == outcomes, "a seed decides all of it")
    #expect(try story(seed: 1) != story(seed: 2))
  }

  @Test func aReadWithALostAnswerFailsAsUnavailable() throws {
    setFaults { $0.lossOneIn = 3 }
    var (looked, counted) = ([Bool](), [Bool]())
    var wrong: [RemoteError] = []
    for _ in 0..<40 {
      let (documents, number) = (look(at: "a"), count(rooms))
      world.pass(seconds: 1)
      wrong += [error(documents), error(number)].compactMap { $0 }.filter { $0 != Self.away }
      looked.append(value(documents) != nil)
      counted.append(value(number) != nil)
    }
    #expect(wrong == [])
    #expect(Set(looked).count == 2 && Set(counted).count == 2)
  }

  /// The authority's disk fails at one call. If the authority does not know whether a commit took effect, the
  /// client does not know, either.
  @Test func aCommitWithUnknownOutcomeIsUnanswered() throws {
    func open(_ disk: SimulatedDisk) throws -> DocumentStore {
      var options = DocumentStore.Options()
      options.maintenance = .manual
      return try DocumentStore.open("/authority", options: options, platform: disk.platform(seed: 1))
    }
    var unanswered = 0
    var wrong: [String] = []
    for call in 0..<6 {
      let disk = SimulatedDisk()
      let world = try LoopbackWorld(authority: try open(disk))
      disk.setFault(FaultPlan(.inputOutput, at: disk.counters.operations + call))
      let answer = write("a", in: world)
      world.pass(seconds: 1)
      let later = try open(SimulatedDisk(disk.image(after: .kill)))
      let isThere = try later.document(at: room("a")) != nil
      switch try #require(only(answer)) {
      case .success: if !isThere { wrong.append("call \(call): lost") }
      case .failure(.unanswered): unanswered += 1
      case .failure(let error): if isThere { wrong.append("call \(call): \(error)") }
      }
    }
    #expect(wrong == [])
    #expect(unanswered > 0)
  }

  // MARK: Disconnection

  @Test func aBrokenConnectionFailsPendingCalls() throws {
    setFaults { $0.latency = 1000...1000 }
    func breakConnection(after microseconds: Int64) {
      pass(microseconds: microseconds)
      world.remote.setReachable(false)
      world.remote.setReachable(true)
      world.pass(seconds: 1)
    }
    let (looked, written) = (look(at: "a"), write("a"))
    breakConnection(after: 500)
    #expect(error(looked) == Self.away && error(written) == Self.away)
    #expect(try !isThere("a"), "it has not arrived")

    let (lookedLater, counted, writtenLater) = (look(at: "a"), count(rooms), write("b"))
    breakConnection(after: 1500)
    #expect(error(lookedLater) == Self.away && error(counted) == Self.away)
    #expect(error(writtenLater) == .unanswered)
    #expect(try isThere("b"), "the answer was under way")

    let done = write("c")
    world.pass(seconds: 1)
    #expect(value(done) != nil, "the connection is there again")
  }

  @Test func rulesAreNotEvaluatedWhileTheAuthorityIsUnreachable() throws {
    world.remote.setReachable(false)
    let (looked, counted, written) = (look(at: "a"), count(rooms), write("a"))
    world.pass(seconds: 1)
    #expect(error(looked) == Self.away && error(counted) == Self.away && error(written) == Self.away)
    world.remote.setReachable(true)
    world.pass(seconds: 1)
    #expect(try !isThere("a"))
  }

  // MARK: Streams and transactions

  /// Returns the events of a stream with their times. Neither the events nor the times may depend on other
  /// calls.
  private func streamStory(questions: Int) throws -> [String] {
    let world = try LoopbackWorld(seed: 7)
    setFaults(in: world) { faults in
      faults.latency = 0...50_000
      faults.duplicationOneIn = 3
      faults.reorders = true
    }
    for _ in 0..<questions { world.remote.documents(at: [room("a")], as: nil) { _ in } }
    let begin = world.scheduler.now()
    let watcher = Watcher(world)
    watcher.watch(rooms)
    var messages = watcher.timed()
    for number in Int64(0)..<10 {
      try world.authority.commit((0..<3).map { .set(room("\($0)"), StoredMap([("n", .integer(number))])) })
      world.remote.refresh()
      messages += watcher.timed()
    }
    return messages.map { "\($0.time - begin) \($0.text)" }
  }

  @Test func callsDoNotAffectInjectedStreamFaults() throws {
    let story = try streamStory(questions: 0)
    #expect(story.count > 40)
    #expect(try streamStory(questions: 5) == story)
  }

  @Test func aCommitIsDeliveredToWatchers() throws {
    let watcher = Watcher(world)
    watcher.watch(rooms)
    _ = watcher.messages()
    let written = write("a")
    #expect(watcher.messages() == ["rooms/a=none in 2", "snapshot"])
    #expect(value(written) != nil)
  }

  /// A transaction must not retry a commit that may have happened, and must retry a commit that has not
  /// happened.
  @Test func transactionsDistinguishALostAnswerFromALostRequest() throws {
    let authority = try DocumentStore.openInMemory()
    let remote = try LoopbackRemote(authority: authority)
    var faults = LoopbackFaults()
    faults.latency = 1000...1000
    remote.setFaults(faults)
    func transaction() throws -> RemoteTransaction {
      let transaction = RemoteTransaction(remote, as: nil, limit: RemoteTimeLimit(seconds: 600, each: 600))
      _ = try transaction.document(at: room("a"))
      try transaction.write(.set(room("a"), StoredMap()))
      return transaction
    }
    let lost = try transaction()
    faults.lossOneIn = 1
    remote.setFaults(faults)
    let failure = #expect(throws: OfflineSyncError.self) { try lost.commitWrites() }
    #expect(failure == .remote(Self.away) && Self.away.code.isRetryableTransaction)
    #expect(try authority.document(at: room("a")) == nil)

    faults.lossOneIn = nil
    remote.setFaults(faults)
    let unanswered = try transaction()
    var rules = LoopbackRules()
    // The connection breaks after the commit but before the answer to the commit.
    rules.mayWrite = { [weak remote] _, _ in
      remote?.setReachable(false)
      return nil
    }
    remote.setRules(rules)
    #expect(throws: UnansweredCommit.self) { try unanswered.commitWrites() }
    #expect(try authority.document(at: room("a")) != nil)
  }
}
