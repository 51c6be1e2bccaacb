// The memory of idle listeners, in a process that has nothing else.

#if Server
import DocumentStore
import DugoutServer
import Foundation
import GRPCClients

enum ServerMemoryRows {
  private static let listeners = 1_000
  private static let bytesMax = 32.0 * 1024

  static func parts(in directory: String) throws -> [RowPart] {
    let name = "a connection with a listener"
    return [
      RowPart(
        title: "resident memory of each of \(listeners) idle listeners",
        subjects: [
          RowSubject(name: name, unit: "B") { try bytesPerListener("\(directory)/\(UUID().uuidString)") }
        ], goals: [RowGoal(subject: name, valueMax: bytesMax)])
    ]
  }

  private static func bytesPerListener(_ directory: String) throws -> Double {
    let server = try ServerProcess(directory)
    defer { server.end() }
    let clients = try listen(server.port, count: listeners / 10)
    let before = try ServerPeers.residentBytes(server.process)
    let more = try listen(server.port, count: listeners)
    let after = try ServerPeers.residentBytes(server.process)
    for client in clients + more { client.close() }
    return (after - before) / Double(listeners)
  }

  /// Opens connections with a listener each, and waits until all are current.
  private static func listen(_ port: Int, count: Int) throws -> [GRPCClient] {
    let current = DispatchSemaphore(value: 0)
    let clients = try (0..<count).map { _ in try GRPCClient(rows: port) }
    for client in clients {
      let stream = client.open(FirestoreMessages.service + "Listen") { message in
        // ADD, CURRENT, and the snapshot of the target without documents.
        if FirestoreMessages.isTargetChange(message) { current.signal() }
      } onEnd: { _ in
      }
      stream.send(FirestoreMessages.listen("nothing"))
    }
    for _ in 0..<(3 * count) {
      guard current.wait(timeout: .now() + .seconds(60)) == .success else {
        throw BenchmarkFailure("a listener is not current after 60 s")
      }
    }
    return clients
  }
}

/// The server in a process of its own: this program as a child.
struct ServerProcess {
  static let task = "server"

  let port: Int
  private let child: Process

  var process: Int32 { child.processIdentifier }

  init(_ directory: String) throws {
    Self.raiseDescriptorLimit()
    let (process, output) = try Child.start(Self.task, [directory])
    child = process
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      process.terminate()
      throw BenchmarkFailure("the process of the server does not listen")
    }
    self.port = port
  }

  func end() {
    child.terminate()
    child.waitUntilExit()
  }

  static func runChild(_ words: [String]) throws {
    guard let directory = words.first else { throw BenchmarkFailure("the server has no directory") }
    raiseDescriptorLimit()
    let server = try LocalServer(directory)
    Progress.print("\(server.port)\n")
    // The parent ends this process.
    while true { Thread.sleep(forTimeInterval: 3600) }
  }

  private static func raiseDescriptorLimit() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
#endif
