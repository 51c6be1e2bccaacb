// The messages of a call that the server does not have yet.

/// Messages in order. Each has a number, by which the server knows it again.
struct MessageLine {
  /// Messages that one request carries. It is sent with the same ones until it is answered.
  struct Batch: Equatable {
    let first: UInt64
    let messages: [[UInt8]]
  }

  private var waiting: [[UInt8]] = []
  /// The number of the first message that waits.
  private var next: UInt64 = 0

  var isEmpty: Bool { waiting.isEmpty }

  mutating func add(_ message: [UInt8]) { waiting.append(message) }

  /// Takes the next messages, within these limits and one at least. Nil if there are none.
  mutating func takeBatch(messagesMax: Int, bytesMax: Int) -> Batch? {
    guard !waiting.isEmpty else { return nil }
    var count = 0
    var bytes = 0
    while count < waiting.count, count == 0 || count < messagesMax && bytes + waiting[count].count <= bytesMax
    {
      bytes += waiting[count].count
      count += 1
    }
    defer {
      waiting.removeFirst(count)
      next += UInt64(count)
    }
    return Batch(first: next, messages: Array(waiting[..<count]))
  }

  mutating func removeAll() { waiting = [] }
}
