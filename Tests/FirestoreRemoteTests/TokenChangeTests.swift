// Write streams while the app has another token: the answers that are waited for, and for how long.

import ByteStore
import DocumentStore
import FirestoreRemote
import FirestoreWire
import Harness
import OfflineSync
import Testing

@Suite struct TokenChangeTests {
  private let peer = ScriptedRemote(hasCredentials: true)
  private static let timeLimit: Int64 = 15_000_000

  private var channel: ScriptedChannel { peer.channels.all[peer.channels.all.count - 1] }

  /// Answers the handshake as a server that registers nothing.
  private func shakeHands() {
    channel.deliver(#"{"streamId": "1", "streamToken": "AQ=="}"#)
    peer.play()
  }

  private func answer(on channel: ScriptedChannel) {
    channel.deliver(
      #"{"streamToken": "Ag==", "writeResults": [{}], "commitTime": "2026-01-01T00:00:02Z"}"#)
    peer.play()
  }

  private func changeToken() {
    peer.remote.tokenDidChange(of: "ann")
    peer.play()
  }

  private struct Opened {
    let stream: any WriteStream
    let events: Events<WriteStreamEvent>
    let channel: ScriptedChannel
  }

  /// A stream on which this many batches were sent.
  private func opened(sending count: Int64) -> Opened {
    let (stream, events) = peer.write(as: "ann")
    stream.handshake([], runs: [])
    peer.tokens.give("t1", to: 0)
    peer.play()
    shakeHands()
    let opened = Opened(stream: stream, events: events, channel: channel)
    for number in 0..<count { send(number + 1, opened) }
    return opened
  }

  private func send(_ number: Int64, _ opened: Opened) {
    let set = Mutation.set(.init("rooms/a"), StoredMap([(name: "n", value: .integer(number))]))
    opened.stream.write(
      RemoteWrite(
        id: WriteID(queue: "q", run: RunID(5), batch: BatchID(number)), mutations: [set],
        firstOpen: BatchID(1)))
    peer.play()
  }

  // MARK: One stream

  @Test func aStreamWithoutBatchesEndsAtOnce() {
    let opened = opened(sending: 0)
    changeToken()
    #expect(opened.events.names.last == "closed" && opened.events.lastError == nil)
    #expect(opened.channel.isClosed)
  }

  @Test func aStreamWhoseBatchesHaveTheirAnswersEndsAtOnce() {
    let opened = opened(sending: 1)
    answer(on: opened.channel)
    changeToken()
    #expect(opened.events.names.last == "closed" && opened.events.lastError == nil)
  }

  @Test(arguments: [true, false])
  func aStreamWaitsForTheAnswersToItsBatches(isOfUser: Bool) {
    let opened = opened(sending: 2)
    if isOfUser { changeToken() } else { peer.remote.appCheckTokenDidChange() }
    peer.play()
    #expect(!opened.channel.isClosed)
    send(3, opened)
    answer(on: opened.channel)
    #expect(opened.events.names.last == "answered" && !opened.channel.isClosed)
    answer(on: opened.channel)
    #expect(opened.events.names.suffix(3) == ["answered", "answered", "closed"])
    #expect(opened.events.lastError == nil)
    #expect(opened.channel.isClosed)
    // The handshake and two batches.
    #expect(opened.channel.count == 3)
  }

  @Test func itWaitsUntilTheTimeLimitOfACall() {
    let opened = opened(sending: 1)
    changeToken()
    peer.scheduler.play(for: Self.timeLimit / 2)
    changeToken()
    peer.scheduler.play(for: Self.timeLimit / 2 - 1)
    #expect(!opened.channel.isClosed)
    peer.scheduler.play(for: 1)
    #expect(opened.events.names.last == "closed" && opened.events.lastError == nil)
    #expect(opened.channel.isClosed)
    #expect(opened.events.names.count(where: { $0 == "closed" }) == 1)
  }

  @Test func aServerThatRefusesTheOldTokenMeanwhileEndsIt() {
    let opened = opened(sending: 1)
    changeToken()
    opened.channel.end(RemoteError(.unauthenticated, "expired"))
    peer.play()
    #expect(opened.events.lastError == RemoteError(.unauthenticated, "expired"))
    peer.scheduler.play(for: 2 * Self.timeLimit)
    #expect(opened.events.names.count(where: { $0 == "closed" }) == 1)
  }

  @Test func aBatchThatCannotBeSentIsStillRefusedAfterTheAnswers() {
    let opened = opened(sending: 1)
    var placed = RemoteWrite(
      id: WriteID(queue: "q", run: RunID(5), batch: BatchID(2)), mutations: [], firstOpen: BatchID(1))
    let time = StoredTimestamp(microseconds: 1)!
    // No client can send a document with given times.
    placed.mutations = [
      .place(
        StoredDocument(path: .init("rooms/a"), createTime: time, updateTime: time, fields: StoredMap()))
    ]
    opened.stream.write(placed)
    peer.play()
    changeToken()
    answer(on: opened.channel)
    #expect(opened.events.names.suffix(2) == ["answered", "closed"])
    #expect(opened.events.lastError?.code == .internal)
  }

  // MARK: A client

  private func client() throws -> SyncDriver {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open(
      "/client", options: options, platform: SimulatedDisk().platform(seed: 1))
    let local = try LocalStore(store, user: "ann", collector: .lru, client: "client")
    return SyncDriver(local, peer.remote, options: SyncEngine.Options(), scheduler: peer.scheduler)
  }

  private func add(_ amount: Int64, _ client: SyncDriver) {
    let increment = FieldTransform(StoredFieldPath(unchecked: ["n"]), .increment(.integer(amount)))
    let patch = Mutation.patch(
      .init("rooms/a"), StoredMap(), mask: FieldMask([]), transforms: [increment])
    client.write([patch], .local) { _ in }
    peer.play()
  }

  /// The amounts of the increments that were sent on a channel.
  private func amounts(on channel: ScriptedChannel) throws -> [StoredValue?] {
    try (1..<max(1, channel.count)).map { index in
      let request = try channel.message(index, Wire.WriteRequest.self)
      return request.writes.first?.updateTransforms.first?.transformType?.increment
    }
  }

  @Test(arguments: [true, false])
  func anIncrementIsSentAgainOnlyWithoutAnAnswer(isAnswered: Bool) throws {
    let client = try client()
    add(1, client)
    peer.tokens.give("t1", to: 0)
    peer.play()
    shakeHands()
    add(2, client)
    let first = channel
    changeToken()
    add(3, client)
    if isAnswered {
      answer(on: first)
      answer(on: first)
    } else {
      peer.scheduler.play(for: Self.timeLimit)
    }
    try #require(peer.tokens.all.count == 2)
    peer.tokens.give("t2", to: 1)
    peer.play()
    shakeHands()
    #expect(peer.channels.all.count == 2)
    #expect(channel.fields["authorization"] == "Bearer t2")
    #expect(try amounts(on: first) == [.integer(1), .integer(2)])
    #expect(try amounts(on: channel) == (isAnswered ? [] : [.integer(1), .integer(2)]) + [.integer(3)])
  }
}
