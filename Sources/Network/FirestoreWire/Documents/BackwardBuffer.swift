// The memory in which a message is written from its end to its beginning.
//
// Ownership: a buffer is not copyable and frees its memory at its end. No pointer leaves this type, except as
// a span for the duration of a call. Bounds: every function that writes reserves its room first.

import Libc

/// Bytes that grow towards the front.
@safe
struct BackwardBuffer: ~Copyable {
  private var base: UnsafeMutableRawPointer
  private var capacity: Int
  /// Offset of the first byte.
  private var start: Int

  init(capacity: Int = 1024) {
    self.capacity = capacity
    start = capacity
    unsafe base = .allocate(byteCount: capacity, alignment: 8)
  }

  deinit { unsafe base.deallocate() }

  /// The number of bytes.
  @inline(__always)
  var count: Int { capacity &- start }

  @inline(__always)
  private mutating func reserve(_ room: Int) {
    if start < room { grow(room) }
  }

  @inline(never)
  private mutating func grow(_ room: Int) {
    let (needed, overflow) = count.addingReportingOverflow(room)
    precondition(!overflow && needed <= Int(UInt32.max >> 1), "a message would be larger than 2 GiB")
    let larger = max(2 * capacity, needed)
    let new = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
    unsafe (new + (larger - count)).copyMemory(from: base + start, byteCount: count)
    unsafe base.deallocate()
    unsafe base = new
    start = larger - count
    capacity = larger
  }

  @inline(__always)
  mutating func prepend(_ byte: UInt8) {
    reserve(1)
    start &-= 1
    unsafe base.storeBytes(of: byte, toByteOffset: start, as: UInt8.self)
  }

  /// Prepends eight bytes, little-endian.
  @inline(__always)
  mutating func prepend(word: UInt64) {
    reserve(8)
    start &-= 8
    unsafe base.storeBytes(of: word.littleEndian, toByteOffset: start, as: UInt64.self)
  }

  /// Prepends a number as protobuf does: seven bits in each byte, lowest bits first.
  @inline(__always)
  mutating func prepend(varint number: UInt64) {
    if number < 0x80 { return prepend(UInt8(truncatingIfNeeded: number)) }
    prepend(longVarint: number)
  }

  @inline(never)
  private mutating func prepend(longVarint number: UInt64) {
    reserve(10)
    let bytes = (63 &- number.leadingZeroBitCount) / 7 &+ 1
    start &-= bytes
    var rest = number
    for offset in start..<start &+ bytes &- 1 {
      unsafe base.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: offset, as: UInt8.self)
      rest &>>= 7
    }
    unsafe base.storeBytes(
      of: UInt8(truncatingIfNeeded: rest), toByteOffset: start &+ bytes &- 1, as: UInt8.self)
  }

  @inline(__always)
  mutating func prepend(_ span: RawSpan) {
    let count = span.byteCount
    reserve(count)
    start &-= count
    unsafe span.withUnsafeBytes { source in
      if let first = source.baseAddress { unsafe memcpy(base + start, first, count) }
    }
  }

  mutating func prepend(utf8 text: String) {
    var text = text
    text.withUTF8 { prepend(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer($0))) }
  }

  /// Prepends the size of everything that was written after the buffer had `count` bytes.
  @inline(__always)
  mutating func prependSize(since count: Int) {
    prepend(varint: UInt64(truncatingIfNeeded: self.count &- count))
  }

  /// Prepends everything of a map's entry but the value, which was written after the buffer had `count`
  /// bytes.
  ///
  ///     entry := tag size 0A nameBytes:varint name 12 valueBytes:varint value
  @inline(__always)
  mutating func prependEntry(_ tag: UInt32, name: RawSpan, valueSince count: Int) {
    let (nameBytes, valueBytes) = (name.byteCount, self.count &- count)
    let size = 4 &+ nameBytes &+ valueBytes
    // In most entries, all numbers have one byte. Each is less than the sum.
    guard size < 0x80, tag < 0x80 else { return prependLongEntry(tag, name: name, valueSince: count) }
    let head = 6 &+ nameBytes
    reserve(head)
    start &-= head
    let front = tag | UInt32(truncatingIfNeeded: size | 0x0A00 | nameBytes << 16) << 8
    let back = UInt16(truncatingIfNeeded: 0x12 | valueBytes << 8)
    unsafe base.storeBytes(of: front.littleEndian, toByteOffset: start, as: UInt32.self)
    unsafe name.withUnsafeBytes { source in
      if let first = source.baseAddress { unsafe memcpy(base + (start &+ 4), first, nameBytes) }
    }
    unsafe base.storeBytes(of: back.littleEndian, toByteOffset: start &+ 4 &+ nameBytes, as: UInt16.self)
  }

  @inline(never)
  private mutating func prependLongEntry(_ tag: UInt32, name: RawSpan, valueSince count: Int) {
    prependSize(since: count)
    prepend(0x12)
    prepend(name)
    prepend(varint: UInt64(truncatingIfNeeded: name.byteCount))
    prepend(0x0A)
    prependSize(since: count)
    prepend(varint: UInt64(tag))
  }

  func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result {
    unsafe body(RawSpan(_unsafeStart: base + start, byteCount: count))
  }
}
