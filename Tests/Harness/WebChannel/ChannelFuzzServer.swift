// A server without sockets, whose loop, time and random source are those of the fuzzer.

import ByteStore
import DocumentStore
import FirestoreServer
import HTTPTransport

/// A whole server over a store in memory.
final class ChannelFuzzServer {
  let loop = InlineLoop()
  private let pool = AwaitedPool()
  private let budget = HeldMemory(bytesMax: 64 << 20)
  private let store: DocumentStore
  private let handler: FirestoreHandler
  private var connections: [ChannelFuzzConnection] = []
  private var lastConnection: UInt64 = 0

  /// A document that the query of the seeds finds, whose length differs in UTF-8 and UTF-16.
  private static let document = Mutation.set(
    DocumentPath(unchecked: ["c", "8"]), StoredMap([("n", .integer(8)), ("t", .string("é😀漢"))]))

  init() throws {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    store = try DocumentStore.openInMemory(options: options)
    try store.commit(ServiceSeeds.documents + [Self.document])
    handler = try FirestoreHandler(
      emulatorOf: store, database: ServiceSeeds.database, clock: loop.clock, random: NumberedIDs())
  }

  func close() { try? store.close() }

  var openChannels: Int { handler.openChannels }
  var openStreams: Int { handler.openStreams }
  var undeliveredSessions: Int { handler.undeliveredSessions }
  var heldBytes: Int { budget.usedBytes }

  /// Sends a request on a connection of its own.
  func send(_ method: String, _ target: [UInt8], _ body: [UInt8]?) throws(FuzzFinding)
    -> ChannelFuzzConnection
  {
    var services = SessionServices(handler: handler, loop: loop, pool: pool, observer: RecordedObserver())
    services.budget = budget
    lastConnection += 1
    let info = ConnectionInfo(number: lastConnection, peer: "127.0.0.1", isLoopback: true, version: 1)
    let session = HTTP1Session(SessionContext(info, services, clock: loop.clock) {})
    let connection = ChannelFuzzConnection(session)
    connections.append(connection)
    var request = Array("\(method) ".utf8) + target + Array(" HTTP/1.1\r\nHost: localhost:8080\r\n".utf8)
    if let body { request += Array("Content-Length: \(body.count)\r\n".utf8) }
    connection.receive(request + Array("\r\n".utf8) + (body ?? []))
    try run()
    return connection
  }

  /// Closes a connection, as its client does.
  func cut(_ connection: ChannelFuzzConnection) throws(FuzzFinding) {
    connection.close()
    try run()
  }

  /// Runs everything that is there.
  func run() throws(FuzzFinding) {
    repeat {
      loop.run()
      pool.runBlocks(beside: loop)
      loop.run()
      for connection in connections { try connection.takeOutput() }
    } while connections.contains { $0.hasOutput }
    connections.removeAll { $0.isOver }
  }

  /// Waits for an event of the service for a short time, because its threads are its own.
  func awaitService() throws(FuzzFinding) {
    pool.wait()
    try run()
  }

  /// The server begins to shut down.
  func drain() throws(FuzzFinding) {
    handler.drain()
    try awaitService()
  }

  func advance(seconds: Int) throws(FuzzFinding) {
    loop.advance(seconds: seconds)
    try run()
  }
}

/// One request and its answer, on a connection of its own.
final class ChannelFuzzConnection {
  private let session: HTTP1Session
  private var reader = AnswerReader()
  private(set) var status: Int?
  private(set) var body: [UInt8] = []
  private(set) var hasEnded = false
  /// Whether the transport has refused the request, which it does with a text.
  private(set) var isMalformed = false
  private var isClosed = false

  init(_ session: HTTP1Session) { self.session = session }

  var isOver: Bool { hasEnded || isClosed }
  var hasOutput: Bool { !isClosed && session.hasOutput }

  func receive(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { bytes in
      // A request that is malformed has an answer all the same.
      do throws(SessionError) { try session.receive(bytes) } catch { isMalformed = true }
    }
  }

  func takeOutput() throws(FuzzFinding) {
    guard !isClosed else { return }
    var output: [UInt8] = []
    session.moveOutput(to: &output, bytesMax: .max)
    guard !output.isEmpty else { return }
    do {
      for event in try reader.take(output) {
        guard !hasEnded else { throw FuzzFinding("an answer goes on after its end") }
        switch event {
        case .head(let status, _): self.status = status
        case .body(let bytes): body += bytes
        case .end: hasEnded = true
        }
      }
    } catch let finding as FuzzFinding {
      throw finding
    } catch {
      throw FuzzFinding("an answer is no HTTP: \(error)")
    }
  }

  func close() {
    isClosed = true
    session.close()
  }
}

/// A pool whose blocks the fuzzer runs.
private final class AwaitedPool: BlockPool {
  private static let nanosecondsMax: UInt64 = 500_000

  private let blocks = Locked<[@Sendable () -> Void]>([])
  private let added = Signal()

  func run(_ block: @escaping @Sendable () -> Void) {
    blocks.withLock { $0.append(block) }
    added.wake()
  }

  func runBlocks(beside loop: InlineLoop) {
    while let block = blocks.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { loop.elsewhere(block) }
  }

  /// Waits for a block for a short time.
  func wait() {
    blocks.withLock(wokenBy: added, within: Self.nanosecondsMax, when: { !$0.isEmpty }) { _ in }
  }
}

/// Ids that are the same in each run.
private final class NumberedIDs: RandomSource {
  private let last = Locked<UInt64>(0)

  func randomID() -> RandomID {
    last.withLock { last in
      last += 1
      return RandomID(high: SeededRandom.seed(last), low: last)
    }
  }
}
