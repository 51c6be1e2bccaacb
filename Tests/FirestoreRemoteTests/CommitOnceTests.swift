// Commits of transactions: once at a server of Dugout, with an unknown outcome at any other one.

import DocumentStore
import FirestoreWire
import Harness
import OfflineSync
import Testing

@testable import FirestoreRemote

@Suite struct CommitOnceTests {
  private typealias Commit = Result<SnapshotVersion, RemoteError>
  private static let time = #""2026-01-01T00:00:02Z""#
  private static let version = SnapshotVersion(microseconds: 1_767_225_602_000_000)

  private let peer = ScriptedRemote()

  private func commit() -> Events<Commit> {
    let answers = Events<Commit>()
    let set = Mutation.set(.init("rooms/a"), StoredMap([(name: "n", value: .integer(1))]))
    peer.remote.commit([set], as: "ann") { answers.add($0) }
    peer.play()
    return answers
  }

  private var channel: ScriptedChannel { peer.channels.all[peer.channels.all.count - 1] }

  /// Answers the handshake of the last stream as a server of Dugout.
  private func register() throws {
    let request = try channel.message(0, Wire.WriteRequest.self)
    let runs = try #require(
      try WriteLabels.message(Wire.RunRegistrations.self, in: request.labels, at: WriteLabels.runs))
    var response = Wire.IdentifiedWriteResponse()
    response.streamToken = [1]
    response.registrations = Wire.RunRegistrations(
      runs.registrations.map { RunRegistration(queue: $0.queue, run: $0.run, token: [7]) })
    try channel.deliver(response)
    peer.play()
  }

  private func identity() throws -> Wire.WriteIdentity {
    let request = try channel.message(1, Wire.WriteRequest.self)
    return try #require(
      try WriteLabels.message(Wire.WriteIdentity.self, in: request.labels, at: WriteLabels.write))
  }

  private func succeed() {
    channel.deliver(#"{"streamToken": "Ag==", "writeResults": [{}], "commitTime": \#(Self.time)}"#)
    peer.play()
  }

  private func end(_ code: RemoteError.Code) {
    channel.end(RemoteError(code, "no"))
    peer.play()
  }

  @Test func aCommitIsABatchWithAnIdentity() throws {
    let answers = commit()
    try register()
    #expect(try identity().registration == [7])
    #expect(try identity().batch == 1)
    succeed()
    #expect(try #require(answers.last).get() == Self.version)
    #expect(channel.isClosed)
    #expect(peer.transport.all.isEmpty)
  }

  @Test func aCommitWhoseAnswerWasLostIsSentAgainAsItself() throws {
    let answers = commit()
    try register()
    let first = try identity()
    end(.unavailable)
    #expect(answers.all.isEmpty)
    peer.scheduler.play(for: 2_000_000)
    #expect(peer.channels.all.count == 2)
    try register()
    #expect(try identity() == first)
    succeed()
    #expect(try #require(answers.last).get() == Self.version)
  }

  @Test func laterCommitsDropTheOutcomesOfEarlierOnes() throws {
    _ = commit()
    try register()
    succeed()
    _ = commit()
    try register()
    #expect(try identity().batch == 2)
    #expect(try identity().firstOpen == 2)
  }

  @Test(arguments: [
    RemoteError.Code.aborted, .failedPrecondition, .permissionDenied, .notFound, .alreadyExists,
    .invalidArgument,
  ])
  func aRefusalIsPassedOn(code: RemoteError.Code) throws {
    let answers = commit()
    try register()
    end(code)
    #expect(answers.lastError == RemoteError(code, "no"))
  }

  @Test func anUnknownOutcomeIsNoRefusal() throws {
    let answers = commit()
    try register()
    channel.end(.outcomeUnknown)
    peer.play()
    #expect(answers.lastError == .unanswered)
  }

  /// The server may have refused the connection before it looked for the batch.
  @Test func aRefusalOfTheSecondConnectionSaysNothingAboutTheFirst() throws {
    let answers = commit()
    try register()
    end(.unavailable)
    peer.scheduler.play(for: 2_000_000)
    try register()
    end(.permissionDenied)
    #expect(answers.lastError == .unanswered)
  }

  /// The second server refuses the connection, and the first one has perhaps applied the batch.
  @Test(arguments: [
    RemoteError.Code.invalidArgument, .notFound, .alreadyExists, .failedPrecondition, .permissionDenied,
    .unimplemented,
  ])
  func aRefusalBeforeTheBatchIsSentAgainSaysNothingAboutIt(code: RemoteError.Code) throws {
    let answers = commit()
    try register()
    end(.unavailable)
    peer.scheduler.play(for: 2_000_000)
    end(code)
    #expect(answers.lastError == .unanswered)
  }

  @Test(arguments: [RemoteError.Code.resourceExhausted, .unauthenticated], [true, false])
  func codesOfConnectionsAreNoRefusals(code: RemoteError.Code, isSentAgain: Bool) throws {
    let answers = commit()
    try register()
    let first = try identity()
    if isSentAgain {
      end(code)
    } else {
      end(.unavailable)
      peer.scheduler.play(for: 2_000_000)
      end(code)
    }
    #expect(answers.all.isEmpty)
    peer.scheduler.play(for: 4_000_000)
    try register()
    #expect(try identity() == first)
    succeed()
    #expect(try #require(answers.last).get() == Self.version)
  }

  @Test func codesOfConnectionsUntilTheTimeLimitLeaveTheOutcomeUnknown() throws {
    let answers = commit()
    try register()
    for _ in 0..<8 {
      end(.resourceExhausted)
      peer.scheduler.play(for: 4_000_000)
    }
    #expect(answers.lastError == .unanswered)
    #expect(answers.all.count == 1)
  }

  @Test func anotherTokenOfTheUserDoesNotFailACommit() throws {
    let answers = commit()
    peer.remote.tokenDidChange(of: "ann")
    peer.play()
    #expect(answers.all.isEmpty)
    #expect(peer.channels.all.count == 2)
    try register()
    succeed()
    #expect(try #require(answers.last).get() == Self.version)
  }

  @Test func streamsThatEndWithoutAnErrorEndACommitThatWasNotSent() {
    let answers = commit()
    for channel in 1...2 {
      #expect(peer.channels.all.count == channel)
      peer.channels.all.last?.end(nil)
      peer.play()
    }
    #expect(answers.lastError?.code == .unavailable)
  }

  @Test func aCommitThatWasNotSentIsUnavailable() {
    let answers = commit()
    end(.unavailable)
    #expect(answers.lastError == RemoteError(.unavailable, "no"))
  }

  @Test func theTimeLimitHoldsForAllConnections() throws {
    let answers = commit()
    try register()
    end(.unavailable)
    peer.scheduler.play(for: 20_000_000)
    #expect(answers.lastError == .unanswered)
    #expect(answers.all.count == 1)
    #expect(peer.channels.all.count(where: { !$0.isClosed }) == 0)
  }

  @Test func anotherServerGetsTheCommitByREST() throws {
    let answers = commit()
    channel.deliver(#"{"streamId": "1", "streamToken": "AQ=="}"#)
    peer.play()
    #expect(channel.isClosed)
    #expect(peer.transport.all.count == 1)
    peer.transport.all[0].answer(#"{"writeResults": [{}], "commitTime": \#(Self.time)}"#)
    peer.play()
    #expect(try #require(answers.last).get() == Self.version)
    // The next commit knows the server.
    _ = commit()
    #expect(peer.channels.all.count == 1)
    #expect(peer.transport.all.count == 2)
  }

  /// A server of another kind may have answered in its place for a while.
  @Test func aServerThatRegistersNothingIsAskedAgainAfterTenMinutes() throws {
    _ = commit()
    channel.deliver(#"{"streamId": "1", "streamToken": "AQ=="}"#)
    peer.play()
    peer.scheduler.play(for: 599_000_000)
    _ = commit()
    #expect(peer.channels.all.count == 1)
    peer.scheduler.play(for: 2_000_000)
    let answers = commit()
    #expect(peer.channels.all.count == 2)
    try register()
    succeed()
    #expect(try #require(answers.last).get() == Self.version)
    peer.scheduler.play(for: 700_000_000)
    _ = commit()
    #expect(peer.channels.all.count == 3)
    try register()
    #expect(peer.transport.all.count == 2)
  }

  @Test func anotherServerInPlaceOfTheFirstDoesNotGetTheCommitAgain() throws {
    let answers = commit()
    try register()
    end(.unavailable)
    peer.scheduler.play(for: 2_000_000)
    channel.deliver(#"{"streamId": "1", "streamToken": "AQ=="}"#)
    peer.play()
    #expect(answers.lastError == .unanswered)
    #expect(peer.transport.all.isEmpty)
  }

  // MARK: Several commits

  @Test func fourCommitsRunAtATimeAndTheOthersInTheirOrder() throws {
    let answers = (0..<7).map { _ in commit() }
    #expect(peer.channels.all.count == 4)
    guard peer.channels.all.count == 4 else { return }
    for number in 5...7 {
      peer.channels.all[number - 5].end(RemoteError(.unavailable, "no"))
      peer.play()
      #expect(peer.channels.all.count == number)
      try register()
      #expect(try identity().batch == Int64(number))
    }
    #expect(answers.map(\.all.count) == [1, 1, 1, 0, 0, 0, 0])
  }

  @Test func theTimeLimitOfACommitThatWaitsCountsFromTheCall() {
    _ = (0..<4).map { _ in commit() }
    peer.scheduler.play(for: 10_000_000)
    let answers = commit()
    peer.scheduler.play(for: 5_100_000)
    // The first four have ended.
    #expect(peer.channels.all.count == 5)
    #expect(answers.all.isEmpty)
    peer.scheduler.play(for: 9_950_000)
    #expect(answers.lastError?.code == .unavailable)
    #expect(peer.channels.all.count(where: { !$0.isClosed }) == 0)
  }

  @Test func aCommitWhoseTimeEndsBeforeItBeginsIsNotSent() {
    let answers = (0..<6).map { _ in commit() }
    peer.scheduler.play(for: 16_000_000)
    #expect(answers.map { $0.lastError?.code } == Array(repeating: .unavailable, count: 6))
    #expect(peer.channels.all.count(where: { !$0.isClosed }) == 0)
    _ = commit()
    #expect(peer.channels.all.count(where: { !$0.isClosed }) == 1)
  }

  @Test func commitsThatWaitedUseRESTAtAnotherServer() {
    let answers = (0..<6).map { _ in commit() }
    channel.deliver(#"{"streamId": "1", "streamToken": "AQ=="}"#)
    peer.play()
    // The one that found it out, and the two that waited.
    #expect(peer.transport.all.count == 3)
    #expect(peer.channels.all.count == 4)
    #expect(answers.map(\.all.count) == Array(repeating: 0, count: 6))
  }

  @Test func aCommitIsForgottenWithItsAnswer() throws {
    let scheduler = peer.scheduler
    func cache() -> TokenCache { TokenCache(scheduler, nil, timeLimit: 15_000_000) }
    let context = RemoteContext(
      RequestHead(database: ScriptedRemote.database, apiKey: nil, appID: nil),
      RemoteCredentials(users: cache(), app: cache()), transport: peer.transport, channels: peer.channels,
      scheduler: scheduler)
    weak var once: CommitOnce?
    do {
      let set = Mutation.set(.init("rooms/a"), StoredMap([(name: "n", value: .integer(1))]))
      let commit = CommitOnce(context, CommitRuns(scheduler), committing: [set], as: "ann") { _ in }
      commit.start()
      once = commit
    }
    peer.play()
    #expect(once != nil)
    try register()
    succeed()
    #expect(once == nil)
  }
}
