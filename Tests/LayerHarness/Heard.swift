// What closures were called with, for tests that await it.

/// Values in the order in which they came. One side yields, the other awaits.
package final class Heard<Value>: @unchecked Sendable {
  // Unchecked, because values are handed over.
  private struct Item: @unchecked Sendable { var value: Value }
  private let continuation: AsyncStream<Item>.Continuation
  private var iterator: AsyncStream<Item>.Iterator

  package init() {
    let (stream, continuation) = AsyncStream<Item>.makeStream()
    self.continuation = continuation
    iterator = stream.makeAsyncIterator()
  }

  package func hear(_ value: Value) { continuation.yield(Item(value: value)) }

  package func next() async -> Value { await iterator.next(isolation: nil)!.value }
}

/// What a call with a completion told it.
package func told<Value>(_ call: (@escaping (Value) -> Void) -> Void) async -> Value {
  let heard = Heard<Value>()
  call { heard.hear($0) }
  return await heard.next()
}
