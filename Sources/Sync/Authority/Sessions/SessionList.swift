// The sessions of an authority.

internal import ByteStore
internal import OfflineSync

final class SessionList: Sendable {
  private struct Entry: @unchecked Sendable {
    // The conformance is unchecked, because the reference is not assigned after initialization.
    weak var session: WatchSession?
  }

  private struct State {
    var entries: [Entry] = []
    /// The number of entries at which those of ended sessions are removed.
    var sweepCount = 16
  }

  private let state = Locked(State())

  func add(_ session: WatchSession) {
    state.withLock { state in
      if state.entries.count >= state.sweepCount {
        state.entries.removeAll { $0.session == nil }
        state.sweepCount = max(16, 2 * state.entries.count)
      }
      state.entries.append(Entry(session: session))
    }
  }

  /// The sessions that live, in the order in which they were opened.
  var all: [WatchSession] { state.withLock { state in state.entries.compactMap(\.session) } }

  /// Ends all sessions.
  func end(_ error: RemoteError) { for session in all { session.end(error) } }
}
