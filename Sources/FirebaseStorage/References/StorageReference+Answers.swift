// The way of an operation: over the queue of the operations, and back over the callback queue or to whoever waits.

import Foundation

extension StorageReference {
  /// Has `completion` called with the result of `body` on the callback queue.
  func answer<Value: Sendable>(
    _ completion: ((Value?, (any Error)?) -> Void)?,
    _ body: @escaping @Sendable () throws(StorageError) -> Value
  ) {
    let callback = Callback<(Value?, (any Error)?)> { completion?($0.0, $0.1) }
    let queue = storage.callbackQueue
    storage.client.perform {
      let result: (Value?, (any Error)?)
      do throws(StorageError) { result = (try body(), nil) } catch { result = (nil, error) }
      let delivery = Delivery(value: result)
      queue.async { callback(delivery.value) }
    }
  }

  nonisolated(nonsending) func answered<Value: Sendable>(
    _ body: @escaping @Sendable () throws(StorageError) -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      storage.client.perform {
        do throws(StorageError) {
          continuation.resume(returning: try body())
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
  }
}
