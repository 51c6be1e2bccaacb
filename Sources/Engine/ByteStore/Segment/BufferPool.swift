// Pooled read buffers for callers without a buffer of their own.

/// A pool of unused buffers. A call takes a buffer and gives it back, so that repeated reads allocate
/// nothing.
final class BufferPool: Sendable {
  /// Maximum number of unused buffers. More than this number of concurrent reads are rare.
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
    // A buffer that has grown to the size of large values is freed.
    guard pooled.buffer.capacity <= 1 << 20 else { return }
    free.withLock { free in
      if free.count < Self.keptMax { free.append(pooled) }
    }
  }
}

/// A pooled buffer, for one thread at a time. Creating a buffer costs as much as many reads, because it is
/// filled with zeros and a dictionary is copied into it.
package final class PooledBuffer {
  package var buffer = ReadBuffer()
}
