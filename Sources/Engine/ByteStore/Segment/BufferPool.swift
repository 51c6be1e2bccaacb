// A pool of read buffers for callers that have no buffer of their own.

import Synchronization

/// A pool of unused buffers. A call takes a buffer and returns it at the end, so that repeated reads need no
/// allocation.
final class BufferPool: Sendable {
  /// The maximum number of unused buffers. It is rare that more reads than this run at the same time.
  private static let keptMax = 16

  /// The address of an unused buffer, which the pool retains once; 0 if there is none. A thread that reads
  /// alone takes this buffer each time, and needs no lock.
  private let first = Atomic<UInt>(0)
  private let free = Locked<[PooledBuffer]>([])

  deinit { unsafe Self.buffer(at: first.load(ordering: .acquiring))?.release() }

  func withBuffer<Result>(
    _ body: (inout ReadBuffer) throws(ByteStoreError) -> Result
  ) throws(ByteStoreError) -> Result {
    let pooled = take()
    defer { recycle(pooled) }
    return try body(&pooled.buffer)
  }

  func take() -> PooledBuffer {
    if let buffer = unsafe Self.buffer(at: first.exchange(0, ordering: .acquiringAndReleasing)) {
      return unsafe buffer.takeRetainedValue()
    }
    return free.withLock { $0.popLast() } ?? PooledBuffer()
  }

  func recycle(_ pooled: PooledBuffer) {
    // A buffer that has grown to hold large values is freed instead.
    guard pooled.buffer.capacity <= 1 << 20 else { return }
    let retained = unsafe Unmanaged.passRetained(pooled)
    let bits = unsafe UInt(bitPattern: retained.toOpaque())
    let isFirst = first.compareExchange(expected: 0, desired: bits, ordering: .acquiringAndReleasing)
      .exchanged
    guard !isFirst else { return }
    unsafe retained.release()
    free.withLock { free in
      if free.count < Self.keptMax { free.append(pooled) }
    }
  }

  private static func buffer(at bits: UInt) -> Unmanaged<PooledBuffer>? {
    unsafe UnsafeRawPointer(bitPattern: bits).map { unsafe Unmanaged<PooledBuffer>.fromOpaque($0) }
  }
}

/// A pooled buffer, used by one thread at a time, and what its users keep for later reads. Creating a buffer
/// takes as long as many reads, because the buffer is filled with zeros and a dictionary is copied into it.
@safe
package final class PooledBuffer {
  // The parts have their own allocations, because each access to a stored property of a class is checked for
  // exclusivity at run time. The check takes as long as copying a small entry. This object owns the
  // allocations, and one thread at a time uses the object.
  private let storage: UnsafeMutablePointer<ReadBuffer>
  private let keyStorage: UnsafeMutablePointer<[UInt8]>
  private let companionStorage: UnsafeMutablePointer<(any AnyObject & Sendable)?>

  init() {
    unsafe storage = .allocate(capacity: 1)
    unsafe storage.initialize(to: ReadBuffer())
    unsafe keyStorage = .allocate(capacity: 1)
    unsafe keyStorage.initialize(to: [])
    unsafe companionStorage = .allocate(capacity: 1)
    unsafe companionStorage.initialize(to: nil)
  }

  deinit {
    unsafe storage.deinitialize(count: 1)
    unsafe storage.deallocate()
    unsafe keyStorage.deinitialize(count: 1)
    unsafe keyStorage.deallocate()
    unsafe companionStorage.deinitialize(count: 1)
    unsafe companionStorage.deallocate()
  }

  // The accessors return addresses. A coroutine that yields the buffer would allocate its frame for each
  // access from another module.

  package var buffer: ReadBuffer {
    unsafeAddress { unsafe UnsafePointer(storage) }
    unsafeMutableAddress { unsafe storage }
  }

  /// Memory for the key of a read.
  package var key: [UInt8] {
    unsafeAddress { unsafe UnsafePointer(keyStorage) }
    unsafeMutableAddress { unsafe keyStorage }
  }

  /// The object that the last user of this buffer needed, and that the next one may need again.
  package var companion: (any AnyObject & Sendable)? {
    unsafeAddress { unsafe UnsafePointer(companionStorage) }
    unsafeMutableAddress { unsafe companionStorage }
  }
}
