// A reference that is set once, and read from any thread without a lock.

import Synchronization

/// The standard library's `AtomicLazyReference` looks its types up at run time with each load, which costs a read of a
/// document more than its place in a page.
@safe
package struct LazyReference<Instance: AnyObject & Sendable>: ~Copyable, Sendable {
  /// Of an instance that is retained once, by this; 0 before there is one.
  private let address = Atomic<UInt>(0)

  package init() {}

  deinit { unsafe Self.instance(at: address.load(ordering: .acquiring))?.release() }

  package var isSet: Bool { address.load(ordering: .acquiring) != 0 }

  package func load() -> Instance? {
    unsafe Self.instance(at: address.load(ordering: .acquiring))?.takeUnretainedValue()
  }

  /// The one that stays: `new`, or what somebody else was faster with.
  package func storeIfNil(_ new: Instance) -> Instance {
    let retained = unsafe Unmanaged.passRetained(new)
    let bits = unsafe UInt(bitPattern: retained.toOpaque())
    let (isStored, found) = address.compareExchange(
      expected: 0, desired: bits, ordering: .acquiringAndReleasing)
    guard !isStored else { return new }
    unsafe retained.release()
    // What is not 0 is an instance, and nothing is ever let go of before the end.
    return unsafe Self.instance(at: found)?.takeUnretainedValue() ?? new
  }

  private static func instance(at bits: UInt) -> Unmanaged<Instance>? {
    unsafe UnsafeRawPointer(bitPattern: bits).map { unsafe Unmanaged<Instance>.fromOpaque($0) }
  }
}
