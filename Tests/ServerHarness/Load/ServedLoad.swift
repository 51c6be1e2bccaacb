// The clients of a server that is killed: each knows what the server has acknowledged, and what the store may
// have after the kill.

#if Server
import ByteStore
package import DocumentStore
import Harness

/// Clients of one kind. They go on over many lives of the server.
package protocol ServedLoad: Sendable {
  var name: String { get }
  /// The collections at the top that only these clients write.
  var collections: [String] { get }
  var tally: LoadTally { get }
  /// Writes until the connection or the server ends.
  func run(_ client: FirestoreClient, port: Int) async
  /// Checks the documents of its collections after a restart. The clients go on from these.
  func judge(_ documents: [DocumentPath: StoredDocument]) throws
}

/// Counts the answers of a kind of clients. Usable from any thread.
package final class LoadTally: Sendable {
  private struct State {
    var acknowledged = 0
    var unknown = 0
    var refused = 0
    var unexpected: String?
    var cutOff: String?
  }

  private let state = Locked(State())

  package init() {}

  package var acknowledged: Int { state.withLock { $0.acknowledged } }
  /// Writes whose connection was lost before their answer.
  package var unknown: Int { state.withLock { $0.unknown } }
  package var refused: Int { state.withLock { $0.refused } }

  /// The first answer that the server must not give, since the last call.
  package func takeUnexpected() -> String? {
    state.withLock { state in
      defer { state.unexpected = nil }
      return state.unexpected
    }
  }

  /// The first call that has lost its connection, since the last call. A server that drains ends no call so.
  package func takeCutOff() -> String? {
    state.withLock { state in
      defer { state.cutOff = nil }
      return state.cutOff
    }
  }

  func acknowledge() { state.withLock { $0.acknowledged += 1 } }

  func noteUnexpected(_ text: String) {
    state.withLock { $0.unexpected = $0.unexpected ?? text }
  }

  /// Notes the end of a call without success. Returns false if the clients cannot go on.
  func note(_ end: GRPCEnd, of call: String, expected: Set<Int> = []) -> Bool {
    state.withLock { state in
      if end.origin == .connection { state.cutOff = state.cutOff ?? "\(call): \(end)" }
      switch end.outcome(expected: expected) {
      case .notExecuted:
        state.refused += 1
        return end.origin == .status
      case .unknown:
        state.unknown += 1
        return false
      case .unexpected:
        state.unexpected = state.unexpected ?? "\(call) ends with \(end)"
        return false
      }
    }
  }
}
#endif
