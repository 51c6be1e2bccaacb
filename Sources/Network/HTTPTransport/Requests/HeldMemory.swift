// Bounds the memory that clients can make a server hold: requests that are not complete, and answers that are
// not read.

internal import Synchronization

/// A number of bytes that many holders share. Small holders may have a quarter more, so that those who send
/// or ask for much cannot exclude all others. Usable from any thread.
package final class HeldMemory: Sendable {
  private let bytesMax: Int
  private let smallBytesMax: Int
  /// The budget of the whole server, of which this one is a part.
  private let whole: HeldMemory?
  private let used = Atomic<Int>(0)

  package init(bytesMax: Int, within whole: HeldMemory? = nil) {
    self.bytesMax = bytesMax
    smallBytesMax = bytesMax == .max ? .max : bytesMax + bytesMax / 4
    self.whole = whole
  }

  /// A budget that is never exhausted.
  package static var unlimited: HeldMemory { HeldMemory(bytesMax: .max) }

  /// The budget of the whole server, for what outlives a connection.
  package var ofServer: HeldMemory { whole?.ofServer ?? self }

  /// The bytes that are held.
  package var usedBytes: Int { used.load(ordering: .relaxed) }

  /// Takes bytes. Returns false, and takes none, if there are not enough.
  func take(_ byteCount: Int, isSmall: Bool) -> Bool {
    guard whole?.take(byteCount, isSmall: isSmall) ?? true else { return false }
    let (_, now) = used.add(byteCount, ordering: .relaxed)
    guard now > (isSmall ? smallBytesMax : bytesMax) else { return true }
    give(byteCount)
    return false
  }

  func give(_ byteCount: Int) {
    used.subtract(byteCount, ordering: .relaxed)
    whole?.give(byteCount)
  }
}

/// The bytes of a budget that one request or one answer holds, until the end of this object. Used by one
/// thread at a time.
package final class HeldMemoryShare: Sendable {
  /// The budget is charged in steps, so that small requests do not touch it.
  static let stepBytes = 4 * 1024
  /// A holder of this many bytes is not small.
  private static let largeBytes = 64 * 1024

  private let budget: HeldMemory
  private let held = Atomic<Int>(0)

  package init(of budget: HeldMemory) { self.budget = budget }

  deinit { budget.give(held.load(ordering: .relaxed)) }

  /// Changes the number of bytes. Returns false, and changes nothing, if the budget is exhausted.
  package func resize(to byteCount: Int) -> Bool {
    let wanted = byteCount / Self.stepBytes * Self.stepBytes
    let before = held.load(ordering: .relaxed)
    guard wanted != before else { return true }
    if wanted > before {
      guard budget.take(wanted - before, isSmall: wanted < Self.largeBytes) else { return false }
    } else {
      budget.give(before - wanted)
    }
    held.store(wanted, ordering: .relaxed)
    return true
  }
}
