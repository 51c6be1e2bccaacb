// The result of a transfer, for completions and for awaiting tasks.

import Foundation

enum Outcome {
  static func result<Value>(_ value: Value?, _ error: (any Error)?) -> Result<Value, any Error> {
    if let value { return .success(value) }
    return .failure(error ?? StorageError.internalError(message: "Neither a value nor an error."))
  }

  /// Waits for the end of a transfer. If the Swift task is cancelled, the transfer is cancelled too.
  nonisolated(nonsending) static func of<Value: Sendable>(
    _ task: StorageObservableTask, _ value: @escaping @Sendable (StorageTaskSnapshot) -> Value?
  ) async throws -> Value {
    try await withTaskCancellationHandler {
      try await awaitResult { (done: @escaping @Sendable (Result<Value, any Error>) -> Void) in
        task.transfer.whenEnded(of: task) { snapshot in
          done(result(snapshot.error == nil ? value(snapshot) : nil, snapshot.error))
        }
      }
    } onCancel: {
      task.transfer.handle(.cancel)
    }
  }
}
