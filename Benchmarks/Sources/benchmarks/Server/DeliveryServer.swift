// A server in a process of its own, with a collection whose changes are delivered.

#if Server
import Foundation
import GRPCClients

/// A protocol by which a client has a stream.
enum StreamProtocol: String, CaseIterable {
  case grpc = "gRPC"
  case webChannel = "WebChannel"
}

/// The cost of one document, from when it was asked for until it was there.
struct DeliveryCost {
  /// Nanoseconds.
  var time: Double
  /// Nanoseconds of processors in the server, whatever they were spent on.
  var serverTime: Double
  /// Nanoseconds of a processor in the thread of the client that reads.
  var clientTime = 0.0
  /// The bytes of the client's connections, in both directions.
  var bytes: Double
}

final class DeliveryServer {
  static let documents = 20_000
  private static let documentsPerCommit = 500
  private static let openCommits = 4
  private static let collection = "delivered"

  private let server: ServerProcess
  private let writer: GRPCClient
  private var number = 0

  init(_ directory: String) throws {
    server = try ServerProcess(directory)
    writer = try GRPCClient(rows: server.port)
    try write(nextCommits())
  }

  deinit {
    writer.close()
    server.end()
  }

  // MARK: Rounds

  /// Delivers the collection as the first answer to a listener.
  func firstAnswer(by way: StreamProtocol) throws -> DeliveryCost {
    let listener = Listener(way)
    defer { listener.close() }
    return try cost({ listener.bytes }) {
      listener.changes.await(mark, count: Self.documents)
      try listener.open(server.port, Self.collection)
      return try listener.changes.wait()
    }
  }

  /// Changes all documents. A listener, if there is one, receives the changes.
  func changes(by way: StreamProtocol?) throws -> DeliveryCost {
    let listener = way.map { Listener($0) }
    defer { listener?.close() }
    listener?.changes.await(mark, count: Self.documents)
    try listener?.open(server.port, Self.collection)
    _ = try listener?.changes.wait()
    let commits = nextCommits()
    return try cost({ listener?.bytes ?? 0 }) {
      listener?.changes.await(mark, count: Self.documents)
      try write(commits)
      return try listener?.changes.wait() ?? 0
    }
  }

  /// Changes all documents by a write stream.
  func upload(by way: StreamProtocol) throws -> DeliveryCost {
    number += 1
    let requests = UploadStream.requests(of: way, Self.batches, mark: mark)
    let stream = try UploadStream(way, server.port, openRequests: Self.openCommits)
    defer { stream.close() }
    return try cost({ stream.bytes }) {
      try stream.send(requests)
      return 0
    }
  }

  /// `body` returns the time of the client's thread.
  private func cost(_ bytes: () -> Int, _ body: () throws -> Double) throws -> DeliveryCost {
    let bytesBefore = bytes()
    let serverTime = try ProcessTime.now(of: server.process)
    let start = ContinuousClock.now
    let clientTime = try body()
    let count = Double(Self.documents)
    return DeliveryCost(
      time: (ContinuousClock.now - start) / .nanoseconds(1) / count,
      serverTime: (try ProcessTime.now(of: server.process) - serverTime) / count,
      clientTime: clientTime / count, bytes: Double(bytes() - bytesBefore) / count)
  }

  // MARK: Changes

  private var mark: String { "~\(1_000_000 + number)." }

  /// Commits that give all documents the next mark.
  private func nextCommits() -> [[UInt8]] {
    number += 1
    return Self.batches.map { FirestoreMessages.commit($0, mark: mark) }
  }

  /// The paths of all documents, for each commit.
  private static let batches: [[String]] = stride(from: 0, to: documents, by: documentsPerCommit).map {
    start in
    (start..<(start + documentsPerCommit)).map { "\(collection)/d\(100_000 + $0)" }
  }

  private func write(_ commits: [[UInt8]]) throws {
    let free = DispatchSemaphore(value: Self.openCommits)
    let failures = Failures()
    for commit in commits {
      free.wait()
      writer.call(FirestoreMessages.service + "Commit", commit) { reply in
        if !reply.end.isOK { failures.add(reply.end) }
        free.signal()
      }
    }
    for _ in 0..<Self.openCommits { free.wait() }
    for _ in 0..<Self.openCommits { free.signal() }
    if let end = failures.first { throw BenchmarkFailure("a commit ends with \(end)") }
  }
}

/// A listener to a collection, with connections of its own.
private final class Listener {
  let changes: DeliveredChanges
  private let way: StreamProtocol
  private var client: GRPCClient?
  private var channel: ChannelStream?

  init(_ way: StreamProtocol) {
    self.way = way
    changes =
      switch way {
      case .grpc: DeliveredChanges(documentStart: [3 << 3 | 2], targetStart: [2 << 3 | 2])
      case .webChannel:
        DeliveredChanges(
          documentStart: Array(#"{"documentChange":"#.utf8), targetStart: Array(#"{"targetChange":"#.utf8))
      }
  }

  func open(_ port: Int, _ collection: String) throws {
    let changes = changes
    switch way {
    case .grpc:
      let client = try GRPCClient(rows: port)
      self.client = client
      let stream = client.open(FirestoreMessages.service + "Listen") { message in
        message.withUnsafeBytes { changes.take($0) }
      } onEnd: { end in
        // The client ends the stream itself, with its connection.
        if end.origin != .connection { Progress.say("a watch stream ends with \(end)") }
      }
      stream.send(FirestoreMessages.listen(collection))
    case .webChannel:
      channel = try ChannelStream(port, "Listen", FirestoreMessages.listenJSON(collection)) {
        changes.take($0)
      }
    }
  }

  var bytes: Int { (client?.bytesReceived ?? 0) + (client?.bytesSent ?? 0) + (channel?.bytes ?? 0) }

  func close() {
    client?.close()
    channel?.close()
  }
}

/// The processor time of another process.
enum ProcessTime {
  /// Nanoseconds.
  static func now(of process: Int32) throws -> Double {
    var clock = clockid_t()
    var time = timespec()
    guard clock_getcpuclockid(process, &clock) == 0, clock_gettime(clock, &time) == 0 else {
      throw BenchmarkFailure("the process \(process) has no clock")
    }
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }
}

/// The ends of calls that have failed.
private final class Failures: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the lock protects the end.
  private let lock = NSLock()
  private var end: GRPCEnd?

  func add(_ end: GRPCEnd) { lock.withLock { self.end = self.end ?? end } }
  var first: GRPCEnd? { lock.withLock { end } }
}
#endif
