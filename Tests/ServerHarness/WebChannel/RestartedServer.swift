// A server of a store of its own, which a test drains and opens again.

#if Server
import ByteStore
import DocumentStore
import FirestoreServer
import FirestoreWire
import Foundation
import Harness

/// One server after the other on one store. Usable from any thread.
package final class RestartedServer: Sendable {
  private struct State {
    var server: FirestoreServer?
    var served: ServedStore?
    var drainBegan: UInt64?
    var drainEnded: UInt64?
    var isOver = true
    var failure: String?
  }

  private let directory: TemporaryPath
  private let drainSeconds: Int
  private let state = Locked(State())

  /// Opens the store, and runs a server of it.
  package init(drainSeconds: Int) throws {
    self.drainSeconds = drainSeconds
    directory = TemporaryPath()
    try start()
  }

  /// The server that runs, or the last one.
  package var served: ServedStore {
    get throws {
      guard let served = state.withLock({ $0.served }) else { throw Violation("there is no server") }
      return served
    }
  }

  /// Opens the store again, and runs the next server of it. The one before must be over.
  package func start() throws {
    let store = try DocumentStore.open(directory.path)
    let configuration = ServedStore.configuration(drainSeconds: drainSeconds)
    let server = try FirestoreServer(
      store: store, database: ServedStore.database.text, configuration: configuration)
    state.withLock { $0 = State(server: server, isOver: false) }
    Task { [state] in
      var failure: String?
      do {
        try await server.run { addresses in
          let served = ServedStore(store: store, addresses)
          state.withLock { $0.served = served }
          state.wakeAll()
        }
      } catch {
        failure = "\(error)"
      }
      state.withLock { state in
        state.isOver = true
        state.drainEnded = PollLoop.now
        state.failure = failure
      }
      state.wakeAll()
    }
    let failure = state.withLock(when: { $0.served != nil || $0.isOver }) { $0.failure }
    if let failure { throw Violation("the server has not started: \(failure)") }
  }

  /// Begins the end of the server, as SIGTERM does.
  package func drain() {
    let server = state.withLock { state in
      state.drainBegan = PollLoop.now
      return state.server
    }
    server?.shutDown()
  }

  package var isOver: Bool { state.withLock { $0.isOver } }

  /// Whether the last drain has taken all of its time.
  package var hasTakenAllTime: Bool {
    state.withLock { state in
      guard let began = state.drainBegan, let ended = state.drainEnded else { return false }
      return ended - began >= UInt64(drainSeconds) * 1_000_000_000
    }
  }

  /// Closes the store of a server that is over.
  package func closeStore() throws { try served.store.close() }

  /// Ends the server, and waits for it.
  package func close() {
    if !isOver { drain() }
    state.withLock(when: { $0.isOver }) { _ in }
    try? closeStore()
  }
}

/// A temporary directory that several threads may know.
private final class TemporaryPath: Sendable {
  let path: String

  init() { path = NSTemporaryDirectory() + "dugout-restarts-\(UUID().uuidString)" }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
#endif
