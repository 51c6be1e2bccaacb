// Commits of one document each, with 64 of them open at any time.

#if Server
import DocumentStore
import Foundation
import GRPCClients

enum CommitRows {
  private static let open = 64
  private static let commits = 4_000
  private static let commitsOfEmulator = 400

  static func parts(_ server: LocalServer, _ peers: ServerPeers, in directory: String) throws -> [RowPart] {
    let store = try DocumentStore.open("\(directory)/committed")
    let ours = "our server"
    var subjects = [
      RowSubject(name: "in process, the same durability", unit: "µs") { try inProcess(store) },
      RowSubject(name: ours, unit: "µs") { try OpenCommits(server.port, count: commits).run(open) },
    ]
    if let port = peers.emulatorPort {
      subjects.append(
        RowSubject(name: "emulator, in memory", unit: "µs") {
          try OpenCommits(port, count: commitsOfEmulator).run(open)
        })
    }
    return [
      RowPart(
        title: "a commit of a document, \(open) open commits", subjects: subjects,
        goals: [RowGoal(subject: ours, ratioMax: 1 / 0.7)])
    ]
  }

  private static func inProcess(_ store: DocumentStore) throws -> Double {
    let writes = try (0..<commits).map { number in
      Mutation.set(
        try DocumentPath(["people", "p\(number)"]),
        StoredMap([
          ("name", .string("Ada Lovelace")), ("city", .string("London")), ("mark", .string("mark \(number)")),
          ("text", .string(String(repeating: "abc ", count: 40))), ("age", .integer(36)),
        ]))
    }
    let start = ContinuousClock.now
    AsyncWriters(store, writes).run(open)
    return (ContinuousClock.now - start) / .microseconds(commits)
  }
}

/// Commits over one connection. Each writer begins its next commit in the completion of the previous one.
private final class OpenCommits: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the lock protects `next` and `failure`.
  private let lock = NSLock()
  private var next = 0
  private var failure: GRPCEnd?
  private let client: GRPCClient
  private let requests: [[UInt8]]
  private let done = DispatchGroup()

  init(_ port: Int, count: Int) throws {
    client = try GRPCClient(rows: port)
    requests = (0..<count).map { FirestoreMessages.commit("people/p\($0)", mark: "mark \($0)") }
  }

  /// Returns the microseconds of one commit.
  func run(_ writers: Int) throws -> Double {
    let start = ContinuousClock.now
    for _ in 0..<writers {
      done.enter()
      commit()
    }
    done.wait()
    let time = ContinuousClock.now - start
    client.close()
    if let failure = lock.withLock({ failure }) { throw BenchmarkFailure("a commit ends with \(failure)") }
    return time / .microseconds(requests.count)
  }

  private func commit() {
    let number = lock.withLock {
      defer { next += 1 }
      return next
    }
    guard number < requests.count else { return done.leave() }
    client.call(FirestoreMessages.service + "Commit", requests[number]) { [self] reply in
      if !reply.end.isOK { lock.withLock { failure = failure ?? reply.end } }
      commit()
    }
  }
}
#endif
