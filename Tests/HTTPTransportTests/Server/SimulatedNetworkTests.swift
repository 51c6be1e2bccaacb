// Tests of connections and listeners on a simulated network, step by step.

#if Server
import Testing

@testable import HTTPTransport
@testable import Harness

@Suite struct SimulatedNetworkTests {
  @Test func aConnectionThatBreaksWhileItIsFlushedIsNotReadFrom() throws {
    let server = try SteppedServer(plan(answerBytes: 300_000))
    let client = try #require(server.network.connect(from: "10.0.0.1"))
    server.send(client)
    server.run()
    #expect(client.sentCount > 0 && server.network.queues[0].isReady == false)
    client.clientClose(resets: true)
    server.deliverAll(client)
    // The socket can be written to and has failed: the flush closes it before the read.
    server.turn()
    #expect(server.network.violation == nil)
    #expect(client.isClosedByServer && server.server.connectionCount == 0)
  }

  @Test func aConnectionThatIsClosedInATurnSendsNothingAtTheEndOfTheTurn() throws {
    let server = try SteppedServer(plan(answerBytes: 300_000))
    let client = try #require(server.network.connect(from: "10.0.0.1"))
    server.send(client)
    server.fillBuffers(client)
    server.network.advance(UInt64(server.limits.unreadSeconds + 1) * 1_000_000_000)
    // Bytes arrive in the turn in which the client is closed, because it reads nothing.
    _ = client.clientSend(Array("GET ".utf8)[...])
    server.deliverAll(client)
    server.turn()
    #expect(server.network.violation == nil)
    #expect(client.isClosedByServer && server.observer.refusals == [.unread: 1])
  }

  @Test func aListenerWithoutDescriptorsWaits() throws {
    let server = try SteppedServer(plan(answerBytes: 10))
    server.run()
    server.network.faults.scarce = 0..<2_000_000_000
    let client = try #require(server.network.connect(from: "10.0.0.1"))
    server.run()
    #expect(server.observer.refusals == [.descriptors: 1] && !server.network.queues[0].isReady)
    // It looks again ten times a second.
    for _ in 0..<25 {
      server.network.advance(100_000_000)
      server.run()
    }
    #expect((15...21).contains(server.observer.refusals[.descriptors] ?? 0))
    server.send(client)
    server.run()
    #expect(client.sentCount > 0)
  }

  @Test func withASpareDescriptorAConnectionIsRefusedAtOnce() throws {
    let server = try SteppedServer(plan(answerBytes: 10))
    server.run()
    server.network.faults.descriptorsMax = 2
    let clients = try (1...3).map { try #require(server.network.connect(from: "10.0.0.\($0)")) }
    server.run()
    #expect(clients.allSatisfy { $0.isClosedByServer })
    #expect(server.observer.refusals == [.descriptors: 3])
  }

  @Test func aDrainClosesAConnectionThatHasSentAPartOfARequestLine() throws {
    let server = try SteppedServer(plan(answerBytes: 10))
    let client = try #require(server.network.connect(from: "10.0.0.1"))
    // These bytes could also begin HTTP/2.
    _ = client.clientSend(Array("P".utf8)[...])
    server.run()
    server.deliverAll(client)
    server.run()
    server.server.beginDrain()
    server.run()
    #expect(client.isClosedByServer)
  }

  @Test func aDrainBeginsNoRequestThatItsGoAwayExcludes() throws {
    let server = try SteppedServer(plan(answerBytes: 30_000))
    let client = try #require(server.network.connect(from: "10.0.0.1"))
    var writer = FrameWriter.opened()
    writer.request(1, path: "/plan/1")
    _ = client.clientSend(writer.bytes[...])
    server.run()
    server.deliverAll(client)
    server.run()
    // The client does not read, so the end of the requests cannot be sent yet.
    server.server.beginDrain()
    server.run()
    var second = FrameWriter()
    second.request(3, path: "/plan/2")
    _ = client.clientSend(second.bytes[...])
    server.deliverAll(client)
    server.run()
    #expect(server.handler.records.keys.sorted() == [1])
    var answers = HTTP2Answers()
    answers.expect(plan(answerBytes: 30_000))
    answers.expect(RequestPlan(id: 2, answer: .atFinish, answerBytes: 1, pieceBytes: 1, bodyBytes: 0))
    server.read(client, &answers)
    #expect(answers.answered == [1] && answers.unbegunRequests == [2])
    #expect(client.toClient.isEnded && server.network.violation == nil)
  }

  private func plan(answerBytes: Int) -> RequestPlan {
    RequestPlan(id: 1, answer: .atFinish, answerBytes: answerBytes, pieceBytes: answerBytes, bodyBytes: 0)
  }
}

/// A server whose turns a test runs.
private final class SteppedServer {
  let network = SimulatedNetwork(seed: 1)
  let observer: NetworkObserver
  let handler: PlannedHandler
  let limits = HTTPLimits()
  let server: HTTPServer
  private let pool = SimulatedPool()
  private var random = SeededRandom(seed: 2)

  init(_ plan: RequestPlan) throws {
    observer = NetworkObserver(network)
    handler = PlannedHandler(network, limits: limits)
    handler.add(plan)
    var second = plan
    second.id = plan.id + 1
    handler.add(second)
    var options = HTTPServerOptions([ListenAddress(host: "10.0.0.0", port: 8080)])
    options.loopCount = 1
    options.sockets = network
    options.pool = pool
    server = try HTTPServer(options, handler: handler, observer: observer)
    _ = try server.startWithoutThreads()
    run()
  }

  func turn() { _ = server.loops[0].runTurn() }

  /// Runs turns until nothing is ready. Fails if there is no end.
  func run() {
    for _ in 0..<1000 {
      turn()
      guard network.queues[0].isReady || server.loops[0].waitMilliseconds == 0 else { return }
    }
    Issue.record("the loop is busy for nothing")
  }

  /// Sends the planned request.
  func send(_ client: SimulatedLink) {
    var bytes = Array("GET /plan/1 HTTP/1.1\r\nhost: a\r\n\r\n".utf8)[...]
    while !bytes.isEmpty {
      bytes = bytes.dropFirst(client.clientSend(bytes))
      run()
      deliverAll(client)
    }
  }

  func deliverAll(_ client: SimulatedLink) {
    while client.canDeliver(at: network.now) { client.deliver(&random) }
  }

  /// Runs until nothing more fits into the buffers of the connection.
  func fillBuffers(_ client: SimulatedLink) {
    var before = -1
    while client.sentCount > before {
      before = client.sentCount
      run()
      deliverAll(client)
    }
  }

  /// Reads until the server has nothing more to send.
  func read(_ client: SimulatedLink, _ answers: inout HTTP2Answers) {
    while true {
      deliverAll(client)
      guard case .bytes(let bytes) = client.clientReceive(.max) else { return }
      do throws(NetworkViolation) { _ = try answers.receive(bytes) } catch { Issue.record("\(error.text)") }
      run()
    }
  }
}
#endif
