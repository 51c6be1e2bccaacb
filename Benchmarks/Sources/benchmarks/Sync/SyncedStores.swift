// A server with documents, and the clients that sync with it.

#if Server
import FirebaseFirestore
import Foundation
import GRPCClients

/// The operations that are measured. Each one checks that the client or the server has what it must have.
final class SyncedStores {
  private static let collection = "synced"
  private static let documentsPerCommit = 500

  private let directory: String
  private let documents: Int
  private let server: ServerProcess
  private let writer: GRPCClient
  private var number = 0
  /// The client that connects and starts again.
  private var kept: SyncedClient?

  init(_ directory: String, documents: Int) throws {
    self.directory = directory
    self.documents = documents
    server = try ServerProcess("\(directory)/server")
    writer = try GRPCClient(rows: server.port)
    try change(0..<documents)
  }

  deinit {
    try? kept?.close()
    writer.close()
    server.end()
  }

  // MARK: Operations

  /// A client without any document gets all of them. The time includes the creation of its store.
  func firstSync() throws -> SyncCost {
    number += 1
    let folder = "\(directory)/client-\(number)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (cost, client) = try cost {
      let client = try SyncedClient(folder, port: server.port)
      client.listen(to: Self.collection)
      try client.snapshot(isFromCache: false)
      return client
    }
    try check(client, marked: nil)
    try client.close()
    return cost
  }

  /// Documents change while a client has no network. The time begins when it has its network again.
  func connectAgain(changes: Int) throws -> SyncCost {
    let client = try keptClient()
    try client.setOnline(false)
    try client.snapshot(isFromCache: true)
    try change(0..<changes)
    let (cost, _) = try cost {
      try client.setOnline(true)
      try client.snapshot(isFromCache: false)
    }
    try check(client, marked: changes)
    return cost
  }

  /// Documents change while a client is closed. The time begins with the opening of its store, and includes
  /// the local answer of its query.
  func startAgain(changes: Int) throws -> SyncCost {
    try keptClient().close()
    kept = nil
    try change(0..<changes)
    let (cost, client) = try cost { try keptClient() }
    try check(client, marked: changes)
    return cost
  }

  /// A client without a network queues writes. The time begins when it has its network, and ends when the
  /// server has confirmed all of them.
  func upload(writes: Int) throws -> SyncCost {
    number += 1
    let (folder, uploaded) = ("\(directory)/client-\(number)", "uploaded-\(number)")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let client = try SyncedClient(folder, port: server.port)
    try client.setOnline(false)
    try client.queue((0..<writes).map { "\(uploaded)/\($0)" }, mark: mark)
    let (cost, _) = try cost {
      try client.setOnline(true)
      try client.waitForPendingWrites()
    }
    try client.close()
    let second = try SyncedClient("\(folder)-check", port: server.port)
    defer { try? FileManager.default.removeItem(atPath: "\(folder)-check") }
    second.listen(to: uploaded)
    let count = try second.snapshot(isFromCache: false).count
    try second.close()
    guard count == writes else { throw BenchmarkFailure("the server has \(count) of \(writes) writes") }
    return cost
  }

  private func keptClient() throws -> SyncedClient {
    if let kept { return kept }
    let client = try SyncedClient("\(directory)/kept", port: server.port)
    kept = client
    client.listen(to: Self.collection)
    try client.snapshot(isFromCache: false)
    return client
  }

  // MARK: Costs

  private func cost<Value>(_ body: () throws -> Value) throws -> (SyncCost, Value) {
    let before = try ConnectionBytes.now(to: server.port)
    let serverTime = try ProcessTime.now(of: server.process)
    let clientTime = try ProcessTime.now(of: getpid())
    let start = ContinuousClock.now
    let value = try body()
    let time = (ContinuousClock.now - start) / .microseconds(1)
    let clientCost = (try ProcessTime.now(of: getpid()) - clientTime) / 1000
    let serverCost = (try ProcessTime.now(of: server.process) - serverTime) / 1000
    let bytes = try ConnectionBytes.since(before, to: server.port)
    guard bytes.received > 0 else {
      throw BenchmarkFailure("this system does not count the bytes of connections")
    }
    return (
      SyncCost(
        time: time, clientTime: clientCost, serverTime: serverCost, bytesSent: bytes.sent,
        bytesReceived: bytes.received), value
    )
  }

  // MARK: Documents

  private var mark: String { "~\(1_000_000 + number)." }

  /// Gives documents a new mark.
  private func change(_ numbers: Range<Int>) throws {
    number += 1
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: Self.documentsPerCommit) {
      let paths = (start..<min(start + Self.documentsPerCommit, numbers.upperBound)).map {
        "\(Self.collection)/d\(1_000_000 + $0)"
      }
      try writer.answer("Commit", FirestoreMessages.commit(paths, mark: mark))
    }
  }

  /// Throws if a client does not have all documents, or not this number of them with the last mark.
  private func check(_ client: SyncedClient, marked: Int?) throws {
    let found = try client.snapshot(isFromCache: false).documents
    guard found.count == documents else {
      throw BenchmarkFailure("a client has \(found.count) of \(documents) documents")
    }
    guard let marked else { return }
    let count = found.count { $0.get("mark") as? String == mark }
    guard count == marked else { throw BenchmarkFailure("a client has \(count) of \(marked) changes") }
  }
}
#endif
