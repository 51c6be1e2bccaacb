// The sessions of an authority.
//
// The list does not retain them.

internal import ByteStore
package import OfflineSync

/// A session as its authority sees it.
package protocol AuthoritySession: AnyObject, Sendable {
  /// Tells the present time to the client, even if nothing has changed.
  func advance()

  /// Ends the session because of the authority.
  func end(_ error: RemoteError)
}

final class SessionList: Sendable {
  private struct Entry: @unchecked Sendable {
    // The conformance is unchecked, because the reference is not assigned after initialization.
    weak var session: (any AuthoritySession)?
  }

  private struct State {
    var entries: [Entry] = []
    /// The number of entries at which those of ended sessions are removed.
    var sweepCount = 16
    /// The error with which new sessions end; nil while the authority can have sessions.
    var closed: RemoteError?
  }

  private let state = Locked(State())

  func add(_ session: any AuthoritySession) {
    let closed = state.withLock { state in
      if state.entries.count >= state.sweepCount {
        state.entries.removeAll { $0.session == nil }
        state.sweepCount = max(16, 2 * state.entries.count)
      }
      state.entries.append(Entry(session: session))
      return state.closed
    }
    if let closed { session.end(closed) }
  }

  /// The sessions that live, in the order in which they were opened.
  var all: [any AuthoritySession] { state.withLock { state in state.entries.compactMap(\.session) } }

  /// Ends all sessions.
  func end(_ error: RemoteError) { for session in all { session.end(error) } }

  /// Ends all sessions, and those that are added later.
  func close(_ error: RemoteError) {
    state.withLock { $0.closed = error }
    end(error)
  }
}
