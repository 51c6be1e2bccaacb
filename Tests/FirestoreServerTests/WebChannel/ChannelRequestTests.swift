// Requests of WebChannel over the handler of a server: who may open sessions, and how many.

import FirestoreWire
import Harness
import OfflineSync
import Testing

@testable import FirestoreServer
@testable import HTTPTransport

@Suite struct ChannelRequestTests {
  private static let listen = ChannelClient.path("Listen")

  // MARK: Opening

  @Test func theHandshakeNamesTheSession() throws {
    let peer = try ChannelPeer()
    let target = "\(Self.listen)?VER=8&CVER=22&RID=1&X-HTTP-Session-Id=gsessionid"
    let exchange = peer.begin("POST", target, "count=0") { request in
      request.fields.append(("origin", "http://localhost:3000"))
    }
    #expect(exchange.status == 200)
    #expect(exchange.isEnded)
    let handshake = try #require(exchange.arrays.first)
    let sid = try #require((handshake.content as? [Any])?[1] as? String)
    #expect(sid.utf8.count == 32)
    #expect(exchange.text == "60\n" + #"[[0,["c","\#(sid)","",8,12,30000]]]"#)
    #expect(exchange.fields["content-type"] == "text/plain; charset=utf-8")
    #expect(exchange.fields["cache-control"] == "no-store, no-transform")
    #expect(exchange.fields["x-content-type-options"] == "nosniff")
    #expect(exchange.fields["access-control-allow-origin"] == "http://localhost:3000")
    #expect(exchange.fields["access-control-allow-credentials"] == "true")
    #expect(exchange.fields["x-http-session-id"]?.isEmpty == false)
    #expect(exchange.fields["x-http-session-id"] != sid)
    #expect(peer.metrics.openChannels.value == 1)
  }

  @Test func onlyNewClientsGetTheTimeOfKeepAlives() throws {
    let peer = try ChannelPeer()
    let exchange = peer.begin("POST", "\(Self.listen)?VER=8", "count=0")
    #expect(exchange.text.hasSuffix(#","",8,12]]]"#))
    #expect(exchange.fields["x-http-session-id"] == nil)
  }

  @Test func hostsAndOriginsAreCheckedFirst() throws {
    let peer = try ChannelPeer()
    let foreign = ChannelClient.open(peer, "Listen", []) { $0.fields.append(("origin", "https://evil.com")) }
    #expect(foreign.status == 403)
    let rebound = ChannelClient.open(peer, "Listen", []) { $0.authority = "evil.com" }
    #expect(rebound.status == 403)
    #expect(peer.metrics.openChannels.value == 0)
    #expect(peer.metrics.count(of: ServerRefusal.origin) == 1)
    #expect(peer.metrics.count(of: ServerRefusal.host) == 1)
  }

  // MARK: Credentials

  private func secured() throws -> ChannelPeer {
    try ChannelPeer { configuration in
      configuration.isEmulator = false
      configuration.adminSecret = TestServer.secret
    }
  }

  @Test func credentialsComeInTheBodyTheTargetOrTheFields() throws {
    let peer = try secured()
    let list = "X-Goog-Api-Client:gl-js/\r\nAuthorization:Bearer \(TestServer.secret)\r\n"
    #expect(ChannelClient.open(peer, "Listen", [], headers: list).status == 200)
    #expect(ChannelClient.open(peer, "Listen", []) { $0.authorize() }.status == 200)
    let inTarget = ChannelClient.open(peer, "Listen", []) { request in
      request.target += "&%24httpHeaders=\(FormText.encoded(list))"
    }
    #expect(inTarget.status == 200)
    #expect(peer.metrics.openChannels.value == 3)
  }

  @Test func sessionsWithoutCredentialsAreNotOpened() throws {
    let peer = try secured()
    let right = "Authorization:Bearer \(TestServer.secret)\r\n"
    let refused: [TestChannelExchange] = [
      ChannelClient.open(peer, "Write", [ChannelClient.openWrite]),
      ChannelClient.open(peer, "Write", [], headers: "Authorization:Bearer wrong-wrong-wrong"),
      ChannelClient.open(peer, "Write", [], headers: ""),
      // Two of them are as good as none.
      ChannelClient.open(peer, "Write", [], headers: right + right),
      ChannelClient.open(peer, "Write", [], headers: "Authorization:Bearer owner"),
      ChannelClient.open(peer, "Write", [], headers: right) { $0.authorize("wrong") },
    ]
    for exchange in refused {
      #expect(exchange.status == 401)
      #expect(exchange.fields["www-authenticate"]?.hasPrefix("Bearer") == true)
    }
    #expect(peer.metrics.count(of: ServerRefusal.credentials) == 6)
    #expect(peer.metrics.requestCount(.write, by: .webChannel, code: 16) == 6)
    #expect(peer.metrics.openChannels.value == 0)
    #expect(peer.metrics.openStreams.value == 0)
  }

  /// The lists of the target and the body are both taken, and all credentials have to be right.
  @Test func listsOfFieldsAreMerged() throws {
    let peer = try secured()
    let right = "Authorization:Bearer \(TestServer.secret)\r\n"
    let other = "X-Goog-Api-Client:gl-js/\r\n"
    func status(_ own: String?, target: String?, body: String?) -> Int? {
      ChannelClient.open(peer, "Listen", [], headers: body) { request in
        if let own { request.authorize(own) }
        if let target { request.target += "&%24httpHeaders=\(FormText.encoded(target))" }
      }
      .status
    }
    #expect(status(nil, target: right, body: other) == 200)
    #expect(status(TestServer.secret, target: other, body: right) == 200)
    #expect(status(TestServer.secret, target: right, body: nil) == 200)
    #expect(status(nil, target: "Authorization:Bearer wrong", body: right) == 401)
    #expect(status("wrong", target: right, body: right) == 401)
    #expect(status(nil, target: right, body: "Authorization:Bearer wrong") == 401)
    #expect(status(nil, target: right, body: "no field") == 400)
  }

  private func openEarly(
    _ server: TestServer, _ change: (inout TestRequest) -> Void = { _ in }
  ) -> TestExchange {
    var request = TestRequest("POST", Self.listen + "?VER=8&RID=1")
    change(&request)
    return server.begin(request)
  }

  @Test func wrongCredentialsAreRefusedBeforeTheBody() throws {
    let server = try TestServer.secured()
    #expect(openEarly(server) { $0.authorize("wrong") }.soFar.status == 401)
    let list = FormText.encoded("Authorization:Bearer wrong")
    #expect(openEarly(server) { $0.target += "&%24httpHeaders=" + list }.soFar.status == 401)
    let inBody = openEarly(server)
    inBody.send(Array("headers=\(list)".utf8))
    #expect(!inBody.soFar.isEnded)
    inBody.send(Array("&".utf8))
    #expect(inBody.soFar.status == 401)
    #expect(server.journal.metrics.count(of: ServerRefusal.credentials) == 3)
    #expect(server.journal.metrics.openRequests.value == 0)
  }

  @Test func theBodyOfAStrangerIsShort() throws {
    let server = try TestServer.secured()
    let budget = HeldMemory(bytesMax: 1 << 20)
    func begin() -> TestExchange {
      server.begin(TestRequest("POST", Self.listen + "?VER=8&RID=1"), budget: budget)
    }
    let stranger = begin()
    let piece = Array("count=0&x=".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: 8182)
    for _ in 0..<8 { stranger.send(piece) }
    #expect(!stranger.soFar.isEnded)
    stranger.send([UInt8(ascii: "&")])
    #expect(stranger.soFar.status == 401)
    #expect(budget.usedBytes == 0)
    #expect(server.journal.metrics.count(of: ServerRefusal.credentials) == 1)
    // The list need not be the first pair, and can arrive in any pieces.
    let list = FormText.encoded("Authorization:Bearer \(TestServer.secret)")
    for pieceBytes in [1, 7, 1000] {
      let known = begin()
      var rest = Array("count=0&ofs=0&headers=\(list)&x=".utf8)[...]
      while !rest.isEmpty {
        known.send(Array(rest.prefix(pieceBytes)))
        rest = rest.dropFirst(pieceBytes)
      }
      for _ in 0..<30 { known.send([UInt8](repeating: UInt8(ascii: "x"), count: 10_000)) }
      #expect(!known.soFar.isEnded)
      known.finish()
      #expect(known.answer().status == 200)
    }
  }

  @Test func anEmulatorTakesTheTokensOfAnEmulator() throws {
    let peer = try ChannelPeer()
    #expect(ChannelClient.open(peer, "Listen", [], headers: "Authorization:Bearer owner\r\n").status == 200)
    #expect(ChannelClient.open(peer, "Listen", [], headers: "Authorization:Bearer x.y\r\n").status == 400)
  }

  // MARK: Requests that are none

  @Test func everythingElseIsABadRequest() throws {
    let peer = try ChannelPeer()
    let sid = String(repeating: "0", count: 32)
    let requests = [
      ("PUT", Self.listen), ("HEAD", Self.listen), ("DELETE", Self.listen), ("GET", Self.listen),
      ("GET", "\(Self.listen)?SID=\(sid)&RID=rpc&TYPE=xmlhttp"), ("POST", "\(Self.listen)?SID=\(sid)"),
      ("POST", "\(Self.listen)?SID=null"), ("GET", "\(Self.listen)?SID=\(sid)&TYPE=terminate"),
    ]
    for (method, target) in requests {
      let exchange = peer.begin(method, target, method == "POST" ? "count=0" : "")
      #expect(exchange.status == 400, "\(method) \(target)")
      #expect(exchange.text.contains(#""status":"INVALID_ARGUMENT""#))
    }
    #expect(peer.metrics.requestCount(.listen, by: .webChannel, code: 3) == UInt64(requests.count))
    #expect(peer.metrics.openRequests.value == 0)
    // Clients look for these words, which are not at the beginning.
    let unknown = peer.begin("POST", "\(Self.listen)?SID=\(sid)", "count=0").text
    #expect(unknown.contains("Unknown SID"))
    #expect(!unknown.hasPrefix("Unknown SID"))
    #expect(peer.begin("POST", "/google.firestore.v1.Firestore/Commit/channel", "count=0").status == 404)
  }

  @Test func malformedBodiesOpenNothingAndSendNothing() throws {
    let peer = try ChannelPeer()
    for body in ["", "count=1&ofs=0", "count=0&headers=a", "count=%zz", "count=999999999&ofs=0"] {
      #expect(peer.begin("POST", "\(Self.listen)?VER=8", body).status == 400, "\(body)")
    }
    #expect(peer.metrics.openChannels.value == 0)
    let client = try ChannelClient(peer, "Listen", [])
    let target = "\(Self.listen)?VER=8&SID=\(client.sid)&RID=1&AID=0"
    #expect(peer.begin("POST", target, "count=2&ofs=0&req0___data__=x").status == 400)
    #expect(client.forward([], offset: 0).text == "7\n[0,0,0]")
  }

  @Test func aSessionBelongsToOneMethod() throws {
    let peer = try ChannelPeer()
    let client = try ChannelClient(peer, "Listen", [])
    let other = ChannelClient(peer, "Write", sid: client.sid)
    #expect(other.back(0).status == 400)
    #expect(other.terminate().status == 400)
    #expect(client.forward([], offset: 0).status == 200)
  }

  // MARK: Limits

  @Test func aConnectionOpensTenSessions() throws {
    let peer = try ChannelPeer()
    var clients: [ChannelClient] = []
    for _ in 0..<10 { clients.append(try ChannelClient(peer, "Listen", [])) }
    let refused = ChannelClient.open(peer, "Listen", [])
    #expect(refused.status == 429)
    #expect(peer.metrics.count(of: ServerRefusal.connectionChannels) == 1)
    #expect(ChannelClient.open(peer, "Listen", []) { $0.connection = 2 }.status == 200)
    // A session that ends makes room.
    _ = clients[0].terminate()
    #expect(ChannelClient.open(peer, "Listen", []).status == 200)
    #expect(ChannelClient.open(peer, "Listen", []).status == 429)
  }

  @Test func aServerHasAMaximumOfSessions() throws {
    let peer = try ChannelPeer(channels: { $0.channelsMax = 2 })
    for connection: UInt64 in 1...2 {
      #expect(ChannelClient.open(peer, "Listen", []) { $0.connection = connection }.status == 200)
    }
    #expect(ChannelClient.open(peer, "Listen", []) { $0.connection = 3 }.status == 429)
    #expect(peer.metrics.count(of: ServerRefusal.channels) == 1)
    // A session without a back channel ends by itself.
    peer.advance(seconds: 10)
    #expect(peer.metrics.count(of: ServerRefusal.channelTimeout) == 2)
    #expect(ChannelClient.open(peer, "Listen", []).status == 200)
  }

  @Test func anAddressHasAMaximumOfSessions() throws {
    let peer = try ChannelPeer(channels: { $0.channelsPerAddressMax = 2 })
    func open(_ address: String, _ connection: UInt64, isProxy: Bool = false) -> TestChannelExchange {
      ChannelClient.open(peer, "Listen", []) { request in
        request.peer = address
        request.connection = connection
        request.isProxy = isProxy
      }
    }
    #expect((1...2).allSatisfy { open("10.0.0.1", $0).status == 200 })
    let refused = open("10.0.0.1", 3)
    #expect(refused.status == 429 && refused.text.contains("RESOURCE_EXHAUSTED"))
    #expect(peer.metrics.count(of: ServerRefusal.addressChannels) == 1)
    #expect(open("10.0.0.2", 4).status == 200)
    // Many clients share the addresses of proxies and of this machine.
    #expect((5...9).allSatisfy { open("10.0.0.3", $0, isProxy: true).status == 200 })
    #expect((10...14).allSatisfy { open("127.0.0.1", $0).status == 200 })
    peer.advance(seconds: 10)
    #expect((15...16).allSatisfy { open("10.0.0.1", $0).status == 200 })
    #expect(open("10.0.0.1", 17).status == 429)
  }

  @Test func aSessionNeedsABackChannelSoon() throws {
    let peer = try ChannelPeer()
    let unused = try ChannelClient(peer, "Listen", [])
    let used = try ChannelClient(peer, "Listen", [])
    used.back(0).cancel()
    peer.advance(seconds: 9)
    #expect(unused.forward([], offset: 0).status == 200)
    peer.advance(seconds: 1)
    #expect(unused.forward([], offset: 0).status == 400)
    #expect(peer.metrics.count(of: ServerRefusal.channelTimeout) == 1)
    peer.advance(seconds: 49)
    #expect(used.forward([], offset: 0).status == 200)
    peer.advance(seconds: 1)
    #expect(used.forward([], offset: 0).status == 400)
  }

  @Test func aSessionEndsWithItsClientBeforeTheAnswer() throws {
    let peer = try ChannelPeer()
    // The answer was given, and the client is gone before it has it.
    let opened = ChannelClient.open(peer, "Listen", [ChannelClient.watch("rooms/a")])
    #expect(peer.metrics.openChannels.value == 1)
    opened.cancel()
    peer.run()
    #expect(peer.metrics.openChannels.value == 0)
    #expect(peer.metrics.openStreams.value == 0)
    #expect(peer.metrics.requestCount(.listen, by: .webChannel, code: 1) == 1)
    // The client is gone while its body is read on the pool.
    let text = String(repeating: "x", count: 20_000)
    let body = ChannelClient.form([ChannelClient.update("rooms/a", text: text)])
    let early = TestChannelExchange(
      TestRequest("POST", ChannelClient.path("Write") + "?VER=8", body: body), peer)
    let block = try #require(peer.pool.first())
    peer.loop.elsewhere(block)
    early.cancel()
    peer.run()
    #expect(peer.metrics.openChannels.value == 0)
    #expect(peer.metrics.openStreams.value == 0)
    // Neither keeps the place of a session.
    for _ in 0..<10 { #expect(ChannelClient.open(peer, "Listen", []).status == 200) }
  }

  @Test func theClientsOfAProxyShareItsConnections() throws {
    let peer = try ChannelPeer()
    for _ in 0..<11 {
      #expect(ChannelClient.open(peer, "Listen", []) { $0.isProxy = true }.status == 200)
    }
  }

  @Test func largeBodiesAreRefused() throws {
    var limits = HTTPLimits()
    limits.messageBytesMax = 1000
    let peer = try ChannelPeer(limits: limits)
    let client = try ChannelClient(peer, "Write", [])
    let long = [String(repeating: "x", count: 1000)]
    let forward = client.forward(long, offset: 0)
    #expect(forward.status == 413)
    #expect(forward.sink.refusals == [.messageSize])
    #expect(ChannelClient.open(peer, "Write", long).status == 413)
    #expect(peer.metrics.openRequests.value == 1)
    let announced = ChannelClient.open(peer, "Write", []) { $0.fields.append(("content-length", "3003")) }
    #expect(announced.status == 413)
  }

  @Test func aFormCountsWithoutItsPercentEncoding() throws {
    var limits = HTTPLimits()
    limits.messageBytesMax = 1000
    let budget = HeldMemory(bytesMax: 64 * 1024)
    let peer = try ChannelPeer(limits: limits, budget: budget)
    let client = try ChannelClient(peer, "Write", [])
    let form = ChannelClient.form([""])
    func send(_ count: Int) -> TestChannelExchange {
      client.forward([String(repeating: "\"", count: count)], offset: 0)
    }
    // Each quotation mark is three characters of the body.
    let rest = 1000 - form.utf8.count
    #expect(send(rest).status == 200)
    #expect(send(rest + 1).status == 413)
    // A text of signs without digits does not pass for a short one.
    let signs = peer.begin("POST", Self.listen + "?VER=8", String(repeating: "%", count: 3003))
    #expect(signs.status == 413)
    #expect(budget.usedBytes == 0)
  }

  @Test func bodiesCountAsHeldMemory() throws {
    let peer = try ChannelPeer(budget: HeldMemory(bytesMax: 128 * 1024))
    let exchange = ChannelClient.open(peer, "Write", [String(repeating: "x", count: 256 * 1024)])
    #expect(exchange.status == 429)
    #expect(exchange.sink.refusals == [.heldBytes])
    #expect(peer.budget.usedBytes == 0)
  }

  @Test func earlyRequestsHaveALimit() throws {
    let peer = try ChannelPeer(channels: { $0.earlyRequestsMax = 1 })
    let client = try ChannelClient(peer, "Write", [])
    #expect(client.forward(["x"], offset: 5).status == 200)
    let refused = client.forward(["x"], offset: 6)
    #expect(refused.status == 429)
    #expect(peer.metrics.count(of: ServerRefusal.channelRequests) == 1)
  }

  /// A body that takes time to read does not block the loop.
  @Test func longBodiesAreReadOnThePool() throws {
    let peer = try ChannelPeer()
    let text = String(repeating: "é😀", count: 10_000)
    let client = try ChannelClient(peer, "Write", [ChannelClient.openWrite])
    #expect(client.forward([ChannelClient.update("rooms/a", text: text)], offset: 1).status == 200)
    var arrays: [TestChannelExchange.Array] = []
    while arrays.count < 2 {
      let poll = client.back(arrays.last?.number ?? 0, polls: true)
      try peer.wait { poll.isEnded }
      try #require(poll.status == 200)
      arrays += poll.arrays
    }
    #expect(arrays[1].text.contains("commitTime"))
  }
}
