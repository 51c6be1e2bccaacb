// Read buffers for callers who bring none.

/// Buffers that are not in use. A call takes one and gives it back, so that reads allocate nothing in the
/// long run.
final class BufferPool: Sendable {
  /// More than so many threads read at once only for a moment.
  private static let keptMax = 16

  private final class Box {
    var buffer = ReadBuffer()
  }

  private let free = Locked<[Box]>([])

  func withBuffer<Result>(
    _ body: (inout ReadBuffer) throws(ByteStoreError) -> Result
  ) throws(ByteStoreError) -> Result {
    let box = free.withLock { $0.popLast() } ?? Box()
    defer { giveBack(box) }
    return try body(&box.buffer)
  }

  private func giveBack(_ box: Box) {
    // One that has grown to the size of a large value is let go.
    guard box.buffer.capacity <= 1 << 20 else { return }
    free.withLock { free in
      if free.count < Self.keptMax { free.append(box) }
    }
  }
}
