// Passes values from closures to tests that await them.

/// A sequence of values in arrival order. Closures add values, and one test awaits them.
package final class CallbackValues<Value>: @unchecked Sendable {
  // The conformance is unchecked. It is safe because the sender of a value does not use it after handing it
  // over.
  private struct Item: @unchecked Sendable { var value: Value }
  private let continuation: AsyncStream<Item>.Continuation
  private var iterator: AsyncStream<Item>.Iterator

  package init() {
    let (stream, continuation) = AsyncStream<Item>.makeStream()
    self.continuation = continuation
    iterator = stream.makeAsyncIterator()
  }

  package func add(_ value: Value) { continuation.yield(Item(value: value)) }

  package func next() async -> Value { await iterator.next(isolation: nil)!.value }
}

/// Returns the value that `call` passes to its completion handler.
package func callbackValue<Value>(_ call: (@escaping (Value) -> Void) -> Void) async -> Value {
  let heard = CallbackValues<Value>()
  call { heard.add($0) }
  return await heard.next()
}
