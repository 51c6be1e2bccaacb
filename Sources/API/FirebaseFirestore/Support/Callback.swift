// The way of a caller's closure to the callback queue.

private import Foundation

/// A closure of the user on its way to the queue where it runs.
struct Callback<Value>: @unchecked Sendable {
  // Unchecked, because the user's closure is not marked: existing code in either language mode passes
  // closures of any isolation. It is called once at a time, on the queue that the settings name; a closure that
  // belongs to the main actor therefore needs the main queue, which is the default.
  private let body: (Value) -> Void

  init(_ body: @escaping (Value) -> Void) { self.body = body }

  func callAsFunction(_ value: Value) { body(value) }
}

/// A value on its way to a callback.
struct Delivery<Value>: @unchecked Sendable {
  // Unchecked, because errors and snapshots are handed over and not used on this side again.
  let value: Value
}

extension Firestore {
  /// What tells `completion` a result on the callback queue.
  func told<Value: Sendable>(
    _ completion: @escaping (Value?, (any Error)?) -> Void
  ) -> @Sendable (Result<Value, any Error>) -> Void {
    let callback = Callback<(Value?, (any Error)?)> { completion($0.0, $0.1) }
    let queue = callbackQueue
    return { result in
      let delivery: Delivery<(Value?, (any Error)?)> =
        switch result {
        case .success(let value): Delivery(value: (value, nil))
        case .failure(let error): Delivery(value: (nil, error))
        }
      queue.async { callback(delivery.value) }
    }
  }
}
