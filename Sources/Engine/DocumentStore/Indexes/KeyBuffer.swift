// A growing buffer for the bytes of index keys.
//
// Each method first makes room for all bytes that it writes, so the writes need no further bounds checks.

import ByteStore

@safe
struct KeyBuffer: ~Copyable {
  /// A block of `capacity` bytes that this buffer owns; nil until the first byte is appended. The first
  /// `count` bytes are initialized.
  private var block: UnsafeMutableRawPointer?
  private var capacity = 0
  private(set) var count = 0
  private static let capacityMin = 256
  /// The largest capacity that `shrink` keeps.
  static let capacityKept = 64 << 10

  init() { unsafe block = nil }

  deinit { unsafe block?.deallocate() }

  var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      let view = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(start: block, count: count))
      return unsafe _overrideLifetime(view, borrowing: self)
    }
  }

  mutating func removeAll() { count = 0 }

  /// Removes all bytes, and frees a large block.
  mutating func shrink() {
    count = 0
    guard capacity > Self.capacityKept else { return }
    unsafe block?.deallocate()
    unsafe block = nil
    capacity = 0
  }

  mutating func truncate(to newCount: Int) {
    precondition((0...count).contains(newCount), "a buffer only shrinks")
    count = newCount
  }

  /// Returns the place after the last byte, where there is room for more bytes.
  @inline(__always)
  private mutating func room(for more: Int) -> UnsafeMutableRawPointer {
    if capacity &- count < more || capacity == 0 { grow(by: more) }
    // Safe, because a buffer with a capacity has a block.
    return unsafe block.unsafelyUnwrapped + count
  }

  @inline(never)
  private mutating func grow(by more: Int) {
    let larger = max(2 * capacity, count + more, Self.capacityMin)
    let new = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
    if let old = unsafe block {
      unsafe new.copyMemory(from: old, byteCount: count)
      unsafe old.deallocate()
    }
    unsafe block = new
    capacity = larger
  }

  mutating func append(_ byte: UInt8) {
    unsafe room(for: 1).storeBytes(of: byte, as: UInt8.self)
    count &+= 1
  }

  mutating func append(bigEndian number: UInt16) {
    unsafe room(for: 2).storeBytes(of: number.bigEndian, as: UInt16.self)
    count &+= 2
  }

  mutating func append(bigEndian number: UInt64) {
    unsafe room(for: 8).storeBytes(of: number.bigEndian, as: UInt64.self)
    count &+= 8
  }

  mutating func append(copying bytes: RawSpan) {
    let target = unsafe room(for: bytes.byteCount)
    unsafe bytes.withUnsafeBytes { source in
      guard let start = source.baseAddress else { return }
      unsafe target.copyMemory(from: start, byteCount: source.count)
    }
    count &+= bytes.byteCount
  }

  /// Appends bytes in the encoding of `[UInt8].append(ordered:)`: 0xFF follows each zero byte, and the end
  /// marker 0x00 0x01 follows the last byte.
  mutating func append(ordered bytes: RawSpan) {
    let size = bytes.byteCount
    let start = unsafe room(for: 2 &* size &+ 2)
    var target = unsafe start
    var offset = 0
    while size &- offset >= 8 {
      let word = unsafe bytes.uncheckedWord(at: offset)
      // The expression is zero only if no byte of the word is zero.
      if (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 != 0 { break }
      unsafe target.storeBytes(of: word.littleEndian, as: UInt64.self)
      unsafe target += 8
      offset &+= 8
    }
    while offset < size {
      let byte = unsafe UInt8(truncatingIfNeeded: bytes.uncheckedByte(at: offset))
      unsafe target.storeBytes(of: byte, as: UInt8.self)
      unsafe target += 1
      offset &+= 1
      guard byte == 0 else { continue }
      unsafe target.storeBytes(of: 0xFF, as: UInt8.self)
      unsafe target += 1
    }
    unsafe target.storeBytes(of: UInt16(0x0001).bigEndian, as: UInt16.self)
    count &+= unsafe target + 2 - start
  }

  /// Inverts all bits from `start` on.
  mutating func invert(from start: Int) {
    precondition((0...count).contains(start), "a buffer inverts its own bytes")
    guard let block = unsafe block else { return }
    var offset = start
    while count &- offset >= 8 {
      let word = unsafe block.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      unsafe (block + offset).storeBytes(of: ~word, as: UInt64.self)
      offset &+= 8
    }
    while offset < count {
      let byte = unsafe block.load(fromByteOffset: offset, as: UInt8.self)
      unsafe block.storeBytes(of: ~byte, toByteOffset: offset, as: UInt8.self)
      offset &+= 1
    }
  }
}
