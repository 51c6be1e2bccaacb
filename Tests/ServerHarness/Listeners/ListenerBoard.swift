// The progress of all listeners and writers of a run.

#if Server
import ByteStore
import Dispatch
import DocumentStore
import FirestoreWire

/// Usable from any thread.
final class ListenerBoard: Sendable {
  private struct State {
    var shown: [Int]
    var isShowing: [Bool]
    var committed: [Int]
    var counts = Counts()
    var waits: [Float] = []
    var leaving = 0
    /// The times at which sessions were left without an end.
    var abandoned: [UInt64] = []
    var violation: String?
  }

  struct Counts {
    var commits = 0
    var changes = 0
    var reconnects = 0
    var snapshots = 0
  }

  /// Sessions that nothing reads are closed after a minute.
  private static let abandonedNanoseconds: UInt64 = 70_000_000_000

  let options: ListenerOptions
  private let state: Locked<State>

  init(_ options: ListenerOptions) {
    self.options = options
    state = Locked(
      State(
        shown: Array(repeating: 0, count: options.listeners),
        isShowing: Array(repeating: false, count: options.listeners),
        committed: Array(repeating: 0, count: options.collections)))
  }

  static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  /// The collection of a listener.
  func collection(of listener: Int) -> Int { listener % options.collections }

  /// How often a listener takes a message: once, unless it has a fault.
  func copies(of response: Wire.ListenResponse, for listener: Int) -> Int {
    guard let fault = options.fault, let change = response.responseType?.documentChange,
      case .integer(let number)? = change.document?.fields["n"], number % 8 == 5
    else { return 1 }
    return fault == .loses(listener: listener) ? 0 : fault == .repeats(listener: listener) ? 2 : 1
  }

  // MARK: Events

  func noteBegin(_ listener: Int) { state.withLock { $0.isShowing[listener] = false } }

  func noteReconnect() { state.withLock { $0.counts.reconnects += 1 } }

  /// A listener has a snapshot with the changes up to this number. `sent` are the times of its changes.
  func noteSnapshot(_ listener: Int, _ number: Int, sent: [Int64]) {
    let now = Int64(Self.now)
    state.withLock { state in
      state.isShowing[listener] = true
      state.shown[listener] = number
      state.counts.snapshots += 1
      state.counts.changes += sent.count
      for time in sent { state.waits.append(Float(Double(now - time) / 1e9)) }
    }
  }

  func noteCommit(_ collection: Int, _ number: Int) {
    state.withLock { state in
      state.committed[collection] = number
      state.counts.commits += 1
    }
  }

  /// A client ends a session, and has no answer yet.
  func noteLeaving(_ change: Int) { state.withLock { $0.leaving += change } }

  func noteAbandoned() { state.withLock { $0.abandoned.append(Self.now) } }

  func fail(_ text: String) { state.withLock { $0.violation = $0.violation ?? text } }

  // MARK: State

  var violation: String? { state.withLock { $0.violation } }
  var counts: Counts { state.withLock { $0.counts } }
  var committed: [Int] { state.withLock { $0.committed } }
  var isAnyLeaving: Bool { state.withLock { $0.leaving > 0 } }

  /// Sessions that the server may still have, although their clients are gone.
  var abandonedCount: Int {
    let now = Self.now
    return state.withLock { state in
      state.abandoned.removeAll { now - $0 > Self.abandonedNanoseconds }
      return state.abandoned.count
    }
  }

  /// Listeners that do not show all changes up to the given ones of their collections.
  func behind(_ committed: [Int]) -> [Int] {
    state.withLock { state in
      state.shown.indices.filter { listener in
        !state.isShowing[listener] || state.shown[listener] < committed[collection(of: listener)]
      }
    }
  }

  /// A listener in words.
  func describe(_ listener: Int) -> String {
    state.withLock { state in
      let collection = collection(of: listener)
      return "listener \(listener) shows \(state.shown[listener]) of \(state.committed[collection]) changes "
        + "of \(ListenerOptions.collection(collection))\(state.isShowing[listener] ? "" : ", without a stream")"
    }
  }

  /// The times in seconds from a commit's start to its listeners, since the last call.
  func takeWaits() -> [Float] {
    state.withLock { state in
      defer { state.waits = [] }
      return state.waits
    }
  }
}
#endif
