// Listeners of one database: how the store registers them, and when they are notified of snapshots in sync.
//
//   1. After all writes that were issued before, the store registers the listener (DocumentStore.listen).
//   2. A write that is issued later is acknowledged after that. Its completion therefore runs after the
//      listener has received its state.
//   3. If an index has to be created first, the index queue creates it and then registers the listener. Other
//      calls do not wait. Commits acknowledged meanwhile are part of the listener's first state.
//   4. A commit puts the states of all listeners on their queues. After the last of them, each in-sync
//      listener is called once for the commit.

import DocumentStore
import FirebaseCore
import Foundation
import OfflineSync

extension FirestoreClient {
  /// Calls `handler` on `queue` with the states of a query, each converted by `made`. Listening ends when
  /// the caller removes it or an error occurs.
  func listen<Snapshot: Sendable>(
    to query: StructuredQuery, on queue: DispatchQueue, made: @escaping @Sendable (LiveSnapshot) -> Snapshot,
    _ handler: @escaping @Sendable (Result<Snapshot, any Error>) -> Void
  ) -> Listening {
    let listening = Listening { [weak self] in self?.forget($0) }
    remember(listening)
    let tell: @Sendable (Result<LiveSnapshot, DocumentStoreError>) -> Void = { [weak self] result in
      self?.tell(result, listening, made, handler)
    }
    inOrder { [self] view in
      guard !listening.isRemoved else { return }
      do throws(DocumentStoreError) {
        let store = try view.get().store
        let isReady = try store.isReady(toListenTo: query)
        whenIndexed(listening, isReady: isReady, query, store) { made in
          do throws(DocumentStoreError) {
            try made.get()
            let registration = try store.listen(to: query, on: queue, tell)
            listening.attach { registration.remove() }
          } catch {
            queue.async { tell(.failure(error)) }
          }
        }
      } catch {
        queue.async { tell(.failure(error)) }
      }
    }
    return listening
  }

  /// Runs `body` once all indexes that `listening` needs exist: at once, or on the index queue after
  /// creating them. Removing the listener cancels the index creation, and `body` is not called.
  func whenIndexed(
    _ listening: Listening, isReady: Bool, _ query: StructuredQuery, _ store: DocumentStore,
    _ body: @escaping @Sendable (Result<Void, DocumentStoreError>) -> Void
  ) {
    guard !isReady else { return body(.success(())) }
    prepare {
      let made = Result { () throws(DocumentStoreError) in
        try store.makeIndexes(for: query) { !listening.isRemoved }
      }
      if !listening.isRemoved { body(made) }
    }
  }

  private func tell<Snapshot>(
    _ result: Result<LiveSnapshot, DocumentStoreError>, _ listening: Listening,
    _ made: (LiveSnapshot) -> Snapshot, _ handler: (Result<Snapshot, any Error>) -> Void
  ) {
    guard !listening.isRemoved else { return }
    switch result {
    case .success(let snapshot):
      guard let visible = snapshot.withoutTimeOnlyChanges else { return }
      let told = made(visible)
      if listening.call({ handler(.success(told)) }) { announceSync() }
    case .failure(let error):
      listening.call { handler(.failure(FirestoreErrors.translate(error))) }
      // Removed only after the error was delivered: the end also ends loops, and these must receive the
      // error first.
      listening.remove()
    }
  }

  // MARK: In sync

  /// Calls `handler` on `queue`, once now and then after each round of snapshots. All in-sync listeners use
  /// one queue.
  func listenToSync(on queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void) -> Listening {
    let listening = Listening { [weak self] in self?.forget($0) }
    let call: @Sendable () -> Void = { listening.call(handler) }
    remember(listening)
    guard remote == nil else {
      inOrderOfDriver { driver in
        guard case .success(let driver) = driver, !listening.isRemoved else { return }
        let id = driver.listenToSync { queue.async(execute: call) }
        listening.attach { driver.unlistenToSync(id) }
      }
      return listening
    }
    inOrder { [self] _ in
      queue.async { [self] in
        // The first call covers every snapshot delivered before it. Those snapshots cause no further call.
        join(listening, SyncCall(queue: queue, call: call))
        call()
      }
    }
    return listening
  }

  /// Called after a listener has received a snapshot. Only the first call of a commit schedules an
  /// announcement. Later calls before the announcement are part of it.
  private func announceSync() {
    guard let queue = beginAnnouncement() else { return }
    announcing.async { [self] in
      // Wait for the commit whose listeners are being notified: after that its states are on their queues.
      openView?.store.waitForFollowing()
      queue.async { [self] in
        for announcement in endAnnouncement() { announcement.call() }
      }
    }
  }
}

/// A listener for snapshots being in sync.
struct SyncCall: Sendable {
  var queue: DispatchQueue
  var call: @Sendable () -> Void
}
