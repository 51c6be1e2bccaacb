// Tests of the server with real sockets on loopback.

#if Server && TLS
import ByteStore
import Harness
import Testing

@testable import HTTPTransport

@Suite(.timeLimit(.minutes(1))) struct HTTPServerTests {
  @Test func requestsOfManyConnectionsAreAnswered() throws {
    let server = try RunningServer()
    defer { server.stop() }
    let clients = try (0..<20).map { _ in try RawClient(server.port) }
    for client in clients { client.send(Self.request("/now")) }
    for client in clients { #expect(client.receive(until: "answer")) }
    #expect(server.recorder.records.count == 20)
    #expect(server.recorder.records.allSatisfy { $0.isFinished && !$0.isCancelled })
  }

  @Test func aRequestThatArrivesByteByByteIsAnswered() throws {
    let server = try RunningServer()
    defer { server.stop() }
    let client = try RawClient(server.port)
    for byte in Self.request("/now") { client.send([byte]) }
    #expect(client.receive(until: "answer"))
  }

  @Test func aClientThatGoesAwayCancelsItsRequest() throws {
    let server = try RunningServer()
    defer { server.stop() }
    let client = try RawClient(server.port)
    client.send(Self.request("/later"))
    server.recorder.wait { $0.count == 1 }
    client.close()
    server.recorder.wait { $0[0].isCancelled }
    server.refusals.waitForConnections(0)
  }

  @Test func answersFromOtherThreadsReachTheClient() throws {
    let server = try RunningServer()
    defer { server.stop() }
    let client = try RawClient(server.port)
    client.send(Self.request("/later"))
    server.recorder.wait { $0.count == 1 }
    let response = try #require(server.recorder.responses.first)
    response.queue.add {
      response.begin(200)
      response.send(Array("from a pool".utf8))
      response.end()
    }
    #expect(client.receive(until: "from a pool"))
  }

  @Test func drainingAnswersOpenRequestsAndRefusesNewConnections() throws {
    let server = try RunningServer()
    let client = try RawClient(server.port)
    client.send(Self.request("/later"))
    server.recorder.wait { $0.count == 1 }
    let response = try #require(server.recorder.responses.first)
    let drained = server.drainInBackground(within: 20)
    #expect(client.receive(until: "\u{0}\u{0}\u{8}\u{7}"))
    response.answer(200, HTTPFields(), body: Array("at the end".utf8))
    #expect(client.receive(until: "at the end"))
    client.close()
    drained.withLock(when: { $0 }) { _ in }
    #expect(throws: RawClient.Refused.self) { try RawClient(server.port) }
  }

  @Test func drainingCutsWhatIsOpenAfterItsTime() throws {
    let server = try RunningServer()
    let client = try RawClient(server.port)
    client.send(Self.request("/later"))
    server.recorder.wait { $0.count == 1 }
    server.server.drain(within: 0)
    #expect(server.recorder.records[0].isCancelled)
    #expect(server.server.connectionCount == 0)
  }

  @Test func connectionsOverTheLimitAreClosed() throws {
    var limits = HTTPLimits()
    limits.connectionsMax = 2
    let server = try RunningServer(limits)
    defer { server.stop() }
    let clients = try (0..<3).map { _ in try RawClient(server.port) }
    #expect(clients[2].receivesEnd())
    #expect(server.refusals.refusals.contains(.connections))
    server.refusals.waitForConnections(2)
    clients[0].close()
    server.refusals.waitForConnections(1)
    let next = try RawClient(server.port)
    next.send(Self.request("/now"))
    #expect(next.receive(until: "answer"))
  }

  @Test func connectionsWithoutRequestsAreClosed() throws {
    var limits = HTTPLimits()
    limits.idleSeconds = 0
    let server = try RunningServer(limits)
    defer { server.stop() }
    let client = try RawClient(server.port)
    client.send(Self.request("/now"))
    #expect(client.receivesEnd())
    #expect(server.recorder.records.count == 1 && server.refusals.refusals == [.idle])
  }

  @Test func connectionsThatSendNothingAreClosed() throws {
    var limits = HTTPLimits()
    limits.firstByteSeconds = 0
    let server = try RunningServer(limits)
    defer { server.stop() }
    let client = try RawClient(server.port)
    #expect(client.receivesEnd())
    #expect(server.refusals.refusals == [.firstByteTimeout])
  }

  @Test(arguments: [false, true]) func connectionsThatStopAfterAFewBytesAreClosed(isEncrypted: Bool) throws {
    var limits = HTTPLimits()
    limits.headerSeconds = 0
    let server = try RunningServer(limits, isEncrypted: isEncrypted)
    defer { server.stop() }
    let client = try RawClient(server.port)
    // The beginnings of a ClientHello and of the preface.
    client.send(isEncrypted ? [22, 3, 1, 2] : Array("PR".utf8))
    #expect(client.receivesEnd())
    #expect(server.refusals.refusals == [isEncrypted ? .tlsHandshake : .headerTimeout])
  }

  @Test func garbageEndsOnlyItsOwnConnection() throws {
    let server = try RunningServer()
    defer { server.stop() }
    let good = try RawClient(server.port)
    var random = SeededRandom(seed: 7)
    for _ in 0..<50 {
      let client = try RawClient(server.port)
      client.send(FrameWriter.preface + random.bytes(1 + random.below(500)))
      client.finish()
      #expect(client.receivesEnd())
      client.close()
    }
    good.send(Self.request("/now"))
    #expect(good.receive(until: "answer"))
    server.refusals.waitForConnections(1)
  }

  @Test(arguments: [ApplicationProtocol.h2, .http1]) func encryptedConnectionsAreAnswered(
    version: ApplicationProtocol
  ) throws {
    let server = try RunningServer(isEncrypted: true)
    defer { server.stop() }
    let client = try EncryptedClient(server.port, version)
    #expect(client.applicationProtocol == version)
    try client.send(
      version == .h2 ? Self.request("/now") : Array("GET /now HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
    #expect(try client.receive(until: "answer"))
    #expect(server.recorder.records.map(\.isFinished) == [true])
    client.close()
    server.refusals.waitForConnections(0)
  }

  @Test func plainRequestsOnAnEncryptedPortAreRefused() throws {
    let server = try RunningServer(isEncrypted: true)
    defer { server.stop() }
    let client = try RawClient(server.port)
    client.send(Self.request("/now"))
    #expect(client.receivesEnd())
    client.close()
    server.refusals.waitForConnections(0)
    #expect(server.refusals.refusals == [.tlsHandshake] && server.recorder.records.isEmpty)
  }

  @Test func bothVersionsShareAPort() throws {
    let server = try RunningServer()
    defer { server.stop() }
    let old = try RawClient(server.port)
    old.send(Array("POST /now HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab".utf8))
    #expect(old.receive(until: "answer"))
    let new = try RawClient(server.port)
    new.send(Self.request("/now"))
    #expect(new.receive(until: "answer"))
    #expect(server.recorder.records.map(\.body) == [[97, 98], []])
  }

  @Test func anAddressInUseIsAnErrorThatNamesIt() throws {
    let server = try RunningServer()
    defer { server.stop() }
    let second = try HTTPServer(
      HTTPServerOptions([ListenAddress(host: "127.0.0.1", port: server.port)]), handler: RequestRecorder(),
      observer: RefusalRecorder())
    #expect {
      try second.start()
    } throws: { error in
      "\(error)" == "cannot listen on 127.0.0.1:\(server.port): Address already in use"
    }
  }

  private static func request(_ path: String) -> [UInt8] {
    var writer = FrameWriter.opened()
    writer.request(1, path: path)
    return writer.bytes
  }
}

/// A server on a port of the system's choice.
private final class RunningServer: Sendable {
  let recorder = RequestRecorder()
  let refusals = RefusalRecorder()
  let server: HTTPServer
  let port: Int

  init(_ limits: HTTPLimits = HTTPLimits(), isEncrypted: Bool = false) throws {
    var options = HTTPServerOptions([
      ListenAddress(host: "127.0.0.1", port: 0, isEncrypted: isEncrypted)
    ])
    if isEncrypted {
      let files = TLSFiles.originals
      options.tls = try TLSContext(
        certificateFile: files.path("server.pem"), keyFile: files.path("server-key.pem"))
    }
    options.limits = limits
    options.loopCount = 2
    server = try HTTPServer(options, handler: recorder, observer: refusals)
    port = try server.start()[0]
  }

  func stop() { server.drain(within: 0) }

  func drainInBackground(within seconds: Int) -> Locked<Bool> {
    let isDone = Locked(false)
    _ = Thread.start { [server] in
      server.drain(within: seconds)
      isDone.withLock { $0 = true }
      isDone.wakeAll()
    }
    return isDone
  }
}

#endif
