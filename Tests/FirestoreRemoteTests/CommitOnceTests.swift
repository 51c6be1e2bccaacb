// Commits of transactions: once at a server of Dugout, with an unknown outcome at any other one.

import DocumentStore
import FirestoreWire
import HTTPClient
import Harness
import OfflineSync
import Testing

@testable import FirestoreRemote

@Suite struct CommitOnceTests {
  private typealias Commit = Result<SnapshotVersion, RemoteError>
  private static let time = #""2026-01-01T00:00:02Z""#
  private static let version = SnapshotVersion(microseconds: 1_767_225_602_000_000)

  private let peer = ScriptedRemote()

  private func commit(as user: String? = "ann") -> Events<Commit> {
    let answers = Events<Commit>()
    let set = Mutation.set(.init("rooms/a"), StoredMap([(name: "n", value: .integer(1))]))
    peer.remote.commit([set], as: user) { answers.add($0) }
    peer.play()
    return answers
  }

  /// A commit whose run the server has registered, and the answers of the next commit.
  private func commitAgain() throws -> Events<Commit> {
    _ = commit()
    try register()
    try succeed()
    return commit()
  }

  // MARK: The server's side

  private var channel: ScriptedChannel { peer.channels.all[peer.channels.all.count - 1] }
  private var requestCount: Int { peer.transport.all.count }

  private func exchange(_ number: Int? = nil) throws -> ScriptedExchange {
    let all = peer.transport.all
    return try #require(all.indices.contains(number ?? all.count - 1) ? all[number ?? all.count - 1] : nil)
  }

  /// Answers the handshake of the last stream as a server of Dugout.
  private func register(_ token: [UInt8] = [7]) throws {
    var response = Wire.IdentifiedWriteResponse()
    response.streamToken = [1]
    response.registrations = Wire.RunRegistrations(
      try registrations().map { RunRegistration(queue: $0.queue, run: $0.run, token: token) })
    try channel.deliver(response)
    peer.play()
  }

  private func registrations() throws -> [RunRegistration] {
    let request = try channel.message(0, Wire.WriteRequest.self)
    let runs = try WriteLabels.message(Wire.RunRegistrations.self, in: request.labels, at: WriteLabels.runs)
    return try #require(runs).registrations
  }

  /// Answers the handshake of the last stream as another server.
  private func openWithoutRegistration() {
    channel.deliver(#"{"streamId": "1", "streamToken": "AQ=="}"#)
    peer.play()
  }

  /// The identity of a request, the last one by default.
  private func identity(_ number: Int? = nil) throws -> Wire.WriteIdentity {
    let text = try #require(try exchange(number).request.fields[WriteLabels.write])
    return try WriteLabels.identity(inMetadata: text)
  }

  private func writeCount(_ number: Int? = nil) throws -> Int {
    try Wire.CommitRequest(json: try exchange(number).request.body ?? []).writes.count
  }

  private func answer(_ fields: String, to number: Int? = nil) throws {
    try exchange(number).answer("{\(fields)}")
    peer.play()
  }

  private func succeed(_ number: Int? = nil) throws {
    try answer(
      #""writeResults": [{}], "commitTime": \#(Self.time), "dugoutIdentified": true"#, to: number)
  }

  /// Answers as a server that has not applied the batch, and never will.
  private func close() throws { try answer(#""dugoutIdentified": true, "dugoutClosed": true"#) }

  private func lose() throws {
    try exchange().fail(WebFailure("cut"))
    peer.play()
  }

  private func refuse(_ error: RemoteError, status: Int = 400) throws {
    let names: [RemoteError.Code: String] = [
      .aborted: "ABORTED", .failedPrecondition: "FAILED_PRECONDITION", .permissionDenied: "PERMISSION_DENIED",
      .notFound: "NOT_FOUND", .alreadyExists: "ALREADY_EXISTS", .invalidArgument: "INVALID_ARGUMENT",
      .resourceExhausted: "RESOURCE_EXHAUSTED", .unauthenticated: "UNAUTHENTICATED",
      .unimplemented: "UNIMPLEMENTED", .unavailable: "UNAVAILABLE", .dataLoss: "DATA_LOSS",
    ]
    let name = try #require(names[error.code])
    try exchange().answer(
      status: status,
      #"{"error": {"code": \#(status), "message": "\#(error.message)", "status": "\#(name)"}}"#)
    peer.play()
  }

  /// The error of a commit with an unknown outcome, with the message of its last attempt.
  private func unanswered(_ cause: String) -> RemoteError {
    RemoteError(.deadlineExceeded, "The remote has not answered. The last attempt failed: \(cause)")
  }

  private func wait(_ seconds: Int64 = 2) { peer.scheduler.play(for: seconds * 1_000_000) }

  // MARK: Requests

  @Test func aCommitIsOneRequestWithAnIdentity() throws {
    let answers = commit()
    #expect(requestCount == 0)
    try register()
    #expect(channel.isClosed && channel.count == 1)
    #expect(try identity().registration == [7])
    #expect(try identity().batch == 1 && identity().firstOpen == 1)
    #expect(try exchange().request.target.hasSuffix("/documents:commit"))
    #expect(try writeCount() == 1)
    try succeed()
    #expect(try #require(answers.last).get() == Self.version)
    #expect(requestCount == 1 && peer.channels.all.count == 1)
  }

  @Test func laterCommitsAreOneRequestEach() throws {
    for number in 1...3 {
      let answers = commit()
      if number == 1 { try register() }
      #expect(requestCount == number)
      #expect(try identity().batch == Int64(number))
      // The server may drop the outcomes of earlier batches.
      #expect(try identity().firstOpen == Int64(number))
      try succeed()
      #expect(try #require(answers.last).get() == Self.version)
    }
    #expect(peer.channels.all.count == 1)
  }

  @Test func eachUserHasARun() throws {
    _ = try commitAgain()
    try succeed()
    _ = commit(as: "bob")
    #expect(peer.channels.all.count == 2)
    try register([8])
    #expect(try identity().registration == [8] && identity().batch == 1)
    #expect(try identity().run != identity(0).run)
    try succeed()
    _ = commit()
    #expect(try identity().registration == [7] && identity().run == identity(0).run)
    #expect(peer.channels.all.count == 2)
  }

  @Test func aCommitWithoutWritesHasNoIdentity() throws {
    let answers = Events<Commit>()
    peer.remote.commit([], as: "ann") { answers.add($0) }
    peer.play()
    #expect(peer.channels.all.isEmpty)
    #expect(try exchange().request.fields[WriteLabels.write] == nil)
    try answer(#""commitTime": \#(Self.time)"#)
    #expect(try #require(answers.last).get() == Self.version)
  }

  // MARK: Lost answers

  /// The server has applied the batch.
  @Test func closingABatchReturnsItsOutcome() throws {
    let answers = try commitAgain()
    let first = try identity()
    try lose()
    #expect(answers.all.isEmpty && requestCount == 2)
    wait()
    #expect(requestCount == 3)
    #expect(try identity() == first)
    #expect(try writeCount() == 0, "a server that ignores identities has nothing to apply")
    try succeed()
    #expect(try #require(answers.last).get() == Self.version)
    #expect(peer.channels.all.count == 1)
  }

  /// The server has not applied the batch. Its request may still be on its way, and is refused.
  @Test func aLostRequestIsSentAgainAsAnotherBatch() throws {
    let answers = try commitAgain()
    try lose()
    wait()
    try close()
    #expect(answers.all.isEmpty && requestCount == 4)
    #expect(try identity().batch == identity(1).batch + 1)
    #expect(try identity().firstOpen == identity().batch)
    #expect(try exchange().request.body == exchange(1).request.body)
    try succeed()
    #expect(try #require(answers.last).get() == Self.version)
  }

  @Test func closingIsRepeatedUntilItIsAnswered() throws {
    let answers = try commitAgain()
    let first = try identity()
    for _ in 0..<3 {
      try lose()
      wait(4)
      #expect(try identity() == first && writeCount() == 0)
    }
    try succeed()
    #expect(try #require(answers.last).get() == Self.version)
    #expect(requestCount == 5)
  }

  @Test(arguments: [
    #"{"writeResults": [{}], "commitTime": "then", "dugoutIdentified": true}"#, #"{"writeResults": [{"#, "",
    "[]", #"{"error": {"code": 503, "message": "gone", "status": "UNAVAILABLE"}}"#,
  ])
  func anAnswerThatCannotBeReadIsALostOne(text: String) throws {
    let answers = try commitAgain()
    try exchange().answer(text)
    wait()
    #expect(answers.all.isEmpty)
    #expect(try writeCount() == 0)
    try succeed()
    #expect(try #require(answers.last).get() == Self.version)
  }

  @Test(arguments: [500, 502, 503, 504])
  func anErrorOfAProxyIsALostAnswer(status: Int) throws {
    let answers = try commitAgain()
    try exchange().answer(status: status, "<html>")
    wait()
    #expect(answers.all.isEmpty)
    #expect(try writeCount() == 0)
    try succeed()
    #expect(try #require(answers.last).get() == Self.version)
  }

  @Test func anEarlierCommitWithoutAnAnswerKeepsItsOutcome() throws {
    _ = try commitAgain()
    try lose()
    _ = commit()
    #expect(try identity().batch == 3 && identity().firstOpen == 2)
  }

  @Test func theTimeLimitHoldsForAllRequests() throws {
    let answers = try commitAgain()
    try lose()
    // The second request began later, so its own time limit has not passed.
    peer.scheduler.play(for: 15_100_000)
    #expect(answers.lastError == unanswered("cut"))
    #expect(answers.all.count == 1)
    #expect(try exchange().isCancelled && writeCount() == 0)
    let count = requestCount
    wait(60)
    #expect(requestCount == count)
  }

  @Test func aRequestWithoutAnAnswerEndsWithTheTimeLimit() throws {
    let answers = try commitAgain()
    wait(16)
    #expect(answers.lastError == .unanswered)
    #expect(try exchange().isCancelled)
    #expect(requestCount == 2)
  }

  // MARK: Refusals

  @Test(arguments: [
    RemoteError.Code.aborted, .failedPrecondition, .permissionDenied, .notFound, .alreadyExists,
    .invalidArgument, .unauthenticated, .unimplemented,
  ])
  func aRefusalIsPassedOn(code: RemoteError.Code) throws {
    let answers = try commitAgain()
    try refuse(RemoteError(code, "no"))
    #expect(answers.lastError == RemoteError(code, "no"))
    // The batch is answered.
    _ = commit()
    #expect(try identity().firstOpen == 3)
  }

  /// The batch is another one, whose only request was answered.
  @Test func aRefusalAfterALostRequestIsPassedOn() throws {
    let answers = try commitAgain()
    try lose()
    wait()
    try close()
    try refuse(RemoteError(.failedPrecondition, "no"))
    #expect(answers.lastError == RemoteError(.failedPrecondition, "no"))
  }

  /// The server may have refused the request before it looked for the batch, or forgotten the batch.
  @Test(arguments: [
    RemoteError(.invalidArgument, "no"), RemoteError(.notFound, "no"), RemoteError(.alreadyExists, "no"),
    RemoteError(.failedPrecondition, "no"), RemoteError(.permissionDenied, "no"),
    RemoteError(.unimplemented, "no"), RemoteError(.dataLoss, "no"), .outcomeUnknown,
  ])
  func aRefusalToCloseSaysNothingAboutTheBatch(error: RemoteError) throws {
    let answers = try commitAgain()
    try lose()
    wait()
    try refuse(error)
    #expect(answers.lastError == unanswered(error.message))
  }

  /// The request may have reached the server in spite of the page.
  @Test(arguments: [403, 404, 409])
  func thePageOfAProxyIsNoRefusal(status: Int) throws {
    let answers = try commitAgain()
    let first = try identity()
    try exchange().answer(status: status, "<html>")
    #expect(answers.all.isEmpty)
    wait()
    #expect(try identity() == first && writeCount() == 0)
    try succeed()
    #expect(try #require(answers.last).get() == Self.version)
  }

  /// The page of a proxy says nothing about the server behind it.
  @Test(arguments: [403, 404, 429, 401])
  func closingIsRepeatedAfterThePageOfAProxy(status: Int) throws {
    let answers = try commitAgain()
    try lose()
    wait()
    try exchange().answer(status: status, "<html>")
    wait(4)
    #expect(answers.all.isEmpty)
    try succeed()
    #expect(try #require(answers.last).get() == Self.version)
  }

  @Test(arguments: [RemoteError.Code.resourceExhausted, .unauthenticated], [true, false])
  func codesOfConnectionsSayNothingAboutALostAnswer(code: RemoteError.Code, isApplied: Bool) throws {
    let answers = try commitAgain()
    let first = try identity()
    try lose()
    wait()
    try refuse(RemoteError(code, "no"))
    #expect(answers.all.isEmpty)
    wait(4)
    #expect(try identity() == first && writeCount() == 0)
    if !isApplied { try close() }
    try succeed()
    #expect(try #require(answers.last).get() == Self.version)
  }

  @Test func aServerWithoutRoomGetsTheCommitAgain() throws {
    let answers = try commitAgain()
    let first = try identity()
    try refuse(RemoteError(.resourceExhausted, "no"), status: 429)
    #expect(answers.all.isEmpty)
    wait()
    #expect(try identity() == first && writeCount() == 1)
    try succeed()
    #expect(try #require(answers.last).get() == Self.version)
  }

  @Test func aServerWithoutRoomUntilTheTimeLimitHasNotAppliedTheCommit() throws {
    let answers = try commitAgain()
    var refusedCount = 1
    for _ in 0..<200 where answers.all.isEmpty {
      if refusedCount < requestCount {
        try refuse(RemoteError(.resourceExhausted, "no"), status: 429)
        refusedCount += 1
      }
      peer.scheduler.play(for: 100_000)
    }
    #expect(refusedCount > 4)
    #expect(answers.lastError?.message == unanswered("no").message)
    // The last request may have been on its way at that time.
    #expect(answers.lastError?.code == (refusedCount == requestCount ? .unavailable : .deadlineExceeded))
  }

  /// A proxy refuses the length of a request, which it does not pass on.
  @Test func aCommitThatIsTooLongForAProxyHasFailed() throws {
    let answers = try commitAgain()
    try exchange().answer(status: 413, "<html>Request Entity Too Large</html>")
    peer.play()
    let error = try #require(answers.lastError)
    #expect(error.code == .invalidArgument && error.message.contains("client_max_body_size"))
    #expect(requestCount == 2)
  }

  @Test func codesOfConnectionsUntilTheTimeLimitLeaveTheOutcomeUnknown() throws {
    let answers = try commitAgain()
    try lose()
    for _ in 0..<8 where answers.all.isEmpty {
      wait(4)
      try refuse(RemoteError(.resourceExhausted, "no"), status: 429)
    }
    wait(16)
    #expect(answers.lastError == unanswered("no"))
    #expect(answers.all.count == 1)
  }

  @Test func aCommitThatDoesNotReachTheServerIsUnavailable() throws {
    let answers = try commitAgain()
    try exchange().fail(WebFailure("no connection", isUnsent: true))
    peer.play()
    #expect(answers.lastError?.code == .unavailable)
    #expect(requestCount == 2)
  }

  @Test func closingIsRepeatedIfTheServerIsNotReached() throws {
    let answers = try commitAgain()
    try lose()
    wait()
    try exchange().fail(WebFailure("no connection", isUnsent: true))
    wait(4)
    #expect(answers.all.isEmpty)
    try succeed()
    #expect(try #require(answers.last).get() == Self.version)
  }

  // MARK: Registrations

  /// The server has forgotten the run, or has another database.
  @Test func aRunIsRegisteredAgainWhenTheServerRefusesIt() throws {
    let answers = try commitAgain()
    try refuse(.outcomeUnknown)
    #expect(answers.all.isEmpty)
    #expect(peer.channels.all.count == 2)
    #expect(try registrations().map(\.token) == [[7]], "the old token may prove that the store was set back")
    try register([9])
    #expect(try identity().registration == [9] && identity().batch == 3)
    try succeed()
    #expect(try #require(answers.last).get() == Self.version)
    _ = commit()
    #expect(try identity().registration == [9])
    #expect(peer.channels.all.count == 2)
  }

  @Test func aRunIsRegisteredOnceForCommitsThatTheServerRefusesTogether() throws {
    let first = try commitAgain()
    let second = commit()
    try exchange(1).answer(status: 400, Self.outcomeUnknown)
    peer.play()
    try register([9])
    #expect(requestCount == 4)
    try exchange(2).answer(status: 400, Self.outcomeUnknown)
    peer.play()
    #expect(peer.channels.all.count == 2)
    #expect(try identity(3).registration == [9] && identity(4).registration == [9])
    try succeed(3)
    try succeed(4)
    #expect(try #require(first.last).get() == Self.version)
    #expect(try #require(second.last).get() == Self.version)
  }

  private static let outcomeUnknown =
    #"{"error": {"code": 400, "message": "\#(RemoteError.outcomeUnknown.message)", "#
    + #""status": "FAILED_PRECONDITION"}}"#

  @Test func aRegistrationThatIsRefusedTwiceEndsTheCommit() throws {
    let answers = try commitAgain()
    try refuse(.outcomeUnknown)
    try register([9])
    try refuse(.outcomeUnknown)
    #expect(answers.lastError == .unanswered)
    #expect(peer.channels.all.count == 2)
  }

  @Test func anotherTokenOfTheUserDoesNotFailACommit() throws {
    let answers = commit()
    peer.remote.tokenDidChange(of: "ann")
    peer.play()
    #expect(answers.all.isEmpty)
    #expect(peer.channels.all.count == 2)
    try register()
    peer.remote.tokenDidChange(of: "ann")
    peer.play()
    try succeed()
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

  @Test(arguments: [RemoteError.Code.unavailable, .permissionDenied, .resourceExhausted, .deadlineExceeded])
  func aCommitWhoseRunIsNotRegisteredHasFailed(code: RemoteError.Code) {
    let answers = commit()
    channel.end(RemoteError(code, "no"))
    peer.play()
    // The outcome is known.
    #expect(answers.lastError == RemoteError(code == .deadlineExceeded ? .unavailable : code, "no"))
    #expect(requestCount == 0)
  }

  // MARK: Tokens

  @Test func aRefusedTokenIsReplaced() throws {
    let peer = ScriptedRemote(hasCredentials: true)
    let answers = Events<Commit>()
    peer.remote.commit([.delete(.init("rooms/a"))], as: "ann") { answers.add($0) }
    peer.play()
    peer.tokens.give("one", to: 0)
    peer.play()
    let request = try peer.channels.all[0].message(0, Wire.WriteRequest.self)
    let runs = try WriteLabels.message(Wire.RunRegistrations.self, in: request.labels, at: WriteLabels.runs)
    var response = Wire.IdentifiedWriteResponse()
    response.registrations = Wire.RunRegistrations(
      try #require(runs).registrations.map { RunRegistration(queue: $0.queue, run: $0.run, token: [7]) })
    try peer.channels.all[0].deliver(response)
    peer.play()
    let refused = try #require(peer.transport.all.first)
    refused.answer(
      status: 401, #"{"error": {"code": 401, "message": "no", "status": "UNAUTHENTICATED"}}"#)
    peer.play()
    peer.tokens.give("two", to: 1)
    peer.play()
    #expect(peer.transport.all.count == 2)
    let again = peer.transport.all[1].request
    #expect(again.fields["authorization"] == "Bearer two")
    #expect(again.fields[WriteLabels.write] == refused.request.fields[WriteLabels.write])
    peer.transport.all[1].answer(#"{"commitTime": \#(Self.time), "dugoutIdentified": true}"#)
    peer.play()
    #expect(try #require(answers.last).get() == Self.version)
  }

  @Test func aCommitThatWaitsForATokenHasNotBeenSent() throws {
    let peer = ScriptedRemote(hasCredentials: true) { _ in }
    let answers = Events<Commit>()
    peer.remote.commit([.delete(.init("rooms/a"))], as: "ann") { answers.add($0) }
    peer.play()
    peer.scheduler.play(for: 20_000_000)
    #expect(answers.lastError?.code == .unavailable)
    #expect(peer.transport.all.isEmpty)
  }

  // MARK: Other servers

  @Test func anotherServerGetsTheCommitWithoutAnIdentity() throws {
    let answers = commit()
    openWithoutRegistration()
    #expect(channel.isClosed)
    #expect(requestCount == 1)
    #expect(try exchange().request.fields[WriteLabels.write] == nil)
    try answer(#""writeResults": [{}], "commitTime": \#(Self.time)"#)
    #expect(try #require(answers.last).get() == Self.version)
    // The next commit knows the server.
    _ = commit()
    #expect(peer.channels.all.count == 1)
    #expect(requestCount == 2)
  }

  /// A server of another kind may have answered in its place for a while.
  @Test func aServerThatRegistersNothingIsAskedAgainAfterTenMinutes() throws {
    _ = commit()
    openWithoutRegistration()
    wait(599)
    _ = commit()
    #expect(peer.channels.all.count == 1)
    wait(2)
    let answers = commit()
    #expect(peer.channels.all.count == 2)
    try register()
    #expect(try identity().batch == 1)
    try succeed()
    #expect(try #require(answers.last).get() == Self.version)
    wait(700)
    _ = commit()
    #expect(peer.channels.all.count == 2)
    #expect(requestCount == 4)
  }

  /// It ignores the identity, and has applied the writes, which were sent to it once.
  @Test func anotherServerInPlaceOfTheFirstHasCommitted() throws {
    let answers = try commitAgain()
    try answer(#""writeResults": [{}], "commitTime": \#(Self.time)"#)
    #expect(try #require(answers.last).get() == Self.version)
    _ = commit()
    #expect(try exchange().request.fields[WriteLabels.write] == nil)
    wait(601)
    _ = commit()
    #expect(peer.channels.all.count == 2, "the run is registered again")
  }

  @Test func anotherServerInPlaceOfTheFirstDoesNotGetTheCommitAgain() throws {
    let answers = try commitAgain()
    try lose()
    wait()
    #expect(try writeCount() == 0)
    try answer(#""commitTime": \#(Self.time)"#)
    #expect(answers.lastError == unanswered("cut"))
    #expect(requestCount == 3)
  }

  // MARK: Several commits

  @Test func fourCommitsRunAtATimeAndTheOthersInTheirOrder() throws {
    _ = try commitAgain()
    try succeed()
    let answers = (0..<7).map { _ in commit() }
    #expect(requestCount == 6)
    for number in 2..<5 {
      try succeed(number)
      #expect(requestCount == number + 5)
      #expect(try identity().batch == Int64(number + 5))
      #expect(try identity().firstOpen == Int64(number + 2))
    }
    #expect(answers.map(\.all.count) == [1, 1, 1, 0, 0, 0, 0])
  }

  @Test func theTimeLimitOfACommitThatWaitsCountsFromTheCall() {
    _ = (0..<4).map { _ in commit() }
    wait(10)
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
    wait(16)
    #expect(answers.map { $0.lastError?.code } == Array(repeating: .unavailable, count: 6))
    #expect(peer.channels.all.count(where: { !$0.isClosed }) == 0)
    _ = commit()
    #expect(peer.channels.all.count(where: { !$0.isClosed }) == 1)
  }

  @Test func commitsThatWaitedHaveNoIdentityAtAnotherServer() {
    let answers = (0..<6).map { _ in commit() }
    openWithoutRegistration()
    // The one that found it out, and the two that waited.
    #expect(requestCount == 3)
    #expect(peer.channels.all.count == 4)
    #expect(answers.map(\.all.count) == Array(repeating: 0, count: 6))
  }

  @Test(arguments: [true, false]) func aCommitIsForgottenWithItsAnswer(isLost: Bool) throws {
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
    if isLost {
      try lose()
      wait(20)
    } else {
      try succeed()
    }
    #expect(once == nil)
  }
}
