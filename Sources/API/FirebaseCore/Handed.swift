// Values on their way to another queue.

/// A value of the user, or a closure, on its way to the queue where it is used.
///
/// Existing code passes closures and objects of any isolation, so nothing of the API is marked as sendable.
package struct Handed<Value>: @unchecked Sendable {
  // Unchecked, because what is in it is handed over: this side does not use it any more, or only on the same queue.
  package let value: Value

  package init(_ value: Value) { self.value = value }
}
