// The places of all values in the outermost map of a record, for maps with a shape.
//
// The indexes of a collection share them: a commit walks over the values of each record once, and finds out
// which values an update has changed.

import ByteStore

/// A set of slots. All slots from `last` on share one member.
struct SlotSet {
  private static let last = 63

  static let all = SlotSet(bits: .max)

  private var bits: UInt64 = 0

  init() {}

  private init(bits: UInt64) { self.bits = bits }

  var isEmpty: Bool { bits == 0 }

  @inline(__always)
  mutating func insert(_ slot: Int) { bits |= 1 &<< UInt64(truncatingIfNeeded: min(slot, Self.last)) }

  @inline(__always)
  func isDisjoint(with other: SlotSet) -> Bool { bits & other.bits == 0 }
}

/// The values of one record after another.
@safe
struct RecordSlots: ~Copyable {
  /// The offset of each value in the record, and then the end of the last value. There is room for a shape
  /// with the largest number of names.
  private let offsets: UnsafeMutablePointer<UInt32>
  private var count = 0
  /// The id of the record's shape.
  private(set) var shape = 0
  /// The place of the shape in the shape bytes.
  private(set) var shapePlace = 0

  init() {
    unsafe offsets = .allocate(capacity: Shape.namesMax + 1)
    unsafe offsets.initialize(repeating: 0, count: Shape.namesMax + 1)
  }

  deinit { unsafe offsets.deallocate() }

  /// Locates the values of a record. Returns false if the record's outermost map has no shape, or if the
  /// record is unreadable. Does not validate the values themselves.
  mutating func locate(_ record: RawSpan, shapes: RawSpan) -> Bool {
    count = 0
    guard let start = RecordCodec.fieldsStart(record),
      let head = record.varint(at: start, before: record.byteCount)?.value, head > 3,
      let layout = RecordLayout(mapIn: record, from: start, to: record.byteCount, shapes: shapes),
      (1...Shape.namesMax).contains(layout.count), layout.isNarrow(in: record, hasOffsets: false)
    else { return false }
    shape = head >> 2 - 1
    shapePlace = layout.shape
    let last = layout.count &- 1
    var next = layout.first
    var isValid = true
    // The layout has checked the table's bounds. A sum of 255 lengths cannot overflow.
    if layout.width == 1 {
      for slot in 0..<last {
        unsafe offsets[slot] = UInt32(truncatingIfNeeded: next)
        let length = unsafe record.uncheckedByte(at: layout.table &+ slot)
        isValid = isValid && length > 0
        next &+= length
      }
    } else {
      for slot in 0..<last {
        unsafe offsets[slot] = UInt32(truncatingIfNeeded: next)
        let length = unsafe record.uncheckedNumber(
          at: layout.table &+ slot &* layout.width, width: layout.width)
        isValid = isValid && length > 0
        next &+= length
      }
    }
    guard isValid, next < layout.end else { return false }
    unsafe offsets[last] = UInt32(truncatingIfNeeded: next)
    unsafe offsets[last &+ 1] = UInt32(truncatingIfNeeded: layout.end)
    count = layout.count
    return true
  }

  /// The value of a slot, as a range of the record; nil if the shape does not have the slot.
  @inline(__always)
  subscript(slot: Int) -> Range<Int>? {
    guard slot >= 0, slot < count else { return nil }
    return unsafe Int(offsets[slot])..<Int(offsets[slot &+ 1])
  }

  private var end: Int { unsafe Int(offsets[count]) }

  /// The slots whose values have different bytes in two records with equal shapes.
  static func differences(
    _ left: borrowing RecordSlots, in leftRecord: RawSpan, to right: borrowing RecordSlots,
    in rightRecord: RawSpan
  ) -> SlotSet {
    precondition(
      left.count == right.count && left.end <= leftRecord.byteCount && right.end <= rightRecord.byteCount,
      "the slots are those of the records, which have equal shapes")
    var set = SlotSet()
    for slot in 0..<left.count {
      let (start, other) = unsafe (Int(left.offsets[slot]), Int(right.offsets[slot]))
      let bytes = unsafe Int(left.offsets[slot &+ 1]) &- start
      guard unsafe Int(right.offsets[slot &+ 1]) &- other == bytes,
        areSame(leftRecord, start, as: rightRecord, at: other, bytes: bytes)
      else {
        set.insert(slot)
        continue
      }
    }
    return set
  }

  /// Compares two ranges of `bytes` bytes, which `locate` has found in the records.
  @inline(__always)
  private static func areSame(
    _ left: RawSpan, _ start: Int, as right: RawSpan, at other: Int, bytes: Int
  ) -> Bool {
    var offset = 0
    while bytes &- offset >= 8 {
      guard unsafe left.uncheckedWord(at: start &+ offset) == right.uncheckedWord(at: other &+ offset)
      else { return false }
      offset &+= 8
    }
    let rest = bytes &- offset
    guard rest > 0 else { return true }
    let (left8, right8) = (start &+ offset &+ 8, other &+ offset &+ 8)
    if left8 <= left.byteCount, right8 <= right.byteCount {
      // Also reads bytes after the ranges, which are ignored.
      let difference = unsafe left.uncheckedWord(at: left8 &- 8) ^ right.uncheckedWord(at: right8 &- 8)
      return difference &<< UInt64(truncatingIfNeeded: 64 &- 8 &* rest) == 0
    }
    while offset < bytes {
      guard unsafe left.uncheckedByte(at: start &+ offset) == right.uncheckedByte(at: other &+ offset)
      else { return false }
      offset &+= 1
    }
    return true
  }
}
