// A server over a store in memory, without sockets.

import Authority
import ByteStore
import Dispatch
import DocumentStore
import FirestoreService
import FirestoreWire
import OfflineSync

@testable import FirestoreServer
@testable import HTTPTransport

struct TestServer: Sendable {
  static let database = "projects/demo-shop/databases/(default)"
  static let documents = "\(database)/documents"
  static let secret = "0123456789abcdef-secret"

  let store: DocumentStore
  let handler: FirestoreHandler
  let journal: RequestJournal
  let lines = LogLines()
  let clock = TestServerClock()

  /// An emulator, unless `change` says something else.
  init(
    _ change: (inout ServerConfiguration) -> Void = { _ in }, limits: HTTPLimits = HTTPLimits(),
    databases: (any DatabaseSource)? = nil, channels: ChannelOptions = ChannelOptions()
  ) throws {
    store = try DocumentStore.openInMemory()
    var configuration = ServerConfiguration()
    configuration.isEmulator = true
    configuration.log = lines.log(.json)
    change(&configuration)
    let name = try DatabaseName(Self.database)
    journal = RequestJournal(configuration.log, clock: clock)
    let database = OpenDatabase(name: name, store: store, authority: try Authority.of(store))
    handler = try FirestoreHandler(
      configuration, databases ?? SingleDatabase(database), journal: journal, limits: limits,
      channels: channels)
  }

  /// A server that wants the secret.
  static func secured(_ change: (inout ServerConfiguration) -> Void = { _ in }) throws -> TestServer {
    try TestServer { configuration in
      configuration.isEmulator = false
      configuration.adminSecret = Self.secret
      change(&configuration)
    }
  }

  // MARK: Requests

  func begin(_ request: TestRequest, budget: HeldMemory = .unlimited) -> TestExchange {
    TestExchange(request, handler, budget: budget)
  }

  /// Sends a request, and returns its complete answer.
  func send(_ request: TestRequest) -> TestAnswer {
    let exchange = begin(request)
    exchange.send(request.body)
    exchange.finish()
    return exchange.answer()
  }

  func get(_ target: String, _ change: (inout TestRequest) -> Void = { _ in }) -> TestAnswer {
    var request = TestRequest("GET", target)
    change(&request)
    return send(request)
  }

  /// Makes a call of gRPC with these messages.
  func call(
    _ method: String, _ messages: [UInt8]..., change: (inout TestRequest) -> Void = { _ in }
  ) -> TestAnswer {
    var request = TestRequest.call(method)
    request.body = messages.flatMap(TestRequest.framed)
    change(&request)
    return send(request)
  }

  func call(
    _ method: String, _ message: some WireMessage, change: (inout TestRequest) -> Void = { _ in }
  ) throws -> TestAnswer { call(method, try message.protobuf(), change: change) }

  // MARK: Messages

  static func commit(_ path: String, _ number: Int64) -> Wire.CommitRequest {
    var document = Wire.Document()
    document.name = "\(documents)/\(path)"
    document.fields = StoredMap([(name: "n", value: .integer(number))])
    var write = Wire.Write()
    write.operation = .update(document)
    var request = Wire.CommitRequest()
    request.database = database
    request.writes = [write]
    return request
  }

  static func get(_ path: String, in documents: String = documents) -> Wire.GetDocumentRequest {
    var request = Wire.GetDocumentRequest()
    request.name = "\(documents)/\(path)"
    return request
  }
}

/// A request with the fields that a well-behaved client of this machine sends.
struct TestRequest {
  var method: String
  var target: String
  var authority = "localhost:8080"
  var fields: [(name: String, value: String)] = []
  var body: [UInt8] = []
  var version = 2
  var listener = 0
  var connection: UInt64 = 1
  var isProxy = false
  var peer = "127.0.0.1"

  init(_ method: String, _ target: String, body: String = "") {
    self.method = method
    self.target = target
    self.body = Array(body.utf8)
  }

  static func call(_ method: String) -> TestRequest {
    let path = method.hasPrefix("/") ? method : "/google.firestore.v1.Firestore/\(method)"
    var request = TestRequest("POST", path)
    request.fields = [("content-type", "application/grpc"), ("te", "trailers")]
    return request
  }

  static func framed(_ message: [UInt8]) -> [UInt8] {
    let length = UInt32(message.count)
    return [0] + (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32($0))) } + message
  }

  mutating func authorize(_ secret: String = TestServer.secret) {
    fields.append(("authorization", "Bearer \(secret)"))
  }

  var http: HTTPRequest {
    var all = HTTPFields()
    for field in fields { all.append(name: Array(field.name.utf8), value: Array(field.value.utf8)) }
    var info = ConnectionInfo(
      number: connection, peer: peer, isLoopback: peer == "127.0.0.1", version: version, listener: listener)
    info.isProxy = isProxy
    return HTTPRequest(method: method, target: target, authority: authority, fields: all, connection: info)
  }
}

/// A request that is being answered.
final class TestExchange: Sendable {
  private let receiver: any HTTPBodyReceiver
  private let sink = TestSink()
  private let loop = TestLoop()
  private let response: HTTPResponse

  init(_ request: TestRequest, _ handler: FirestoreHandler, budget: HeldMemory = .unlimited) {
    response = HTTPResponse(loop, sink, queue: ResponseQueue(on: TestPool()), budget: budget)
    receiver = handler.begin(request.http, response)
  }

  func send(_ bytes: [UInt8]) { if !bytes.isEmpty { receiver.receive(bytes[...]) } }
  func send(message: [UInt8]) { send(TestRequest.framed(message)) }
  func finish() { receiver.finish() }

  /// Lets the work for the answer wait, as if its client did not read.
  func pause() { response.queue.setPaused(true) }

  func cancel() {
    response.queue.close()
    receiver.cancel()
  }

  /// Waits for the end of the answer.
  func answer() -> TestAnswer { sink.state.withLock(when: { $0.isEnded }) { $0 } }

  /// Waits until the answer has this number of messages, and returns it as it is then.
  func answer(messages count: Int) -> TestAnswer {
    sink.state.withLock(when: { $0.messages.count >= count || $0.isEnded }) { $0 }
  }

  var soFar: TestAnswer { sink.state.withLock { $0 } }
}

/// An answer, as its client sees it.
struct TestAnswer: Sendable {
  fileprivate(set) var status = 0
  fileprivate(set) var fields = HTTPFields()
  fileprivate(set) var trailers = HTTPFields()
  fileprivate(set) var pieces: [[UInt8]] = []
  fileprivate(set) var isEnded = false

  var body: [UInt8] { Array(pieces.joined()) }
  var text: String { String(decoding: body, as: UTF8.self) }

  /// The status of gRPC.
  var code: Int? { (trailers["grpc-status"] ?? fields["grpc-status"]).flatMap { Int($0) } }
  var message: String? { trailers["grpc-message"] ?? fields["grpc-message"] }

  /// The messages of gRPC.
  var messages: [[UInt8]] {
    var messages: [[UInt8]] = []
    var rest = body[...]
    while rest.count >= 5 {
      let length = rest.dropFirst().prefix(4).reduce(0) { $0 << 8 | Int($1) }
      guard rest.count >= 5 + length else { break }
      messages.append(Array(rest.dropFirst(5).prefix(length)))
      rest = rest.dropFirst(5 + length)
    }
    return messages
  }
}

/// Keeps what a response sends.
private final class TestSink: ResponseSink, Sendable {
  let state = Locked(TestAnswer())

  private func change(_ body: (inout TestAnswer) -> Void) {
    state.withLock { answer in
      // A response ends once, and nothing follows.
      if !answer.isEnded { body(&answer) }
    }
    state.wakeAll()
  }

  func begin(_ status: Int, _ fields: HTTPFields) {
    change { answer in
      answer.status = status
      answer.fields = fields
    }
  }

  func send(_ bytes: [UInt8]) { change { $0.pieces.append(bytes) } }

  func end(_ trailers: HTTPFields) {
    change { answer in
      answer.trailers = trailers
      answer.isEnded = true
    }
  }

  func abort() { change { $0.isEnded = true } }
}

/// A loop for which every thread is its own, because the sink has a lock.
private final class TestLoop: LoopExecutor {
  private final class Timer: LoopTimer {
    func cancel() {}
  }

  var isCurrent: Bool { true }
  func execute(_ block: @escaping @Sendable () -> Void) { block() }
  func after(_ nanoseconds: UInt64, _ block: @escaping @Sendable () -> Void) -> any LoopTimer { Timer() }
}

private struct TestPool: BlockPool {
  func run(_ block: @escaping @Sendable () -> Void) { DispatchQueue.global().async(execute: block) }
}

/// The lines of a log.
final class LogLines: Sendable {
  private let lines = Locked<[String]>([])

  /// A log whose lines are here at once.
  func log(_ format: ServerLog.Format) -> ServerLog { .atOnce(format, append) }

  func append(_ line: String) { lines.withLock { $0.append(line) } }

  var all: [String] { lines.withLock { $0 } }
}

/// A clock that a test sets.
final class TestServerClock: StoreClock {
  private let nanoseconds = Locked<UInt64>(1_000)

  func advance(_ amount: UInt64) { nanoseconds.withLock { $0 += amount } }
  func wallMicroseconds() -> Int64 { 1_893_456_000_000_000 }
  func monotonicNanoseconds() -> UInt64 { nanoseconds.withLock { $0 } }
}
