// Values on their way to another queue.

/// A closure or an object of the user on its way to the queue where it is used.
struct Handed<Value>: @unchecked Sendable {
  // Unchecked, because what is in it is handed over: this side does not use it any more, or only on the same queue.
  let value: Value

  init(_ value: Value) { self.value = value }
}
