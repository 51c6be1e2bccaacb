// Sessions over the handler of a server, with watch streams and write streams behind them.

import DocumentStore
import FirestoreWire
import Foundation
import Harness
import OfflineSync
import Testing

@testable import FirestoreServer
@testable import HTTPTransport

@Suite struct ServedChannelTests {
  private func number(_ path: String, in peer: ChannelPeer) -> String {
    let text = peer.server.get("/v1/\(TestServer.documents)/\(path)").text
    guard let start = text.range(of: #""integerValue":""#) else { return text }
    return String(text[start.upperBound...].prefix { $0 != "\"" })
  }

  private func put(_ path: String, text: String, in peer: ChannelPeer) {
    let answer = peer.server.send(
      TestRequest(
        "PATCH", "/v1/\(TestServer.documents)/\(path)",
        body: #"{"fields":{"s":{"stringValue":"\#(text)"}}}"#))
    #expect(answer.status == 200)
  }

  // MARK: Listen

  @Test func aWatchStreamDeliversChanges() throws {
    let peer = try ChannelPeer()
    let client = try ChannelClient(peer, "Listen", [ChannelClient.watch("rooms/a")])
    let back = client.back(0)
    try peer.wait { back.text.contains("NO_CHANGE") || back.text.contains(#""readTime""#) }
    put("rooms/a", text: "é😀", in: peer)
    try peer.wait { back.text.contains("documentChange") }
    #expect(back.text.contains("é😀"))
    #expect(!back.isEnded)
    #expect(back.arrays.map(\.number) == Array(1...back.arrays.count))
    #expect(peer.metrics.openStreams.value == 1)
    #expect(peer.metrics.openRequests.value == 1)
    #expect(client.terminate("GET").status == 200)
    #expect(back.isEnded)
    #expect(peer.metrics.openStreams.value == 0)
    #expect(peer.metrics.openRequests.value == 0)
    #expect(peer.metrics.openChannels.value == 0)
    #expect(peer.metrics.requestCount(.listen, by: .webChannel, code: 1) == 1)
    let line = peer.server.lines.all.last { $0.contains(#""event":"request""#) && $0.contains("Listen") }
    #expect(line?.contains(#""protocol":"webchannel""#) == true)
    #expect(line?.contains(TestServer.database) == true)
    #expect(client.back(0).status == 400)
  }

  @Test func aServerThatEndsReleasesOpenSessions() throws {
    weak var handler: FirestoreHandler?
    do {
      let peer = try ChannelPeer()
      handler = peer.server.handler
      let listening = try ChannelClient(peer, "Listen", [ChannelClient.watch("rooms/a")])
      let back = listening.back(0)
      try peer.wait { back.text.contains("NO_CHANGE") || back.text.contains(#""readTime""#) }
      _ = try ChannelClient(peer, "Write", [ChannelClient.openWrite])
      #expect(peer.metrics.openChannels.value == 2)
      peer.server.handler.endSessions()
      peer.run()
      #expect(back.isEnded)
      #expect(peer.metrics.openChannels.value == 0)
      #expect(peer.metrics.openStreams.value == 0)
      #expect(peer.metrics.openRequests.value == 0)
    }
    #expect(handler == nil)
  }

  @Test func aLostAnswerIsSentAgain() throws {
    let peer = try ChannelPeer()
    put("rooms/a", text: "1", in: peer)
    let client = try ChannelClient(peer, "Listen", [ChannelClient.watch("rooms/a")])
    let first = client.back(0)
    try peer.wait { first.arrays.count >= 4 }
    let seen = first.arrays
    first.cancel()
    // The client has received two of them.
    let second = client.back(2)
    #expect(second.arrays.prefix(seen.count - 2).map(\.text) == seen.dropFirst(2).map(\.text))
    #expect(second.arrays.first?.number == 3)
    put("rooms/a", text: "2", in: peer)
    try peer.wait { second.text.contains(#""stringValue":"2""#) }
    let numbers = second.arrays.map(\.number)
    #expect(numbers == Array(3..<3 + numbers.count))
  }

  @Test func aPollWaitsForTheNextChange() throws {
    let peer = try ChannelPeer()
    let client = try ChannelClient(peer, "Listen", [ChannelClient.watch("rooms/a")])
    var last = 0
    var text = ""
    while !text.contains("CURRENT") {
      let poll = client.back(last, polls: true)
      try peer.wait { poll.isEnded }
      try #require(poll.status == 200)
      last = poll.arrays.last?.number ?? last
      text += poll.text
    }
    put("rooms/a", text: "2", in: peer)
    while !text.contains("documentChange") {
      let poll = client.back(last, polls: true)
      try peer.wait { poll.isEnded }
      try #require(poll.arrays.first?.number == last + 1)
      last = poll.arrays.last?.number ?? last
      text += poll.text
    }
    while true {
      let poll = client.back(last, polls: true, timeout: 10_000)
      peer.advance(seconds: 9)
      if poll.isEnded {
        try #require(poll.status == 200)
        last = poll.arrays.last?.number ?? last
        continue
      }
      peer.advance(seconds: 1)
      #expect(poll.arrays.map(\.text) == [#"["noop"]"#])
      break
    }
  }

  @Test func aTargetIsAddedLaterAndRemoved() throws {
    let peer = try ChannelPeer()
    let client = try ChannelClient(peer, "Listen", [])
    let back = client.back(0)
    #expect(back.arrays.map(\.text) == [#"["noop"]"#])
    #expect(client.forward([ChannelClient.watch("rooms/a", target: 7)], offset: 0).text.hasPrefix("7\n[1,1,"))
    try peer.wait { back.text.contains("CURRENT") }
    let remove = "{\(ChannelClient.database),\"removeTarget\":7}"
    _ = client.forward([remove], offset: 1, acknowledged: try #require(back.arrays.last).number)
    try peer.wait { back.text.contains("REMOVE") }
  }

  @Test func malformedRequestsEndTheCallWithAnError() throws {
    let peer = try ChannelPeer()
    for request in ["{nope", "", "[]", #"{"database":"nonsense","addTarget":{"targetId":2}}"#, "\u{0}"] {
      let client = try ChannelClient(peer, "Listen", [request])
      let back = client.back(0)
      try peer.wait { back.isEnded }
      let last = try #require(back.arrays.last)
      #expect(last.text.contains(#"[{"error":{"code":400,"#), "\(last.text)")
      #expect(last.text.contains("INVALID_ARGUMENT"))
      // It is sent again until it is acknowledged.
      #expect(client.back(last.number - 1).arrays.last?.text == last.text)
      #expect(client.back(last.number).status == 400)
      #expect(peer.metrics.openChannels.value == 0)
    }
    #expect(peer.metrics.openStreams.value == 0)
    #expect(peer.metrics.requestCount(.listen, by: .webChannel, code: 3) == 10)
  }

  // MARK: Write

  @Test func aBodyThatIsSentAgainIsWrittenOnce() throws {
    let peer = try ChannelPeer()
    let client = try ChannelClient(peer, "Write", [ChannelClient.openWrite])
    let back = client.back(0)
    try peer.wait { back.text.contains("streamToken") }
    let increment = ChannelClient.increment("rooms/a")
    for _ in 0..<3 { #expect(client.forward([increment, increment], offset: 1).status == 200) }
    #expect(client.forward([increment, increment], offset: 2).status == 200)
    try peer.wait { back.arrays.count { $0.text.contains("commitTime") } == 3 }
    #expect(number("rooms/a", in: peer) == "3")
  }

  @Test func bodiesThatOvertakeOthersWait() throws {
    let peer = try ChannelPeer()
    let client = try ChannelClient(peer, "Write", [ChannelClient.openWrite])
    let back = client.back(0)
    _ = client.forward([ChannelClient.update("rooms/a", text: "third")], offset: 3)
    _ = client.forward([ChannelClient.update("rooms/a", text: "second")], offset: 2)
    _ = client.forward([ChannelClient.update("rooms/a", text: "first")], offset: 1)
    try peer.wait { back.arrays.count { $0.text.contains("commitTime") } == 3 }
    #expect(peer.server.get("/v1/\(TestServer.documents)/rooms/a").text.contains("third"))
  }

  @Test func aFailedWriteEndsTheStreamWithItsError() throws {
    let peer = try ChannelPeer()
    let client = try ChannelClient(peer, "Write", [ChannelClient.openWrite])
    let back = client.back(0)
    _ = client.forward([ChannelClient.update("rooms/none", text: "x", exists: true)], offset: 1)
    try peer.wait { back.isEnded }
    #expect(back.arrays.last?.text.contains(#""status":"NOT_FOUND""#) == true)
    #expect(client.forward([ChannelClient.increment("rooms/a")], offset: 2).status == 200)
    #expect(client.terminate().status == 200)
    #expect(peer.server.get("/v1/\(TestServer.documents)/rooms/a").status == 404)
    #expect(peer.metrics.requestCount(.write, by: .webChannel, code: 5) == 1)
  }

  @Test func aRequestWithoutWritesClosesTheStream() throws {
    let peer = try ChannelPeer()
    let end = #"{"streamToken":"AA==","writes":[]}"#
    let client = try ChannelClient(
      peer, "Write", [ChannelClient.openWrite, ChannelClient.increment("rooms/a"), end])
    var arrays: [String] = []
    var last = 0
    while arrays.last != #"["close"]"# {
      let poll = client.back(last, polls: true)
      try peer.wait { poll.isEnded }
      try #require(poll.status == 200)
      arrays += poll.arrays.map(\.text)
      last = poll.arrays.last?.number ?? last
    }
    #expect(arrays.count { $0.contains("commitTime") } == 1)
    #expect(client.forward([], offset: 3, acknowledged: last).status == 200)
    #expect(client.back(last).status == 400)
    #expect(peer.metrics.requestCount(.write, by: .webChannel, code: 0) == 1)
  }

  // MARK: Time

  @Test func aStreamHasNoopsAndASessionEndsWithoutABackChannel() throws {
    let peer = try ChannelPeer()
    let client = try ChannelClient(peer, "Listen", [])
    let back = client.back(0)
    for _ in 0..<4 { peer.advance(seconds: 15) }
    #expect(back.arrays.map(\.text) == Array(repeating: #"["noop"]"#, count: 3))
    back.cancel()
    peer.advance(seconds: 59)
    #expect(client.forward([], offset: 0).status == 200)
    peer.advance(seconds: 1)
    #expect(client.forward([], offset: 0).status == 400)
    #expect(peer.metrics.count(of: ServerRefusal.channelTimeout) == 1)
    #expect(peer.metrics.openStreams.value == 0)
    #expect(peer.metrics.openChannels.value == 0)
    #expect(peer.metrics.requestCount(.listen, by: .webChannel, code: 1) == 1)
    #expect(peer.loop.timerCount == 0)
  }

  // MARK: Memory

  /// The answer to the query waits for a client that does not read it. What comes later does not wait with
  /// it.
  @Test func anUnreadBackChannelBoundsTheMemory() throws {
    let peer = try ChannelPeer()
    let text = String(repeating: "x", count: 20_000)
    for room in 0..<60 { put("rooms/\(room)", text: text, in: peer) }
    let client = try ChannelClient(peer, "Listen", [ChannelClient.watchAll("rooms")])
    peer.isUnread = true
    let first = client.back(0)
    peer.isUnread = false
    func held() -> Int {
      Int(client.forward([], offset: 1).text.dropLast().split(separator: ",").last ?? "") ?? -1
    }
    try peer.wait { held() > 60 * text.utf8.count }
    #expect(first.sink.body.count > 64 * 1024)
    #expect(first.sink.body.count < 128 * 1024)
    let answer = held()
    for change in 0..<50 { put("rooms/0", text: "\(change)", in: peer) }
    peer.run()
    #expect(held() == answer)
    first.response.queue.setPaused(false)
    var numbers: [Int] = []
    var texts: [String] = []
    var back = first
    while true {
      try peer.wait { back.isEnded || back.ends(near: "\"49\"") }
      try #require(back.status == 200)
      #expect(back.sink.body.count < 600 * 1024)
      let arrays = back.arrays
      numbers += arrays.map(\.number)
      texts += arrays.map(\.text)
      guard back.isEnded else { break }
      back = client.back(numbers.last ?? 0)
    }
    #expect(numbers == Array(1...numbers.count))
    #expect(texts.contains { $0.contains("\"49\"") })
    for room in 1..<60 { #expect(texts.count { $0.contains("rooms/\(room)\"") } == 1) }
    // The client sees the last state of what has changed while it did not read.
    #expect(texts.count { $0.contains("rooms/0\"") } < 5)
  }

  /// The call waits for acknowledgements, and what the client sends waits for the call.
  @Test func aClientThatSendsWithoutAcknowledgingLosesItsSession() throws {
    let peer = try ChannelPeer()
    let text = String(repeating: "x", count: 20_000)
    for room in 0..<60 { put("rooms/\(room)", text: text, in: peer) }
    let client = try ChannelClient(peer, "Listen", [ChannelClient.watchAll("rooms")])
    func held() -> Int {
      Int(client.forward([], offset: 1).text.dropLast().split(separator: ",").last ?? "") ?? -1
    }
    try peer.wait { held() > 60 * text.utf8.count }
    let message = "{\"x\":\"" + String(repeating: "x", count: 300_000) + "\"}"
    for offset in 1...3 { #expect(client.forward([message], offset: offset).status == 200) }
    _ = client.forward([message], offset: 4)
    #expect(client.forward([], offset: 5).status == 400)
    #expect(peer.metrics.count(of: ServerRefusal.channelRequests) == 1)
  }

  @Test func sessionsBehindAProxyDoNotShareTheMemoryOfAConnection() throws {
    let budget = HeldMemory(bytesMax: 64 * 1024, within: HeldMemory(bytesMax: 16 << 20))
    let peer = try ChannelPeer(budget: budget)
    let text = String(repeating: "x", count: 10_000)
    for room in 0..<30 { put("rooms/\(room)", text: text, in: peer) }
    let client = try ChannelClient(peer, "Listen", [ChannelClient.watchAll("rooms")]) { $0.isProxy = true }
    func held() -> Int {
      Int(client.forward([], offset: 1).text.dropLast().split(separator: ",").last ?? "") ?? -1
    }
    try peer.wait { held() > 30 * text.utf8.count }
    #expect(client.back(0, polls: true).status == 200)
  }

  @Test func aServerWithoutMemoryEndsTheSession() throws {
    let peer = try ChannelPeer(budget: HeldMemory(bytesMax: 64 * 1024))
    let text = String(repeating: "x", count: 10_000)
    for room in 0..<30 { put("rooms/\(room)", text: text, in: peer) }
    let client = try ChannelClient(peer, "Listen", [ChannelClient.watchAll("rooms")])
    try peer.wait { peer.metrics.openChannels.value == 0 }
    #expect(peer.metrics.count(of: HTTPTransport.Refusal.heldBytes) == 1)
    #expect(client.back(0).status == 400)
    #expect(peer.budget.usedBytes == 0)
    #expect(peer.metrics.openStreams.value == 0)
  }

  // MARK: Shutting down

  @Test func aShutdownEndsWatchStreamsWithUnavailable() throws {
    let peer = try ChannelPeer()
    let client = try ChannelClient(peer, "Listen", [ChannelClient.watch("rooms/a")])
    let back = client.back(0)
    try peer.wait { back.text.contains("CURRENT") }
    peer.server.handler.drain()
    try peer.wait { back.isEnded }
    #expect(back.arrays.last?.text.contains(#""status":"UNAVAILABLE""#) == true)
    #expect(peer.metrics.requestCount(.listen, by: .webChannel, code: 14) == 1)
    let refused = ChannelClient.open(peer, "Listen", [])
    #expect(refused.status == 503)
    #expect(peer.metrics.count(of: ServerRefusal.draining) == 1)
    #expect(peer.metrics.openStreams.value == 0)
  }

  @Test func aShutdownWaitsForTheWritesThatWereTaken() throws {
    let peer = try ChannelPeer()
    let client = try ChannelClient(peer, "Write", [ChannelClient.openWrite])
    let back = client.back(0)
    _ = client.forward([ChannelClient.increment("rooms/a")], offset: 1)
    peer.server.handler.drain()
    _ = client.forward([ChannelClient.increment("rooms/b")], offset: 2)
    try peer.wait { back.isEnded }
    #expect(back.arrays.count { $0.text.contains("commitTime") } == 1)
    #expect(back.arrays.last?.text.contains(#""status":"UNAVAILABLE""#) == true)
    #expect(peer.server.store.count == 1)
    #expect(peer.metrics.requestCount(.write, by: .webChannel, code: 14) == 1)
  }

  @Test func aShutdownWaitsForAClientBetweenTwoPolls() throws {
    let peer = try ChannelPeer()
    let streams = peer.server.handler.runner.streams
    let client = try ChannelClient(peer, "Write", [ChannelClient.openWrite])
    let greeting = client.back(0, polls: true)
    try peer.wait { greeting.isEnded }
    let last = try #require(greeting.arrays.last).number
    _ = client.forward([ChannelClient.increment("rooms/a")], offset: 1, acknowledged: last)
    try peer.wait { peer.server.store.count == 1 }
    peer.server.handler.drain()
    try peer.wait { peer.metrics.openStreams.value == 0 }
    #expect(streams.waitUntilDelivered(nanoseconds: 0) == 1)
    // A request of the client is not passed to the call.
    #expect(client.forward([ChannelClient.increment("rooms/b")], offset: 2).status == 200)
    let results = client.back(last, polls: true)
    #expect(results.arrays.count { $0.text.contains("commitTime") } == 1)
    #expect(results.arrays.last?.text.contains(#""status":"UNAVAILABLE""#) == true)
    #expect(streams.waitUntilDelivered(nanoseconds: 0) == 1)
    let end = try #require(results.arrays.last).number
    #expect(client.back(end, polls: true).status == 400)
    #expect(streams.waitUntilDelivered(nanoseconds: 0) == 0)
    #expect(peer.metrics.openChannels.value == 0)
    #expect(peer.server.store.count == 1)
  }

  @Test func aShutdownDoesNotWaitForSessionsWithoutResults() throws {
    let peer = try ChannelPeer()
    let streams = peer.server.handler.runner.streams
    let watch = try ChannelClient(peer, "Listen", [ChannelClient.watch("rooms/a")])
    let write = try ChannelClient(peer, "Write", [ChannelClient.openWrite])
    let back = write.back(0)
    try peer.wait { back.text.contains("streamToken") }
    #expect(streams.waitUntilDelivered(nanoseconds: 0) == 1)
    peer.server.handler.drain()
    try peer.wait { back.isEnded && peer.metrics.openStreams.value == 0 }
    #expect(back.arrays.last?.text.contains(#""status":"UNAVAILABLE""#) == true)
    #expect(streams.waitUntilDelivered(nanoseconds: 0) == 0)
    // A watch session ends as always, when its client knows of the end or does not come.
    #expect(watch.back(0).arrays.last?.text.contains(#""status":"UNAVAILABLE""#) == true)
  }

  @Test func aShutdownStopsWaitingForAClientThatEndsItsSession() throws {
    let peer = try ChannelPeer()
    let streams = peer.server.handler.runner.streams
    let client = try ChannelClient(peer, "Write", [ChannelClient.openWrite])
    let back = client.back(0)
    _ = client.forward([ChannelClient.increment("rooms/a")], offset: 1)
    peer.server.handler.drain()
    try peer.wait { back.isEnded }
    #expect(back.text.contains("commitTime"))
    #expect(streams.waitUntilDelivered(nanoseconds: 0) == 1)
    #expect(client.terminate("GET").status == 200)
    #expect(streams.waitUntilDelivered(nanoseconds: 0) == 0)
  }
}
