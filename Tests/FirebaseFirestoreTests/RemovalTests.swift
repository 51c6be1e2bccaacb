// Removal of a listener: no callback starts after the removal has returned.

import Authority
import DocumentStore
import Foundation
import Harness
import OfflineSync
import Testing

@testable import FirebaseFirestore

@Suite(.timeLimit(.minutes(2))) struct RemovalTests {
  private let queue = DispatchQueue(label: "dugout.test.callbacks")
  /// Blocks the callbacks of a test. The callbacks run on queues of the test or of the global pool.
  private let resume = DispatchSemaphore(value: 0)

  private func firestore(hasRemote: Bool) throws -> Firestore {
    let firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = queue
    if hasRemote { settings.remote = try LoopbackRemote(authority: try DocumentStore.openInMemory()) }
    firestore.settings = settings
    return firestore
  }

  /// Guards against a callback that starts after its listener was removed, if the removal happened while the
  /// snapshot of many documents was being created.
  @Test(arguments: [false, true])
  func aListenerRemovedDuringSnapshotCreationIsNotNotified(hasRemote: Bool) async throws {
    let firestore = try firestore(hasRemote: hasRemote)
    let (begun, notifications, resume) = (EventCount(), Counter(), resume)
    let makeSnapshot: @Sendable () -> Int = {
      begun.add()
      _ = resume.wait(timeout: .now() + 30)
      return 1
    }
    let query = StructuredQuery(.collection(try CollectionPath(["rooms"])))
    let listening = firestore.client().listen(
      to: .success(query), ListenRules(), on: queue,
      making: SnapshotMaker(live: { _ in makeSnapshot() }, viewed: { _ in makeSnapshot() })
    ) { (_: Result<Int, any Error>) in notifications.add() }
    try #require(await begun.next(), "no snapshot is created")
    await away { listening.remove() }
    resume.signal()
    // Waits for the callbacks that are already queued.
    await withCheckedContinuation { done in queue.async { done.resume() } }
    #expect(notifications.count == 0)
    try await firestore.terminate()
  }

  /// A removal waits only briefly for a running callback, because the callback may be waiting for the
  /// removing thread.
  @Test(arguments: [false, true])
  func aCallbackMayWaitForTheRemovingThread(hasRemote: Bool) async throws {
    let firestore = try firestore(hasRemote: hasRemote)
    let (begun, ended, resume) = (EventCount(), EventCount(), resume)
    let registration = firestore.collection("rooms").addSnapshotListener { _, _ in
      begun.add()
      if resume.wait(timeout: .now() + 30) == .success { ended.add() }
    }
    try #require(await begun.next(), "no callback begins")
    await away { registration.remove() }
    #expect(ended.count == 0)
    resume.signal()
    try #require(await ended.next(), "the callback does not end")
    #expect(begun.count == 1)
    try await firestore.terminate()
  }

  @Test func noCallStartsAfterTheRemoval() {
    let listening = Listening { _ in }
    var calls = 0
    let first = listening.call { calls += 1 }
    // A callback removes its own listener, and does so twice.
    let last = listening.call {
      listening.remove()
      listening.remove()
      calls += 1
    }
    let late = listening.call { calls += 1 }
    #expect(first && last && !late)
    #expect(calls == 2)
  }

  /// Runs `body` on a thread that may block.
  private func away(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { done in
      DispatchQueue.global().async {
        body()
        done.resume()
      }
    }
  }
}
