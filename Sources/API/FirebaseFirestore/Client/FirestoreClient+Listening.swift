// Listeners of one database: how they get to the store, and how they are all told that they agree.
//
//   1. after the writes that were issued before, the store takes a listener up (DocumentStore.listen)
//   2. a write that is issued later is acknowledged after that, so that its completion comes after the state
//      that it made
//   3. where an index has to be made first, both are left to the queue for that: nobody else waits meanwhile, and what
//      is acknowledged until then is part of the first state
//   4. a commit puts the states of all listeners on their queues; when all are there, those who listen to
//      snapshots being in sync are put behind them, once for the commit

import DocumentStore
import FirebaseCore
import Foundation
import OfflineSync

extension FirestoreClient {
  /// Tells `handler` the states of a query on `queue`, each as `made` of it, until the listening is removed, or an error
  /// ends it.
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

  /// Has `body` run once no index has to be made for `listening`: at once, or where indexes are made. If the listening
  /// ends before, so does the making, and nothing comes of it.
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
      // Only then: what ends, ends loops, which have to hear why.
      listening.remove()
    }
  }

  // MARK: In sync

  /// Tells `handler` on `queue`, the same for all: once now, and then after each round of snapshots.
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
        // What was told before this is part of the first call, and of no round after it.
        join(listening, SyncCall(queue: queue, call: call))
        call()
      }
    }
    return listening
  }

  /// Called by listeners that were told something. Of one commit, only the first call leads to anything: those
  /// that come before the announcement are part of it.
  private func announceSync() {
    guard let queue = beginAnnouncement() else { return }
    announcing.async { [self] in
      // Behind the commit that is being followed: its states are on their queues then.
      openView?.store.waitForFollowing()
      queue.async { [self] in
        for announcement in endAnnouncement() { announcement.call() }
      }
    }
  }
}

/// Someone who listens to snapshots being in sync.
struct SyncCall: Sendable {
  var queue: DispatchQueue
  var call: @Sendable () -> Void
}
