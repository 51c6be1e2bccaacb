// Runs operations on the client's queues, and delivers their results to completions and awaiting tasks.

private import FirebaseCore
import Foundation

extension StorageReference {
  typealias Finish<Value> = @Sendable (Result<Value, StorageError>) -> Void

  /// Runs `body` on the client's queue of operations. Calls `completion` with the result on the callback
  /// queue.
  func answer<Value: Sendable>(
    _ completion: ((Value?, (any Error)?) -> Void)?,
    _ body: @escaping @Sendable () throws(StorageError) -> Value
  ) {
    storage.client.perform(finishing(onCallbackQueue(completion), body))
  }

  nonisolated(nonsending) func answered<Value: Sendable>(
    _ body: @escaping @Sendable () throws(StorageError) -> Value
  ) async throws -> Value {
    try await awaitResult { storage.client.perform(finishing($0, body)) }
  }

  private func finishing<Value>(
    _ finish: @escaping Finish<Value>, _ body: @escaping @Sendable () throws(StorageError) -> Value
  ) -> @Sendable () -> Void {
    {
      do throws(StorageError) { finish(.success(try body())) } catch { finish(.failure(error)) }
    }
  }

  // MARK: With a remote

  /// Calls `completion` with the result of an operation that may send a request to a remote. `body` must call
  /// the closure that it receives exactly once, either before it returns or later.
  func answer<Value: Sendable>(
    _ completion: ((Value?, (any Error)?) -> Void)?,
    later body: @escaping @Sendable (@escaping Finish<Value>) throws(StorageError) -> Void
  ) {
    performRemotely(onCallbackQueue(completion), body)
  }

  nonisolated(nonsending) func answered<Value: Sendable>(
    later body: @escaping @Sendable (@escaping Finish<Value>) throws(StorageError) -> Void
  ) async throws -> Value {
    try await awaitResult { performRemotely($0, body) }
  }

  private func performRemotely<Value>(
    _ finish: @escaping Finish<Value>,
    _ body: @escaping @Sendable (@escaping Finish<Value>) throws(StorageError) -> Void
  ) {
    storage.client.perform(askingRemote: true) {
      do throws(StorageError) { try body(finish) } catch { finish(.failure(error)) }
    }
  }

  private func onCallbackQueue<Value: Sendable>(
    _ completion: ((Value?, (any Error)?) -> Void)?
  ) -> Finish<Value> {
    storage.callbackQueue.passing { completion?($0, $1) }
  }
}
