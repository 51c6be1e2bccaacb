// Streams of requests: Listen and Write, and their end when the server shuts down.

import FirestoreWire
import Testing

@testable import FirestoreServer
@testable import HTTPTransport

@Suite struct StreamCallTests {
  private func listen(_ server: TestServer) throws -> TestExchange {
    let exchange = server.begin(.call("Listen"))
    var documents = Wire.Target.DocumentsTarget()
    documents.documents = ["\(TestServer.documents)/rooms/a"]
    var target = Wire.Target()
    target.targetType = .documents(documents)
    target.targetId = 1
    var request = Wire.ListenRequest()
    request.database = TestServer.database
    request.targetChange = .addTarget(target)
    exchange.send(message: try request.protobuf())
    return exchange
  }

  private func openWrite(_ server: TestServer) throws -> TestExchange {
    let exchange = server.begin(.call("Write"))
    var request = Wire.WriteRequest()
    request.database = TestServer.database
    exchange.send(message: try request.protobuf())
    #expect(exchange.answer(messages: 1).messages.count == 1)
    return exchange
  }

  private func write(_ exchange: TestExchange, _ number: Int64) throws {
    let token = try Wire.WriteResponse(protobuf: exchange.soFar.messages[0]).streamToken
    var request = Wire.WriteRequest()
    request.streamToken = token
    request.writes = TestServer.commit("rooms/a", number).writes
    exchange.send(message: try request.protobuf())
  }

  @Test func aWatchStreamDeliversChanges() throws {
    let server = try TestServer()
    let exchange = try listen(server)
    let before = exchange.answer(messages: 4).messages.count
    _ = try server.call("Commit", TestServer.commit("rooms/a", 1))
    let messages = exchange.answer(messages: before + 2).messages
    let changes = try messages.map { try Wire.ListenResponse(protobuf: $0) }
    #expect(changes.contains { if case .documentChange = $0.responseType { true } else { false } })
    #expect(server.journal.metrics.openStreams.value == 1)
    exchange.cancel()
    #expect(server.journal.metrics.openStreams.value == 0)
    #expect(server.journal.metrics.openRequests.value == 0)
    #expect(server.journal.metrics.requestCount(.listen, by: .grpc, code: 1) == 1)
  }

  @Test func aWriteStreamCommits() throws {
    let server = try TestServer()
    let exchange = try openWrite(server)
    try write(exchange, 5)
    let answer = try Wire.WriteResponse(protobuf: exchange.answer(messages: 2).messages[1])
    #expect(answer.writeResults.count == 1)
    exchange.finish()
    #expect(exchange.answer().code == 0)
    #expect(server.journal.metrics.openStreams.value == 0)
  }

  @Test func requestsOfAClientThatDoesNotReadAreLimited() throws {
    let server = try TestServer()
    let exchange = server.begin(.call("Write"))
    exchange.pause()
    for _ in 0...100 { exchange.send(message: [1]) }
    #expect(exchange.answer().code == 8)
    #expect(server.journal.metrics.openStreams.value == 0)
  }

  @Test func requestsThatWaitTakeMemoryOfTheConnection() throws {
    let server = try TestServer()
    let budget = HeldMemory(bytesMax: 1 << 20)
    let exchange = server.begin(.call("Write"), budget: budget)
    exchange.pause()
    let message = [UInt8](repeating: 0, count: 300_000)
    for _ in 1...3 { exchange.send(message: message) }
    #expect(budget.usedBytes > 800_000)
    #expect(!exchange.soFar.isEnded)
    exchange.send(message: message)
    #expect(exchange.answer().code == 8)
    #expect(budget.usedBytes == 0)
    #expect(server.journal.metrics.openStreams.value == 0)
  }

  @Test func aShutdownEndsWatchStreamsWithUnavailable() throws {
    let server = try TestServer()
    let exchange = try listen(server)
    _ = exchange.answer(messages: 3)
    server.handler.drain()
    #expect(exchange.answer().code == 14)
    #expect(server.journal.metrics.openStreams.value == 0)
    #expect(server.handler.runner.streams.count == 0)
  }

  @Test func aShutdownEndsWriteStreamsAfterTheirWrites() throws {
    let server = try TestServer()
    let exchange = try openWrite(server)
    for number in 1...20 { try write(exchange, Int64(number)) }
    server.handler.drain()
    let answer = exchange.answer()
    #expect(answer.code == 14)
    // Every write that the server took has its answer.
    #expect(answer.messages.count == 21)
    #expect(try server.call("GetDocument", TestServer.get("rooms/a")).code == 14)
  }

  @Test func aShutdownTakesNoMoreWritesOfAStream() throws {
    let server = try TestServer()
    let exchange = try openWrite(server)
    for number in 1...20 { try write(exchange, Int64(number)) }
    server.handler.drain()
    // A client that does not wait for answers goes on sending.
    for number in 21...60 { try write(exchange, Int64(number)) }
    let answer = exchange.answer()
    #expect(answer.code == 14)
    #expect(answer.messages.count == 21)
  }

  @Test func aServerThatShutsDownRefusesCalls() throws {
    let server = try TestServer()
    server.handler.drain()
    #expect(try server.call("Commit", TestServer.commit("rooms/a", 1)).code == 14)
    #expect(server.call("Listen").code == 14)
    #expect(server.get("/v1/\(TestServer.documents)/rooms/a").status == 503)
    #expect(server.send(TestRequest("DELETE", "/emulator/v1/\(TestServer.documents)")).status == 503)
    #expect(server.journal.metrics.count(of: .draining) == 4)
    #expect(server.journal.metrics.openRequests.value == 0)
  }

  @Test func aCallThatIsCancelledIsCounted() throws {
    let server = try TestServer()
    let exchange = server.begin(.call("Commit"))
    exchange.cancel()
    #expect(server.journal.metrics.requestCount(.commit, by: .grpc, code: 1) == 1)
    #expect(server.journal.metrics.openRequests.value == 0)
  }
}

@Suite struct HealthCallTests {
  @Test func serversTellTheirHealthWithoutCredentials() throws {
    let server = try TestServer.secured()
    let check = "/grpc.health.v1.Health/Check"
    #expect(server.call(check, []).messages == [[8, 1]])
    let name = Array("google.firestore.v1.Firestore".utf8)
    #expect(server.call(check, [0x0A, UInt8(name.count)] + name).messages == [[8, 1]])
    #expect(server.call(check, [0x0A, 1, UInt8(ascii: "x")]).code == 5)
    #expect(server.call(check, [0x0A, 9]).code == 3)
    #expect(server.call(check).code == 3)
    server.handler.drain()
    #expect(server.call(check, []).messages == [[8, 2]])
    #expect(server.call("/grpc.health.v1.Health/Watch", []).code == 16)
  }
}
