// Commits of many clients without a thread for each.
//
// One queue begins the commits in order, another one finishes them. While the first commit of the second
// queue waits for the disk, the first queue begins the next ones, so the store writes them as one group.

internal import ByteStore
internal import Dispatch
internal import DocumentStore
internal import OfflineSync

final class CommitLane: Sendable {
  typealias Done = @Sendable (Result<CommitOutcome, RemoteError>) -> Void

  /// While the oldest waiting commit is older than this, further commits are refused.
  private static let waitMax: UInt64 = 1_000_000_000

  private struct State {
    /// The times at which the waiting commits were called for, oldest first.
    var begun: [UInt64] = []
    /// The number of entries of `begun` whose commits have ended.
    var endedCount = 0

    var oldest: UInt64? { endedCount < begun.count ? begun[endedCount] : nil }

    mutating func end() {
      endedCount += 1
      guard endedCount > 64, endedCount > begun.count / 2 else { return }
      begun.removeFirst(endedCount)
      endedCount = 0
    }
  }

  private let store: DocumentStore
  private let beginning = DispatchQueue(label: "dugout.authority.beginning")
  private let finishing = DispatchQueue(label: "dugout.authority.finishing")
  private let state = Locked(State())

  init(_ store: DocumentStore) { self.store = store }

  func commit(_ commit: BackendCommit, _ done: @escaping Done) {
    let now = store.clock.monotonicNanoseconds()
    let isAccepted = state.withLock { state in
      if let oldest = state.oldest, now > oldest, now - oldest > Self.waitMax { return false }
      state.begun.append(now)
      return true
    }
    guard isAccepted else {
      return beginning.async {
        done(.failure(RemoteError(.resourceExhausted, "The database is overloaded. Try again later.")))
      }
    }
    beginning.async { [store, finishing, state] in
      let begun = Result { () throws(DocumentStoreError) in
        try store.beginCommit(commit.mutations, recording: commit.recording)
      }
      finishing.async {
        let outcome = Result { () throws(DocumentStoreError) in try store.finishCommit(try begun.get()) }
        state.withLock { $0.end() }
        done(outcome.mapError { RemoteError(ofCommit: $0) })
      }
    }
  }
}
