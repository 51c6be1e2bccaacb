// The shapes of an open store, which every write uses.

import DocumentStore
private import Synchronization

/// A reference that is set once and read without a lock. Not a `LazyReference`, because a generic reference
/// is looked up at run time, which would take 500 more instructions for each write.
@safe
struct PublishedShapes: ~Copyable, Sendable {
  /// The address of the shapes, which this reference retains once; 0 until the reference is set.
  private let address = Atomic<UInt>(0)

  deinit { unsafe Self.shapes(at: address.load(ordering: .acquiring))?.release() }

  @inline(__always)
  func load() -> ShapeDictionary? {
    unsafe Self.shapes(at: address.load(ordering: .acquiring))?.takeUnretainedValue()
  }

  /// Stores `new` if the reference is not set yet. Returns the stored shapes.
  func storeIfNil(_ new: ShapeDictionary) -> ShapeDictionary {
    let retained = unsafe Unmanaged.passRetained(new)
    let bits = unsafe UInt(bitPattern: retained.toOpaque())
    let (isStored, found) = address.compareExchange(
      expected: 0, desired: bits, ordering: .acquiringAndReleasing)
    guard !isStored else { return new }
    unsafe retained.release()
    // A nonzero address is valid, because the stored shapes are released only in `deinit`.
    return unsafe Self.shapes(at: found)?.takeUnretainedValue() ?? new
  }

  @inline(__always)
  private static func shapes(at bits: UInt) -> Unmanaged<ShapeDictionary>? {
    unsafe UnsafeRawPointer(bitPattern: bits).map { unsafe Unmanaged<ShapeDictionary>.fromOpaque($0) }
  }
}
