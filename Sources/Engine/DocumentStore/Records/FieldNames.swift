// The field names of a shape, and the orders in which types look them up.
//
// A type looks up its fields in a fixed order, and all documents with one shape have their fields in the same
// slots. So the first value of a type that is decoded from a shape records its lookups. A later lookup
// compares the name with the recorded one, and takes the recorded slot.

import Synchronization

/// The names of a shape, and the lookup orders of types.
final class FieldNames: Sendable {
  /// The maximum number of recorded orders. Types beyond this number search for their fields.
  private static let ordersMax = 8

  let names: [String]
  private let first = NextOrder()

  init(_ names: [String]) { self.names = names }

  /// The order of lookups that was recorded last for a type, and whether a new order should be recorded.
  func order(of type: ObjectIdentifier) -> (order: LookupOrder?, shouldRecord: Bool) {
    if let order = first.load(), order.type == type, !order.isOutgrown { return (order, false) }
    var found: LookupOrder?
    var count = 0
    var next = first.load()
    while let order = next {
      if order.type == type { found = order }
      count += 1
      next = order.next.load()
    }
    return (found, count < Self.ordersMax && found?.isOutgrown ?? true)
  }

  /// Adds an order after all others.
  func record(_ order: LookupOrder) {
    var last = first.storeIfNil(order)
    // If several threads add orders at the same time, the limit may be exceeded by the number of threads.
    while last !== order { last = last.next.storeIfNil(order) }
  }
}

/// The lookups of one type in one shape.
final class LookupOrder: Sendable {
  struct Lookup {
    var name: String
    /// Nil if the shape does not have the name.
    var slot: Int?
  }

  /// A lookup in the form in which it is compared.
  struct Expected {
    /// The machine words of the name.
    fileprivate var words: SIMD2<UInt64>
    /// Negative if the shape does not have the name.
    var slot: Int

    /// Whether `name` has the words of the expected name. If it has other words, it may still be equal.
    @inline(__always)
    func hasWords(of name: String) -> Bool { words == name.words }
  }

  /// The maximum number of lookups. A type may look up a name more than once.
  static let countMax = 2 * Shape.namesMax

  let type: ObjectIdentifier
  let expected: ContiguousArray<Expected>
  /// The names. Keeping them ensures that their machine words identify them.
  private let names: [String]
  private let outgrown = Atomic<Bool>(false)
  /// The number of later recordings that were not longer.
  private let retries = Atomic<Int>(0)
  private static let retriesMax = 4
  fileprivate let next = NextOrder()

  init(of type: ObjectIdentifier, _ lookups: [Lookup]) {
    self.type = type
    expected = ContiguousArray(lookups.map { Expected(words: $0.name.words, slot: $0.slot ?? -1) })
    names = lookups.map(\.name)
  }

  /// Whether a longer order should be recorded for the same type.
  fileprivate var isOutgrown: Bool { outgrown.load(ordering: .relaxed) }

  /// Notes that a decoder looked up more fields than this order contains. This happens if the recorded
  /// decoding ended with an error.
  func noteOutgrown() {
    if retries.load(ordering: .relaxed) < Self.retriesMax { outgrown.store(true, ordering: .relaxed) }
  }

  /// Notes that a later recording was not longer.
  func noteRetry() {
    retries.add(1, ordering: .relaxed)
    outgrown.store(false, ordering: .relaxed)
  }

  /// Whether lookup `index` has this name. Compares the bytes, because equal names can have different words.
  func isExpected(_ name: String, at index: Int) -> Bool {
    index < names.count && names[index].isSameUTF8(as: name)
  }

  /// The index of the first lookup of a slot.
  func index(of slot: Int) -> Int? { expected.firstIndex { $0.slot == slot } }
}

/// Records the lookups of one type in one map.
final class LookupRecorder {
  private let type: ObjectIdentifier
  private let names: FieldNames
  /// The order that a longer one replaces.
  private let outgrown: LookupOrder?
  private var lookups: [LookupOrder.Lookup] = []

  init(of type: ObjectIdentifier, in names: FieldNames, outgrown: LookupOrder?) {
    self.type = type
    self.names = names
    self.outgrown = outgrown
  }

  deinit {
    guard !lookups.isEmpty else { return }
    if let outgrown, lookups.count <= outgrown.expected.count {
      outgrown.noteRetry()
    } else {
      names.record(LookupOrder(of: type, lookups))
    }
  }

  func add(_ name: String, at slot: Int?) {
    guard lookups.count < LookupOrder.countMax else { return }
    lookups.append(LookupOrder.Lookup(name: name, slot: slot))
  }
}

/// A reference to an order, which is set once and read without a lock. Not generic, because a generic
/// reference would be looked up at run time, which costs more than the lookup of a field.
@safe
private struct NextOrder: ~Copyable, Sendable {
  /// The address of the order, which this reference retains once; 0 until the reference is set.
  private let address = Atomic<UInt>(0)

  deinit { unsafe Self.order(at: address.load(ordering: .acquiring))?.release() }

  @inline(__always)
  func load() -> LookupOrder? {
    unsafe Self.order(at: address.load(ordering: .acquiring))?.takeUnretainedValue()
  }

  /// Stores `new` if the reference is not set yet. Returns the stored order.
  func storeIfNil(_ new: LookupOrder) -> LookupOrder {
    let retained = unsafe Unmanaged.passRetained(new)
    let bits = unsafe UInt(bitPattern: retained.toOpaque())
    let (isStored, found) = address.compareExchange(
      expected: 0, desired: bits, ordering: .acquiringAndReleasing)
    guard !isStored else { return new }
    unsafe retained.release()
    // A nonzero address is a valid order, because a stored order is released only in `deinit`.
    return unsafe Self.order(at: found)?.takeUnretainedValue() ?? new
  }

  @inline(__always)
  private static func order(at bits: UInt) -> Unmanaged<LookupOrder>? {
    unsafe UnsafeRawPointer(bitPattern: bits).map { unsafe Unmanaged<LookupOrder>.fromOpaque($0) }
  }
}

extension String {
  /// The machine words. Two strings with the same words are equal while both exist: a short string has its
  /// text in these words, and others share their storage.
  @inline(__always)
  var words: SIMD2<UInt64> {
    guard MemoryLayout<String>.size == MemoryLayout<SIMD2<UInt64>>.size else {
      preconditionFailure("strings consist of two words on all supported platforms")
    }
    // Both types have equal size, and any bit pattern is a valid pair of integers. The integers are only
    // compared.
    return unsafe unsafeBitCast(self, to: SIMD2<UInt64>.self)
  }
}
