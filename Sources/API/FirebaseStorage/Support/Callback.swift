// The way of a caller's closure to the callback queue.

/// A closure of the user on its way to the queue where it runs.
struct Callback<Value>: @unchecked Sendable {
  // Unchecked, because the user's closure is not marked: existing code in either language mode passes closures of
  // any isolation. It is called once at a time, on the callback queue; a closure that belongs to the main actor
  // therefore needs the main queue, which is the default.
  private let body: (Value) -> Void

  init(_ body: @escaping (Value) -> Void) { self.body = body }

  func callAsFunction(_ value: Value) { body(value) }
}

/// A value on its way to a callback.
struct Delivery<Value>: @unchecked Sendable {
  // Unchecked, because it is handed over and not used on this side again.
  let value: Value
}
