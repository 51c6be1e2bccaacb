// The memory in which a record is built, accessed through pointers.
//
// Ownership: a buffer is not copyable and frees its memory at its end. No pointer leaves these types, except
// as a span for the duration of a call. Bounds: every function that writes reserves its room first. Offsets
// come from the writer, which got them from `count`; debug builds assert this.

import Libc

/// A growable sequence of bytes.
@safe
struct RecordBuffer: ~Copyable {
  private var base: UnsafeMutableRawPointer
  private(set) var capacity: Int
  private(set) var count = 0
  /// Room behind every reserved place, so that short copies can write whole words.
  private static let slack = 16

  init(capacity: Int) {
    self.capacity = capacity
    unsafe base = .allocate(byteCount: capacity + Self.slack, alignment: 8)
  }

  deinit { unsafe base.deallocate() }

  @inline(__always)
  private mutating func reserve(_ room: Int) {
    if capacity &- count < room { grow(room) }
  }

  @inline(never)
  private mutating func grow(_ room: Int) {
    let (needed, overflow) = count.addingReportingOverflow(room)
    // Parts keep their places as 32-bit numbers.
    precondition(!overflow && needed <= Int(UInt32.max >> 1), "a record would be larger than 2 GiB")
    let larger = max(2 * capacity, needed)
    let new = UnsafeMutableRawPointer.allocate(byteCount: larger + Self.slack, alignment: 8)
    unsafe new.copyMemory(from: base, byteCount: count)
    unsafe base.deallocate()
    unsafe base = new
    capacity = larger
  }

  mutating func truncate(to offset: Int) {
    assert(offset <= count)
    count = offset
  }

  // MARK: Appending

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    reserve(1)
    unsafe base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count &+= 1
  }

  /// Appends a byte and the lowest bytes of a number, at most eight.
  @inline(__always)
  mutating func append(_ byte: UInt8, lowest bytes: Int, of number: UInt64) {
    reserve(9)
    unsafe base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    unsafe base.storeBytes(of: number.littleEndian, toByteOffset: count &+ 1, as: UInt64.self)
    count &+= 1 &+ bytes
  }

  @inline(__always)
  mutating func append(word: UInt64) {
    reserve(8)
    unsafe base.storeBytes(of: word.littleEndian, toByteOffset: count, as: UInt64.self)
    count &+= 8
  }

  /// Appends a LEB128 number.
  @inline(__always)
  mutating func append(varint number: Int) {
    reserve(10)
    var rest = UInt64(truncatingIfNeeded: number)
    while rest >= 0x80 {
      unsafe base.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: count, as: UInt8.self)
      count &+= 1
      rest &>>= 7
    }
    unsafe base.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: count, as: UInt8.self)
    count &+= 1
  }

  /// Appends the UTF-8 bytes of a text.
  @inline(__always)
  mutating func append(utf8 text: String) {
    // Nearly every string has contiguous storage. `withUTF8` would retain it.
    let isAppended: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
      unsafe append(contentsOf: UnsafeRawBufferPointer(bytes))
    }
    if isAppended == nil { append(utf8OfCopy: text) }
  }

  @inline(never)
  private mutating func append(utf8OfCopy text: String) {
    var text = text
    text.withUTF8 { bytes in unsafe append(contentsOf: UnsafeRawBufferPointer(bytes)) }
  }

  /// Appends a byte and the UTF-8 bytes of a text. Returns the number of bytes of the text.
  @inline(__always)
  mutating func append(_ byte: UInt8, utf8 text: String) -> Int {
    append(byte)
    let start = count
    append(utf8: text)
    return count &- start
  }

  mutating func append(contentsOf bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { bytes in unsafe append(contentsOf: bytes) }
  }

  @inline(__always)
  private mutating func append(contentsOf bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress else { return }
    reserve(bytes.count)
    unsafe (base + count).copyMemory(from: source, byteCount: bytes.count)
    count &+= bytes.count
  }

  // MARK: Rearranging

  /// Appends a copy of bytes of this buffer. The caller must have reserved the room with `prepare`.
  @inline(__always)
  mutating func appendPrepared(copyOf start: Int, bytes: Int) {
    assert(start + bytes <= count && bytes <= capacity - count)
    let (source, target) = unsafe (base + start, base + count)
    if bytes <= 16 {
      // The slack allows whole words. Bytes behind the copy are written by the next step.
      let (low, high) = unsafe (
        source.loadUnaligned(as: UInt64.self), source.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
      )
      unsafe target.storeBytes(of: low, as: UInt64.self)
      unsafe target.storeBytes(of: high, toByteOffset: 8, as: UInt64.self)
    } else {
      unsafe target.copyMemory(from: source, byteCount: bytes)
    }
    count &+= bytes
  }

  /// Reserves room for `appendPrepared` and `appendGap`.
  mutating func prepare(_ room: Int) { reserve(room) }

  /// Appends bytes that `set` fills.
  @inline(__always)
  mutating func appendGap(_ bytes: Int) {
    reserve(bytes)
    count &+= bytes
  }

  /// Moves all bytes from `offset` on to make room for bytes that `set` fills.
  mutating func insertGap(_ bytes: Int, at offset: Int) {
    assert(offset <= count)
    reserve(bytes)
    unsafe memmove(base + offset + bytes, base + offset, count - offset)
    count &+= bytes
  }

  /// Removes the bytes between the two offsets.
  mutating func remove(from start: Int, to end: Int) {
    assert(start <= end && end <= count)
    unsafe memmove(base + start, base + end, count - end)
    count &-= end - start
  }

  /// Writes a number of 1, 2 or 4 bytes.
  @inline(__always)
  mutating func set(_ number: Int, at offset: Int, width: Int) {
    assert(offset >= 0 && offset + width <= count)
    switch width {
    case 1:
      unsafe base.storeBytes(of: UInt8(truncatingIfNeeded: number), toByteOffset: offset, as: UInt8.self)
    case 2:
      unsafe base.storeBytes(
        of: UInt16(truncatingIfNeeded: number).littleEndian, toByteOffset: offset, as: UInt16.self)
    default:
      unsafe base.storeBytes(
        of: UInt32(truncatingIfNeeded: number).littleEndian, toByteOffset: offset, as: UInt32.self)
    }
  }

  /// Writes a LEB128 number that has this many bytes.
  mutating func set(varint number: Int, at offset: Int, bytes count: Int) {
    for index in 0..<count {
      let more = index &+ 1 < count ? 0x80 : 0
      set(number &>> (7 &* index) & 0x7F | more, at: offset &+ index, width: 1)
    }
  }

  // MARK: Reading

  /// A number of 1, 2 or 4 bytes.
  func number(at offset: Int, width: Int) -> Int {
    assert(offset >= 0 && offset + width <= count)
    return switch width {
    case 1: unsafe Int(base.load(fromByteOffset: offset, as: UInt8.self))
    case 2: unsafe Int(UInt16(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
    default: unsafe Int(UInt32(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }
  }

  /// A copy of all bytes from `start` on.
  func array(from start: Int = 0) -> [UInt8] {
    unsafe [UInt8](UnsafeRawBufferPointer(start: base + start, count: count - start))
  }

  func withSpan<Result>(from start: Int, _ body: (RawSpan) -> Result) -> Result {
    unsafe body(RawSpan(_unsafeStart: base + start, byteCount: count - start))
  }
}

/// The values of the maps and arrays that are open, in the order in which they were written.
@safe
struct RecordParts: ~Copyable {
  struct Part: BitwiseCopyable {
    /// Index of the field in its shape. A field that the expected shape lacks has a negative slot: the
    /// bitwise complement of its index among such fields.
    var slot: Int32
    /// Offset of the value.
    var start: UInt32
  }

  private var base: UnsafeMutablePointer<Part>
  private var capacity = 128
  private(set) var count = 0

  init() { unsafe base = .allocate(capacity: capacity) }

  deinit { unsafe base.deallocate() }

  @inline(__always)
  mutating func append(slot: Int, start: Int) {
    if count == capacity { grow() }
    unsafe base[count] = Part(slot: Int32(truncatingIfNeeded: slot), start: UInt32(truncatingIfNeeded: start))
    count &+= 1
  }

  @inline(never)
  private mutating func grow() {
    let new = UnsafeMutablePointer<Part>.allocate(capacity: 2 * capacity)
    unsafe new.update(from: base, count: count)
    unsafe base.deallocate()
    unsafe base = new
    capacity *= 2
  }

  mutating func truncate(to count: Int) {
    assert(count <= self.count)
    self.count = count
  }

  subscript(index: Int) -> Part {
    @inline(__always) get {
      assert(index >= 0 && index < count)
      return unsafe base[index]
    }
    @inline(__always) set {
      assert(index >= 0 && index < count)
      unsafe base[index] = newValue
    }
  }
}
