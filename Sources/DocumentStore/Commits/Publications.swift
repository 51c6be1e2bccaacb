// Commits that readers see, in their order, for those who follow all of them.
//
// A commit comes here under the lock of the table: whoever asks for the position at a moment of the store knows
// which commits that moment has. It costs nothing while nobody follows.

import ByteStore
import Synchronization

/// Called after each commit that it may have to follow, by the thread that committed, before that returns.
protocol CommitFollower: AnyObject, Sendable {
  func follow()
}

final class Publications: Sendable {
  private struct State {
    var position: UInt64 = 0
    var queue: [PublishedCommit] = []
    weak var follower: (any CommitFollower)?
  }

  private let state = Locked(State())
  private let hasFollower = Atomic(false)

  /// Someone wants to know what each document was.
  var isFollowed: Bool { hasFollower.load(ordering: .acquiring) }

  /// The number of commits since the store was opened. Within a moment of the store: of those it has.
  var position: UInt64 { state.withLock { $0.position } }

  /// Commits after a moment that is taken from now on reach the follower; nil ends it.
  func setFollower(_ follower: (any CommitFollower)?) {
    state.withLock { state in
      state.follower = follower
      if follower == nil { state.queue = [] }
    }
    hasFollower.store(follower != nil, ordering: .releasing)
  }

  func append(_ effects: CommitEffects) {
    state.withLock { state in
      state.position += 1
      if state.follower != nil { state.queue.append(effects.published) }
    }
  }

  /// All that nobody has taken yet, and the position behind the last of them.
  func take() -> (commits: [PublishedCommit], position: UInt64) {
    state.withLock { state in
      defer { state.queue = [] }
      return (state.queue, state.position)
    }
  }

  func notify() {
    guard isFollowed else { return }
    state.withLock { $0.follower }?.follow()
  }
}
