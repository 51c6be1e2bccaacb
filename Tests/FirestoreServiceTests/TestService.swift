// A service over a store in memory, with typed requests and answers.

import Authority
import ByteStore
import DocumentStore
import FirestoreWire
import OfflineSync

@testable import FirestoreService

struct TestService: Sendable {
  static let database = "projects/p/databases/(default)"
  static let documents = "\(database)/documents"

  let store: DocumentStore
  let authority: Authority
  let service: FirestoreService
  let clock = TestClock()
  var format = WireFormat.protobuf
  var metadata = CallMetadata()

  init(
    _ format: WireFormat = .protobuf, over store: DocumentStore? = nil,
    _ change: (inout ServiceOptions) -> Void = { _ in }
  ) throws {
    self.store = try store ?? DocumentStore.openInMemory()
    authority = try Authority.of(self.store)
    var options = ServiceOptions()
    options.clock = clock.service
    change(&options)
    service = try FirestoreService(databases: [Self.database: authority], options: options)
    self.format = format
  }

  static func name(_ path: String) -> String { "\(documents)/\(path)" }

  // MARK: Calls

  func begin(
    _ method: String, on queue: ServiceQueue? = nil, _ events: ServiceEvents
  ) -> ServiceCall {
    service.handle(method, metadata: metadata, format: format, on: queue) { events.add($0) }
  }

  /// The answers of a call with one request. Throws the error with which the call ends.
  func answers<Response: WireMessage>(
    _ method: String, _ request: some WireMessage, as type: Response.Type = Response.self
  ) throws -> [Response] {
    let events = ServiceEvents()
    let call = begin(method, events)
    call.send(try format.encode(request))
    call.finish()
    return try events.answers(in: format)
  }

  /// The answer of a unary call.
  func answer<Response: WireMessage>(
    _ method: String, _ request: some WireMessage, as type: Response.Type = Response.self
  ) throws -> Response {
    let answers = try answers(method, request, as: Response.self)
    guard let answer = answers.first, answers.count == 1 else {
      throw RemoteError(.internal, "\(answers.count) answers")
    }
    return answer
  }

  /// The error with which a call ends; nil if it succeeds.
  func error(_ method: String, _ request: some WireMessage) throws -> RemoteError? {
    let events = ServiceEvents()
    let call = begin(method, events)
    call.send(try format.encode(request))
    call.finish()
    guard case .ended(let error)? = events.all.last else { throw RemoteError(.internal, "no end") }
    return error
  }

  // MARK: Requests

  @discardableResult
  func commit(_ writes: [Wire.Write], in transaction: [UInt8] = []) throws -> Wire.CommitResponse {
    try answer("Commit", Self.commitRequest(writes, in: transaction))
  }

  static func commitRequest(_ writes: [Wire.Write], in transaction: [UInt8] = []) -> Wire.CommitRequest {
    var request = Wire.CommitRequest()
    request.database = database
    request.writes = writes
    request.transaction = transaction
    return request
  }

  func begin(_ mode: Wire.TransactionOptions.Mode? = nil) throws -> [UInt8] {
    var request = Wire.BeginTransactionRequest()
    request.database = Self.database
    if let mode {
      var options = Wire.TransactionOptions()
      options.mode = mode
      request.options = options
    }
    return try answer("BeginTransaction", request, as: Wire.BeginTransactionResponse.self).transaction
  }

  func rollback(_ transaction: [UInt8]) throws {
    var request = Wire.RollbackRequest()
    request.database = Self.database
    request.transaction = transaction
    _ = try answer("Rollback", request, as: Nothing.self)
  }

  func get(
    _ paths: String..., by selector: Wire.BatchGetDocumentsRequest.ConsistencySelector? = nil
  ) throws -> [Wire.BatchGetDocumentsResponse] {
    var request = Wire.BatchGetDocumentsRequest()
    request.database = Self.database
    request.documents = paths.map(Self.name)
    request.consistencySelector = selector
    return try answers("BatchGetDocuments", request)
  }

  /// Lets the time of all locks end, so that commits without a transaction do not wait.
  func endLocks() { clock.advance(seconds: 5) }

  /// Sets documents whose field n has these numbers.
  func set(_ numbers: KeyValuePairs<String, Int64>) throws {
    try commit(numbers.map { Self.set($0, $1) })
  }

  static func set(_ path: String, _ number: Int64) -> Wire.Write { set(path, [("n", .integer(number))]) }

  static func set(_ path: String, _ fields: [(String, StoredValue)]) -> Wire.Write {
    var document = Wire.Document()
    document.name = name(path)
    document.fields = StoredMap(fields.map { (name: $0, value: $1) })
    var write = Wire.Write()
    write.operation = .update(document)
    return write
  }

  static func delete(_ path: String) -> Wire.Write {
    var write = Wire.Write()
    write.operation = .delete(name(path))
    return write
  }
}

extension Wire.Write {
  func requiring(exists: Bool) -> Wire.Write {
    var write = self
    var precondition = Wire.Precondition()
    precondition.conditionType = .exists(exists)
    write.currentDocument = precondition
    return write
  }

  func requiring(_ time: Wire.Timestamp?) -> Wire.Write {
    var write = self
    var precondition = Wire.Precondition()
    precondition.conditionType = time.map { .updateTime($0) }
    write.currentDocument = precondition
    return write
  }
}

/// An answer without fields.
struct Nothing: WireMessage {
  init() {}
  mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {}
}

/// The events of a call. A test can wait for them.
final class ServiceEvents: Sendable {
  private let events = Locked<[ServiceEvent]>([])

  func add(_ event: ServiceEvent) {
    events.withLock { $0.append(event) }
    events.wakeAll()
  }

  var all: [ServiceEvent] { events.withLock { $0 } }

  /// Waits until a condition holds for all events so far.
  func wait(until condition: ([ServiceEvent]) -> Bool) -> [ServiceEvent] {
    events.withLock(when: condition) { $0 }
  }

  /// Waits for this number of events, and removes them.
  func take(_ count: Int) -> [ServiceEvent] {
    events.withLock(when: { $0.count >= count }) { events in
      defer { events.removeFirst(count) }
      return Array(events.prefix(count))
    }
  }

  /// The messages of a call that has ended. Throws the error with which it ended.
  func answers<Response: WireMessage>(
    in format: WireFormat, as type: Response.Type = Response.self
  ) throws -> [Response] {
    var answers: [Response] = []
    for event in wait(until: { $0.contains(where: \.isEnd) }) {
      switch event {
      case .message(let bytes): answers.append(try format.decode(Response.self, bytes))
      case .ended(let error?): throw error
      case .ended(nil): break
      }
    }
    return answers
  }
}

extension ServiceEvent {
  var isEnd: Bool { if case .ended = self { true } else { false } }

  func message<Message: WireMessage>(
    in format: WireFormat, as type: Message.Type = Message.self
  ) throws -> Message {
    switch self {
    case .message(let bytes): return try format.decode(Message.self, bytes)
    case .ended(let error): throw error ?? RemoteError(.internal, "The call has ended.")
    }
  }
}

/// Time that passes when a test says so.
final class TestClock: Sendable {
  private struct State {
    var now: UInt64 = 0
    var timers: [(time: UInt64, block: @Sendable () -> Void)] = []
  }

  private let state = Locked(State())

  var service: ServiceClock {
    ServiceClock(
      now: { [state] in state.withLock { $0.now } },
      after: { [state] delay, block in state.withLock { $0.timers.append(($0.now + delay, block)) } })
  }

  var timerCount: Int { state.withLock { $0.timers.count } }

  func advance(seconds: UInt64) {
    let due = state.withLock { state in
      state.now += seconds * 1_000_000_000
      let due = state.timers.filter { $0.time <= state.now }
      state.timers.removeAll { $0.time <= state.now }
      return due
    }
    for timer in due { timer.block() }
  }
}

/// A queue whose blocks run when a test says so.
final class ManualQueue: Sendable {
  private let blocks = Locked<[@Sendable () -> Void]>([])

  var service: ServiceQueue {
    ServiceQueue { [blocks] block in
      blocks.withLock { $0.append(block) }
      blocks.wakeAll()
    }
  }

  /// Runs one block, if there is one.
  func runOne() { blocks.withLock({ $0.isEmpty ? nil : $0.removeFirst() })?() }

  var isEmpty: Bool { blocks.withLock { $0.isEmpty } }

  var count: Int { blocks.withLock { $0.count } }

  /// Runs blocks until there are none.
  func run() {
    while let block = blocks.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { block() }
  }

  /// Waits for a block that another thread adds, and runs blocks until there are none.
  func waitAndRun() {
    blocks.withLock(when: { !$0.isEmpty }) { _ in }
    run()
  }
}
