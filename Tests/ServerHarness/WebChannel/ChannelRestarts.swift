// Drains of a server in the middle of a history.
//
//   1. The server is drained as by SIGTERM. Clients come for what they lack, by their faulty network.
//   2. When the server is over, each client that has stayed must have the results of all its writes that are
//      in the store.
//   3. Another server opens the store. It knows none of the sessions, so clients open new ones.

#if Server
import DocumentStore
import FirestoreWire
import Harness

/// Drains and opens the server of a history. Used on the loop.
final class ChannelRestarts {
  private static let pollMilliseconds = 2
  private static let pauseMilliseconds = 60

  private let server: RestartedServer
  private let proxy: FaultyProxy
  private let documents: (ServedStore) throws -> [StoredDocument]
  private var random: SeededRandom
  private var remaining: Int
  private(set) var restarts = 0
  /// The results that clients have received during drains.
  private(set) var lateResults = 0
  private(set) var failure: (any Error)?
  private var acknowledgedBefore = 0
  /// The clients of the server.
  var writers: [ChannelWriter] = []
  var watchers: [ChannelWatcher] = []
  /// Whether the server may wait in vain, because clients disappear.
  var mayTakeAllTime = false
  /// Called with a line for each event.
  var onEvent: ((String) -> Void)?

  /// `documents` reads what the clients have written.
  init(
    _ server: RestartedServer, _ proxy: FaultyProxy, seed: UInt64,
    documents: @escaping (ServedStore) throws -> [StoredDocument]
  ) {
    self.server = server
    self.proxy = proxy
    self.documents = documents
    random = SeededRandom(seed: seed)
    remaining = 1 + random.below(2)
  }

  /// Whether nothing more is going to happen.
  var isOver: Bool { remaining == 0 || failure != nil }

  /// Drains the server after this time.
  func begin(after milliseconds: Int) {
    proxy.loop.after(milliseconds: milliseconds) { [weak self] in self?.drain() }
  }

  private var acknowledged: Int { writers.reduce(0) { $0 + $1.acknowledged } }

  private func drain() {
    onEvent?("the server is drained")
    for writer in writers { writer.mayLoseSessions = true }
    for watcher in watchers { watcher.mayLoseSessions = true }
    acknowledgedBefore = acknowledged
    server.drain()
    wait()
  }

  private func wait() {
    proxy.loop.after(milliseconds: Self.pollMilliseconds) { [weak self] in
      guard let self else { return }
      guard server.isOver else { return wait() }
      do { try restart() } catch { failure = error }
    }
  }

  private func restart() throws {
    let isComplete = !server.hasTakenAllTime
    lateResults += acknowledged - acknowledgedBefore
    let documents = try documents(server.served)
    guard isComplete || mayTakeAllTime else {
      throw Violation(
        "the drain has taken all of its time, although all clients have come: \(writers.map(\.summary))")
    }
    for writer in writers {
      if isComplete { try writer.checkResults(documents) } else { writer.adopt(documents) }
    }
    try server.closeStore()
    try server.start()
    proxy.moveUpstream(to: try server.served.port)
    onEvent?("the server is open again")
    restarts += 1
    remaining -= 1
    if remaining > 0 { begin(after: random.below(Self.pauseMilliseconds)) }
  }
}
#endif
