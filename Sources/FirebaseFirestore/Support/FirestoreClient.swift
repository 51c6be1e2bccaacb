// A database at work: its store, the writes under way, and the queue for callbacks.
//
// Invariants:
//   - Writes reach the store in the order of the calls.
//   - A read waits for the writes that were issued before it, and for no other.
//   - A completion runs after its write is durable and visible, on the callback queue.

package import DocumentStore
import FirebaseCore
import Foundation
package import OfflineSync

package final class FirestoreClient: Sendable {
  package let callbackQueue: DispatchQueue
  private let use: StoreUse
  private let writes = DispatchQueue(label: "dugout.firestore.writes")
  private let state = Guarded(State())

  private struct State {
    var issued: UInt64 = 0
    var finished: UInt64 = 0
    /// Reads that wait until the write with this number has finished.
    var waiting: [(write: UInt64, reader: CheckedContinuation<Void, Never>)] = []
  }

  init(_ use: StoreUse, callbackQueue: DispatchQueue) {
    self.use = use
    self.callbackQueue = callbackQueue
  }

  // MARK: Writing

  /// Enqueues the writes and returns. `finished` is told their outcome on a queue of ours.
  package func write(
    _ mutations: [Mutation], finished: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    state.withLock { state in
      state.issued += 1
      let number = state.issued
      // Under the lock, so that the queue's order is the order of the numbers.
      writes.async { [self] in
        let result = Result { () throws(DocumentStoreError) in
          _ = try use.view.write(mutations)
        }
        markFinished(number)
        finished(result.mapError(FirestoreErrors.translate))
      }
    }
  }

  private func markFinished(_ number: UInt64) {
    let ready = state.withLock { state in
      state.finished = number
      let split = state.waiting.partition { $0.write <= number }
      defer { state.waiting.removeSubrange(split...) }
      return state.waiting[split...].map(\.reader)
    }
    for reader in ready { reader.resume() }
  }

  // MARK: Reading

  /// The number of the last write that was issued; what a read that begins now has to see.
  package var lastIssuedWrite: UInt64 { state.withLock { $0.issued } }

  /// Reads on the caller's thread if the writes up to `write` have finished, else when they have.
  nonisolated(nonsending) package func document(
    at path: DocumentPath, source: ReadSource, after write: UInt64
  ) async throws -> ViewedDocument {
    if state.withLock({ $0.finished < write }) {
      await withCheckedContinuation { resumeAfter(write, $0) }
    }
    do throws(DocumentStoreError) {
      return try use.view.document(at: path, source: source)
    } catch {
      throw FirestoreErrors.translate(error)
    }
  }

  private func resumeAfter(_ write: UInt64, _ continuation: CheckedContinuation<Void, Never>) {
    let isDone = state.withLock { state in
      if state.finished < write { state.waiting.append((write, continuation)) }
      return state.finished >= write
    }
    if isDone { continuation.resume() }
  }

  /// Waits for the writes under way, then gives the store back.
  func close() {
    writes.sync {}
    try? use.end()
  }
}
