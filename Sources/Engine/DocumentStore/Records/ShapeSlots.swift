// Finds the slot of a name in a shape, and shapes by their names, without comparing or hashing strings.

import ByteStore

/// A name in a form that is cheap to compare. Two names of at most 16 bytes are equal if their keys are
/// equal.
struct FieldNameKey: BitwiseCopyable {
  static let exactBytesMax = 16

  /// The first and the last eight bytes. A name with fewer than eight bytes has all bytes in `first`.
  let first: UInt64
  let last: UInt64
  let bytes: Int
  /// A hash of all bytes.
  let hash: UInt64

  @inline(__always)
  init(_ name: String) {
    var name = name
    self = name.withUTF8 { bytes in unsafe FieldNameKey(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(bytes)))
    }
  }

  @inline(__always)
  init(_ name: RawSpan) {
    bytes = name.byteCount
    guard bytes >= 8 else {
      first = name.unsigned
      last = 0
      hash = Self.mix(first ^ UInt64(truncatingIfNeeded: bytes) &* Self.multiplier, last)
      return
    }
    first = name.word(at: 0)
    last = name.word(at: bytes &- 8)
    var mixed = Self.mix(first ^ UInt64(truncatingIfNeeded: bytes) &* Self.multiplier, last)
    var offset = 8
    while offset &+ 8 < bytes {
      mixed = Self.mix(mixed, name.word(at: offset))
      offset &+= 8
    }
    hash = mixed
  }

  private static let multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15

  @inline(__always)
  private static func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = (left ^ 0x2D35_8DCC_AA6C_78A5).multipliedFullWidth(by: right ^ 0x8BB8_4B93_962E_ACC9)
    return (product.high ^ product.low) &* multiplier
  }

  /// Whether two keys are equal. For names of more than 16 bytes the names must also be compared.
  @inline(__always)
  func isSame(as other: FieldNameKey) -> Bool {
    first == other.first && last == other.last && bytes == other.bytes
  }
}

/// The names of a shape as a hash table from name to slot.
///
/// Ownership: all blocks of memory belong to this object and never change after `init`. Bounds: `keys` has
/// `count` elements, the tables have `mask + 1`, and the slots in them are below `count`. Arrays would be
/// retained and released for every name of every document.
@safe
final class ShapeSlots: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: no property and no byte behind the pointers changes after `init`,
  // and only `deinit` frees the memory.

  let id: Int
  let names: [String]
  let count: Int
  /// The sum of the names' hashes, which does not depend on their order.
  let hash: UInt64
  /// Firestore's size of all names.
  let nameSize: Int
  /// Whether a user's document may have all these names.
  let areUserNames: Bool
  /// The keys by slot.
  private let keys: UnsafeMutablePointer<FieldNameKey>
  /// Slots plus one, by hash with linear probing; 0 if a place is empty. At most half of the places are used.
  private let table: UnsafeMutablePointer<UInt16>
  private let mask: Int
  /// The machine words of the names, in the places of another hash table with as many places. Zero if a place
  /// is empty, because no string has the words zero.
  private let words: UnsafeMutablePointer<SIMD2<UInt64>>
  /// The slots of these names.
  private let wordSlots: UnsafeMutablePointer<UInt16>

  init(id: Int, names: [String]) {
    self.id = id
    self.names = names
    count = names.count
    let keys = names.map { FieldNameKey($0) }
    hash = keys.reduce(0) { $0 &+ $1.hash }
    nameSize = keys.reduce(0) { $0 + $1.bytes + 1 }
    areUserNames = names.allSatisfy { FieldLimits.isUserName($0) }
    unsafe self.keys = .allocate(capacity: max(keys.count, 1))
    for (slot, key) in keys.enumerated() { unsafe (self.keys + slot).initialize(to: key) }
    var size = 8
    while size < 2 * keys.count { size *= 2 }
    mask = size - 1
    unsafe table = .allocate(capacity: size)
    unsafe table.initialize(repeating: 0, count: size)
    for (slot, key) in keys.enumerated() {
      var place = Int(truncatingIfNeeded: key.hash) & mask
      while unsafe table[place] != 0 { place = (place + 1) & mask }
      unsafe table[place] = UInt16(slot + 1)
    }
    unsafe words = .allocate(capacity: size)
    unsafe words.initialize(repeating: SIMD2(), count: size)
    unsafe wordSlots = .allocate(capacity: size)
    unsafe wordSlots.initialize(repeating: 0, count: size)
    for (slot, name) in names.enumerated() {
      let nameWords = name.words
      var place = Self.place(of: nameWords) & mask
      while unsafe words[place] != SIMD2() { place = (place + 1) & mask }
      unsafe words[place] = nameWords
      unsafe wordSlots[place] = UInt16(slot)
    }
  }

  deinit {
    unsafe words.deallocate()
    unsafe wordSlots.deallocate()
    unsafe keys.deallocate()
    unsafe table.deallocate()
  }

  @inline(__always)
  private static func place(of words: SIMD2<UInt64>) -> Int {
    let mixed = (words.x ^ words.y &>> 7) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: mixed &>> 32 ^ words.y &>> 56)
  }

  /// The slot of a name; nil if the shape lacks this name.
  @inline(__always)
  func slot(of name: String) -> Int? {
    // A short name consists of its words. A longer name has the same words only if it shares the storage of
    // the shape's name.
    let nameWords = name.words
    var place = Self.place(of: nameWords) & mask
    while true {
      let found = unsafe words[place]
      if found == nameWords { return unsafe Int(wordSlots[place]) }
      if found == SIMD2() { return slot(ofOtherWords: name) }
      place = (place &+ 1) & mask
    }
  }

  @inline(never)
  private func slot(ofOtherWords name: String) -> Int? { slot(of: name, FieldNameKey(name)) }

  /// The slot of a name that is given as bytes; nil if the shape lacks this name.
  func slot(of name: RawSpan) -> Int? {
    let key = FieldNameKey(name)
    var place = Int(truncatingIfNeeded: key.hash) & mask
    while true {
      let slot = unsafe Int(table[place]) &- 1
      guard slot >= 0 else { return nil }
      if unsafe keys[slot].isSame(as: key),
        key.bytes <= FieldNameKey.exactBytesMax || names[slot].isSame(asUTF8: name)
      {
        return slot
      }
      place = (place &+ 1) & mask
    }
  }

  /// The slot of a name with this key; nil if the shape lacks this name.
  @inline(__always)
  func slot(of name: String, _ key: FieldNameKey) -> Int? {
    var place = Int(truncatingIfNeeded: key.hash) & mask
    while true {
      let slot = unsafe Int(table[place]) &- 1
      guard slot >= 0 else { return nil }
      if unsafe keys[slot].isSame(as: key),
        key.bytes <= FieldNameKey.exactBytesMax || names[slot].isSameUTF8(as: name)
      {
        return slot
      }
      place = (place &+ 1) & mask
    }
  }
}

extension String {
  fileprivate func isSame(asUTF8 other: RawSpan) -> Bool {
    var text = self
    return text.withUTF8 { unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer($0)).isSame(as: other) }
  }
}

/// The shapes of a database at one point in time, found by their names. Immutable.
final class ShapeSnapshot: Sendable {
  /// The snapshot of no dictionary. Its version differs from that of every dictionary.
  static let empty = ShapeSnapshot(.empty, version: -1)

  let table: ShapeTable
  /// Changes whenever the dictionary gets a shape.
  let version: Int
  /// Ids plus one, by the hash of the names with linear probing; 0 if a place is empty.
  private let index: [UInt16]
  private let mask: Int

  convenience init(_ table: ShapeTable, version: Int) {
    var size = 8
    while size < 2 * table.shapes.count { size *= 2 }
    self.init(
      table, version: version, index: [UInt16](repeating: 0, count: size),
      adding: table.shapes.compactMap { $0 })
  }

  private init(_ table: ShapeTable, version: Int, index: [UInt16], adding new: [Shape]) {
    self.table = table
    self.version = version
    mask = index.count - 1
    var index = index
    for shape in new {
      var place = Self.place(shape.slots.hash) & mask
      while index[place] != 0 { place = (place + 1) & mask }
      index[place] = UInt16(shape.id + 1)
    }
    self.index = index
  }

  /// This snapshot with new shapes. `all` are its shapes and the new ones.
  func adding(_ new: [Shape], all: ShapeList, version: Int) -> ShapeSnapshot {
    let table = table.adding(new, all: all)
    guard 2 * all.count <= index.count else { return ShapeSnapshot(table, version: version) }
    return ShapeSnapshot(table, version: version, index: index, adding: new)
  }

  private static func place(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 20) }

  /// The shape with this id; nil if it is not in this snapshot.
  @inline(__always)
  func slots(_ id: Int) -> ShapeSlots? {
    id < table.shapes.count ? table.shapes[id]?.slots : nil
  }

  /// A shape with this number of names and this hash. The caller must compare the names.
  func candidate(count: Int, hash: UInt64) -> ShapeSlots? {
    var place = Self.place(hash) & mask
    while index[place] != 0 {
      if let slots = slots(Int(index[place]) - 1), slots.hash == hash, slots.count == count { return slots }
      place = (place + 1) & mask
    }
    return nil
  }
}
