// Read buffers for callers who bring none.

/// Buffers that are not in use. A call takes one and gives it back, so that reads allocate nothing in the
/// long run.
final class BufferPool: Sendable {
  /// More than so many threads read at once only for a moment.
  private static let keptMax = 16

  private let free = Locked<[PooledBuffer]>([])

  func withBuffer<Result>(
    _ body: (inout ReadBuffer) throws(ByteStoreError) -> Result
  ) throws(ByteStoreError) -> Result {
    let pooled = take()
    defer { giveBack(pooled) }
    return try body(&pooled.buffer)
  }

  func take() -> PooledBuffer { free.withLock { $0.popLast() } ?? PooledBuffer() }

  func giveBack(_ pooled: PooledBuffer) {
    // One that has grown to the size of large values is let go.
    guard pooled.buffer.capacity <= 1 << 20 else { return }
    free.withLock { free in
      if free.count < Self.keptMax { free.append(pooled) }
    }
  }
}

/// A buffer on loan, for one thread at a time. To make one costs as much as many reads: it is filled
/// with zeros, and a dictionary is copied into it.
package final class PooledBuffer {
  package var buffer = ReadBuffer()
}
