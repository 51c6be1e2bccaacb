// A reference that is set once and read from any thread without a lock.

import Synchronization

/// A replacement for the standard library's `AtomicLazyReference`, which looks up its types at run time on
/// every load. In a document read, this lookup costs more than finding the document's location in its page.
@safe
package struct LazyReference<Instance: AnyObject & Sendable>: ~Copyable, Sendable {
  /// The address of the stored instance, which this reference retains once; 0 until the reference is set.
  private let address = Atomic<UInt>(0)

  package init() {}

  deinit { unsafe Self.instance(at: address.load(ordering: .acquiring))?.release() }

  package var isSet: Bool { address.load(ordering: .acquiring) != 0 }

  package func load() -> Instance? {
    unsafe Self.instance(at: address.load(ordering: .acquiring))?.takeUnretainedValue()
  }

  /// Stores `new` if the reference is not set yet. Returns the stored instance: if another thread was faster,
  /// this is the instance of that thread.
  package func storeIfNil(_ new: Instance) -> Instance {
    let retained = unsafe Unmanaged.passRetained(new)
    let bits = unsafe UInt(bitPattern: retained.toOpaque())
    let (isStored, found) = address.compareExchange(
      expected: 0, desired: bits, ordering: .acquiringAndReleasing)
    guard !isStored else { return new }
    unsafe retained.release()
    // A nonzero address is a valid instance, because a stored instance is released only in `deinit`.
    return unsafe Self.instance(at: found)?.takeUnretainedValue() ?? new
  }

  private static func instance(at bits: UInt) -> Unmanaged<Instance>? {
    unsafe UnsafeRawPointer(bitPattern: bits).map { unsafe Unmanaged<Instance>.fromOpaque($0) }
  }
}
