// The reader behind one loop over the change feed.
//
// Invariants:
//  - The reader starts on the write queue: it sees the writes that are issued after its creation, even if it
//    is the first reader and activates the feed.
//  - Memory holds one page of the feed. The feed keeps the page, and everything after it, within its limits.
//  - A signal follows each commit with a feed entry, the start and the termination. The loop reads until
//    there is nothing left, and then waits for the next signal.

import ByteStore
import DocumentStore
import FirebaseCore
import Foundation
import OfflineSync

/// The position after which a loop starts.
enum ChangeStart: Sendable {
  case oldest
  case position(ChangePosition)
  /// The position that a registered consumer has acknowledged.
  case consumer(String)
}

/// Reads the changes for one loop. One task at a time may call `take()`.
final class ChangeReader: Sendable {
  /// The result of an attempt to read.
  enum Outcome {
    case change(FirestoreChange)
    /// There is no change yet. A signal announces the next one.
    case nothing
    case end
  }

  private enum State {
    case starting
    case reading(ChangePages)
    /// The next attempt to read throws this error and ends the loop.
    case failed(any Error)
    case ended
  }

  private let firestore: Firestore
  private let state = Locked(State.starting)
  private let listening = Locked<Listening?>(nil)
  private let signal: AsyncStream<Void>.Continuation
  /// The signals to try again.
  let signals: AsyncStream<Void>

  init(_ firestore: Firestore, _ start: ChangeStart) {
    self.firestore = firestore
    // One waiting signal is enough, because the loop reads everything there is.
    (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    do {
      begin(start, with: try firestore.livingClient())
    } catch {
      state.withLock { $0 = .failed(error) }
    }
  }

  deinit { listening.withLock { $0 }?.remove() }

  private func begin(_ start: ChangeStart, with client: any FirestoreClient) {
    // The client ends the listener when it is terminated.
    let listening = client.addListener()
    self.listening.withLock { $0 = listening }
    listening.whenRemoved { [weak self] in self?.fail(FirestoreErrors.terminated) }
    let hasRemote = client.hasRemote
    client.store.runOnWriteQueue { [weak self] view in
      guard let self else { return }
      do {
        let maker = ChangeMaker(firestore: firestore, view: try view.get(), hasRemote: hasRemote)
        let pages = try ChangePages(start, maker, signal: signal)
        state.withLock { state in
          if case .starting = state { state = .reading(pages) }
        }
      } catch {
        fail(FirestoreErrors.translate(any: error))
      }
      signal.yield()
    }
  }

  private func fail(_ error: any Error) {
    state.withLock { state in
      switch state {
      case .starting, .reading: state = .failed(error)
      case .failed, .ended: break
      }
    }
    signal.yield()
  }

  /// Returns the next change, if there is one.
  func take() throws -> Outcome {
    let outcome = state.withLock { state -> Result<Outcome, any Error> in
      switch state {
      case .starting: return .success(.nothing)
      case .ended: return .success(.end)
      case .failed(let error):
        state = .ended
        return .failure(error)
      case .reading(var pages):
        // The pages are not in two places while they change, because that would copy them.
        state = .ended
        do {
          let change = try pages.next()
          state = .reading(pages)
          return .success(change.map { .change($0) } ?? .nothing)
        } catch {
          return .failure(FirestoreErrors.translate(any: error))
        }
      }
    }
    if case .failure = outcome { end() }
    return try outcome.get()
  }

  /// Ends the reading. The feed keeps nothing more for this reader.
  func end() {
    state.withLock { $0 = .ended }
    let listening = listening.withLock { listening in
      defer { listening = nil }
      return listening
    }
    listening?.remove()
  }
}

/// The current page of the feed, and the position in it.
private struct ChangePages {
  private static let commitsMax = 100
  private static let bytesMax = 256 << 10

  private let maker: ChangeMaker
  private let follower: FeedFollower
  /// Its calls end when it is released.
  private let waker: FeedWaker
  /// The last commit of the page.
  private var end: FeedPosition
  private var commits: [FeedCommit] = []
  /// The commit of the next change, as an index of `commits`.
  private var commit = 0
  /// The next change of that commit.
  private var change = 0

  init(_ start: ChangeStart, _ maker: ChangeMaker, signal: AsyncStream<Void>.Continuation) throws {
    self.maker = maker
    let store = maker.view.store
    // The follower comes first: from then on, nothing after the position is removed.
    follower = try store.followFeed()
    waker = store.onFeedCommit(DispatchQueue(label: "dugout.firestore.changes")) { signal.yield() }
    switch start {
    case .oldest: end = try store.feedRange().oldest
    case .consumer(let name):
      guard let position = store.feedPosition(ofConsumer: name) else {
        throw FirestoreChangeConsumer.unknown(name)
      }
      end = position
    case .position(let position):
      try store.check(position)
      end = position.lastWholeCommit
      guard let count = position.changeCount else { return }
      try readPage()
      // The rest of the commit is gone if its entry is gone.
      guard let first = commits.first, first.position.value == position.commit else {
        throw FirestoreChangesError.truncated(oldest: try oldest)
      }
      change = Int(count)
    }
  }

  private var oldest: ChangePosition {
    get throws {
      try maker.view.store.changePosition(after: maker.view.store.feedRange().oldest)
    }
  }

  mutating func next() throws -> FirestoreChange? {
    while true {
      if commit == commits.count {
        follower.advance(to: end)
        guard try readPage() else { return nil }
      }
      let current = commits[commit]
      guard change < current.changes.count else {
        (commit, change) = (commit + 1, 0)
        continue
      }
      defer { change += 1 }
      return try maker.change(change, of: current)
    }
  }

  /// Reads the page after `end`. Returns false if there is none yet.
  @discardableResult
  private mutating func readPage() throws -> Bool {
    do throws(DocumentStoreError) {
      (commits, end) = try maker.view.store.feedChanges(
        after: end, max: Self.commitsMax, bytesMax: Self.bytesMax)
      (commit, change) = (0, 0)
      return !commits.isEmpty
    } catch {
      guard case .feedTruncated = error else { throw error }
      throw FirestoreChangesError.truncated(oldest: try oldest)
    }
  }
}
