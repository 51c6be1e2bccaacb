// Tokens of requests: fetched once, renewed, refused, late.

import DocumentStore
import FirestoreRemote
import Harness
import OfflineSync
import Testing

@Suite struct CredentialsTests {
  private struct Failed: Error, CustomStringConvertible { let description = "the key is lost" }

  private func target(_ id: Int32 = 2) -> WatchTarget {
    WatchTarget(TargetID(id), .init(.document(.init("a/b"))))
  }

  @Test func requestsOfOneUserShareOneFetch() {
    let peer = ScriptedRemote(hasCredentials: true)
    let first = peer.watch(as: "ann")
    let second = peer.write(as: "ann")
    first.stream.watch(target())
    second.stream.handshake([], runs: [])
    peer.play()
    #expect(peer.tokens.all.map(\.request.summary) == ["ann -"])
    #expect(peer.channels.all.isEmpty)
    peer.tokens.give("t1", to: 0)
    peer.play()
    #expect(peer.channels.all.map(\.method) == ["Listen", "Write"])
    #expect(peer.channels.all.map { $0.fields["authorization"] } == ["Bearer t1", "Bearer t1"])
    #expect(peer.channels.all.map(\.count) == [1, 1])
  }

  @Test func anotherUserHasATokenOfItsOwn() {
    let peer = ScriptedRemote(hasCredentials: true)
    _ = peer.watch(as: "ann")
    _ = peer.watch(as: nil)
    peer.tokens.give("t1", to: 0)
    peer.tokens.give(nil, to: 1)
    peer.play()
    #expect(peer.tokens.all.map(\.request.summary) == ["ann -", "nobody -"])
    #expect(peer.channels.all.map { $0.fields["authorization"] } == ["Bearer t1", nil])
  }

  @Test func aTokenIsUsedForLaterStreams() {
    let peer = ScriptedRemote(hasCredentials: true)
    _ = peer.watch(as: "ann")
    peer.tokens.give("t1", to: 0)
    peer.play()
    _ = peer.watch(as: "ann")
    #expect(peer.tokens.all.count == 1)
    #expect(peer.channels.all.count == 2)
  }

  @Test func aRefusedTokenIsNotUsedAgain() {
    let peer = ScriptedRemote(hasCredentials: true)
    let (_, events) = peer.watch(as: "ann")
    peer.tokens.give("t1", to: 0)
    peer.play()
    peer.channels.all[0].end(RemoteError(.unauthenticated, "no"))
    peer.play()
    #expect(events.lastError == RemoteError(.unauthenticated, "no"))
    let again = peer.watch(as: "ann").events
    #expect(peer.tokens.all.map(\.request.summary) == ["ann -", "ann t1"])
    peer.tokens.give("t1", to: 1)
    peer.play()
    #expect(peer.channels.all.count == 1)
    #expect(again.lastError?.message.contains("refused") == true)
    _ = peer.watch(as: "ann")
    peer.tokens.give("t2", to: 2)
    peer.play()
    #expect(peer.channels.all.last?.fields["authorization"] == "Bearer t2")
  }

  /// A remote whose token "t1" was refused.
  private func refused() -> ScriptedRemote {
    let peer = ScriptedRemote(hasCredentials: true)
    _ = peer.watch(as: "ann")
    peer.tokens.give("t1", to: 0)
    peer.play()
    peer.channels.all[0].end(RemoteError(.unauthenticated, "no"))
    peer.play()
    return peer
  }

  @Test func aRefusedTokenMayComeAgainAfterAMinute() {
    let peer = refused()
    peer.scheduler.play(for: 61_000_000)
    _ = peer.watch(as: "ann")
    #expect(peer.tokens.all.last?.request.summary == "ann -")
    peer.tokens.give("t1", to: 1)
    peer.play()
    #expect(peer.channels.all.count == 2)
    #expect(peer.channels.all.last?.fields["authorization"] == "Bearer t1")
  }

  @Test func theMinuteCountsFromTheLastRefusal() {
    let peer = refused()
    peer.scheduler.play(for: 40_000_000)
    _ = peer.watch(as: "ann")
    peer.tokens.give("t2", to: 1)
    peer.play()
    peer.channels.all[1].end(RemoteError(.unauthenticated, "no"))
    peer.scheduler.play(for: 30_000_000)
    _ = peer.watch(as: "ann")
    #expect(peer.tokens.all.last?.request.summary == "ann t2")
  }

  @Test func aRefusedTokenMayComeAgainAfterAReport() {
    let peer = refused()
    peer.remote.tokenDidChange(of: "ann")
    peer.play()
    _ = peer.watch(as: "ann")
    #expect(peer.tokens.all.last?.request.summary == "ann -")
    peer.tokens.give("t1", to: 1)
    peer.play()
    #expect(peer.channels.all.last?.fields["authorization"] == "Bearer t1")
    #expect(peer.channels.all.count == 2)
  }

  @Test func aTokenMayComeAgainIfTheOtherOneWasPerhapsRefused() {
    let peer = ScriptedRemote(hasCredentials: true, hasAppCheck: true)
    _ = peer.watch(as: "ann")
    peer.tokens.give("t1", to: 0)
    peer.play()
    peer.appTokens.give("a1", to: 0)
    peer.play()
    peer.channels.all[0].end(RemoteError(.unauthenticated))
    peer.play()
    _ = peer.watch(as: "ann")
    peer.tokens.give("t1", to: 1)
    peer.play()
    peer.appTokens.give("a2", to: 1)
    peer.play()
    #expect(peer.channels.all.last?.fields["authorization"] == "Bearer t1")
    #expect(peer.channels.all.last?.fields["x-firebase-appcheck"] == "a2")
  }

  @Test func aTokenThatIsReplacedWhileTheOtherOneIsFetchedIsNotUsed() throws {
    let peer = ScriptedRemote(hasCredentials: true, hasAppCheck: true)
    _ = peer.watch(as: "ann")
    peer.tokens.give("old", to: 0)
    peer.play()
    peer.remote.tokenDidChange(of: "ann")
    peer.play()
    peer.appTokens.give("a1", to: 0)
    peer.play()
    #expect(peer.channels.all.isEmpty)
    try #require(peer.tokens.all.count == 2)
    peer.tokens.give("new", to: 1)
    peer.play()
    #expect(peer.channels.all.map { $0.fields["authorization"] } == ["Bearer new"])
  }

  @Test func aClosureThatThrowsEndsTheStreamWithItsCause() {
    let peer = ScriptedRemote(hasCredentials: true)
    let (_, events) = peer.watch(as: "ann")
    peer.tokens.all[0].done(.failure(Failed()))
    peer.play()
    #expect(events.lastError?.code == .unauthenticated)
    #expect(events.lastError?.message.contains("the key is lost") == true)
    let other = peer.watch(as: "ann").events
    peer.tokens.all[1].done(.failure(RemoteError(.permissionDenied, "away")))
    peer.play()
    #expect(other.lastError == RemoteError(.permissionDenied, "away"))
  }

  @Test func aClosureThatNeverAnswersEndsTheStreamAfterATime() {
    let peer = ScriptedRemote(hasCredentials: true)
    let (_, events) = peer.watch(as: "ann")
    peer.scheduler.play(for: 14_900_000)
    #expect(events.lastError == nil)
    peer.scheduler.play(for: 200_000)
    #expect(events.lastError?.code == .unavailable)
    #expect(peer.tokens.cancelCount == 1)
    // The token is too late for the first stream, and the next stream asks again.
    peer.tokens.give("late", to: 0)
    _ = peer.watch(as: "ann")
    #expect(peer.tokens.all.count == 2)
  }

  @Test func aStreamIsClosedWithoutWaitingForAToken() {
    let peer = ScriptedRemote(hasCredentials: true)
    let (stream, events) = peer.watch(as: "ann")
    stream.close()
    peer.play()
    peer.tokens.give("t1", to: 0)
    peer.play()
    #expect(peer.channels.all.isEmpty)
    #expect(events.all.count == 1)
  }

  @Test func anotherTokenOfTheUserOpensItsStreamsAgain() {
    let peer = ScriptedRemote(hasCredentials: true)
    let ann = peer.watch(as: "ann").events
    let bob = peer.watch(as: "bob").events
    peer.tokens.give("t1", to: 0)
    peer.tokens.give("t2", to: 1)
    peer.play()
    peer.remote.tokenDidChange(of: "ann")
    peer.play()
    #expect(ann.isClosed && ann.lastError == nil)
    #expect(!bob.isClosed)
    #expect(peer.channels.all.map(\.isClosed) == [true, false])
    _ = peer.watch(as: "ann")
    #expect(peer.tokens.all.map(\.request.summary) == ["ann -", "bob -", "ann -"])
  }

  @Test func aTokenOfBeforeTheChangeIsDropped() {
    let peer = ScriptedRemote(hasCredentials: true)
    _ = peer.watch(as: "ann")
    peer.remote.tokenDidChange(of: "ann")
    peer.play()
    peer.tokens.give("old", to: 0)
    peer.tokens.give("new", to: 1)
    peer.play()
    #expect(peer.channels.all.map { $0.fields["authorization"] } == ["Bearer new"])
  }

  @Test(arguments: ["", "a b", "a\r\nx-admin: 1", "é", String(repeating: "x", count: 8193)])
  func aTokenThatCannotBeAFieldIsNotSent(text: String) {
    let peer = ScriptedRemote(hasCredentials: true)
    let (_, events) = peer.watch(as: "ann")
    peer.tokens.give(text, to: 0)
    peer.play()
    #expect(peer.channels.all.isEmpty)
    #expect(events.lastError?.code == .unauthenticated)
  }

  @Test func aTokenIsNotInTheLog() {
    #expect("\(FirestoreToken("secret"))" == "a token of 6 bytes")
    #expect(String(reflecting: FirestoreToken("secret")) == "a token of 6 bytes")
  }

  @Test func anUnsignedTokenNamesItsUser() {
    // {"alg":"none","type":"JWT"} and {"sub":"ann","user_id":"ann"}
    #expect(
      FirestoreToken.unsigned(for: "ann").value
        == "eyJhbGciOiJub25lIiwidHlwZSI6IkpXVCJ9.eyJzdWIiOiJhbm4iLCJ1c2VyX2lkIjoiYW5uIn0.")
  }

  @Test func theClosureOfAnAppRunsInATask() async {
    let (asked, ask) = AsyncStream<FirestoreTokenRequest>.makeStream()
    var options = FirestoreRemoteOptions(project: "shop")
    options.credentials = { request in
      ask.yield(request)
      throw Failed()
    }
    let remote = FirestoreRemote(
      options, transport: ScriptedTransport(), channels: ScriptedChannels(),
      on: QueueScheduler(label: "dugout.test.remote"))
    let error = await withCheckedContinuation { answer in
      remote.documents(at: [.init("a/b")], as: "ann") { answer.resume(returning: $0) }
    }
    #expect(throws: RemoteError.self) { try error.get() }
    for await request in asked {
      #expect(request.user == "ann")
      break
    }
  }
}

extension Events where Event == WatchStreamEvent {
  var isClosed: Bool { if case .closed? = last { true } else { false } }
  var lastError: RemoteError? { if case .closed(let error)? = last { error } else { nil } }
}
