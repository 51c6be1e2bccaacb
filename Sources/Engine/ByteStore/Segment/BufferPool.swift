// A pool of read buffers for callers that have no buffer of their own.

/// A pool of unused buffers. A call takes a buffer and returns it at the end, so that repeated reads need no
/// allocation.
final class BufferPool: Sendable {
  /// The maximum number of unused buffers. It is rare that more reads than this run at the same time.
  private static let keptMax = 16

  private let free = Locked<[PooledBuffer]>([])

  func withBuffer<Result>(
    _ body: (inout ReadBuffer) throws(ByteStoreError) -> Result
  ) throws(ByteStoreError) -> Result {
    let pooled = take()
    defer { recycle(pooled) }
    return try body(&pooled.buffer)
  }

  func take() -> PooledBuffer { free.withLock { $0.popLast() } ?? PooledBuffer() }

  func recycle(_ pooled: PooledBuffer) {
    // A buffer that has grown to hold large values is freed instead.
    guard pooled.buffer.capacity <= 1 << 20 else { return }
    free.withLock { free in
      if free.count < Self.keptMax { free.append(pooled) }
    }
  }
}

/// A pooled buffer, used by one thread at a time. Creating a buffer takes as long as many reads, because the
/// buffer is filled with zeros and a dictionary is copied into it.
@safe
package final class PooledBuffer {
  // The buffer has its own allocation, because each access to a stored property of a class is checked for
  // exclusivity at run time. The check takes as long as copying a small entry. This object owns the
  // allocation, and one thread at a time uses the object.
  private let storage: UnsafeMutablePointer<ReadBuffer>

  init() {
    unsafe storage = .allocate(capacity: 1)
    unsafe storage.initialize(to: ReadBuffer())
  }

  deinit {
    unsafe storage.deinitialize(count: 1)
    unsafe storage.deallocate()
  }

  // Addresses, because a coroutine that yields the buffer would allocate its frame for each access from
  // another module.
  package var buffer: ReadBuffer {
    unsafeAddress { unsafe UnsafePointer(storage) }
    unsafeMutableAddress { unsafe storage }
  }
}
