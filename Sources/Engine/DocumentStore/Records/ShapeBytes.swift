// All shapes of a database in one byte array, which views of documents can borrow.
//
//   bytes := count:u32 place:u32{count} shape*          places by id; place 0 means no shape
//   shape := count:u32 end:u32{count} name*             names sorted by bytes, ends from the first
//
// In front of each shape, as u32, is Firestore's size of its names, or 0 if a name may exceed a limit.
//
// This module creates the bytes, so they are trusted: the offsets in them are not checked.

import Libc

/// A reference to shapes: one word, so that a value with its shapes fits into registers.
@frozen @usableFromInline @safe
struct ShapeBytes: ~Escapable {
  // The address is only read within the bytes, because the lifetime of this struct is that of the span.
  @usableFromInline let start: UnsafeRawPointer

  /// Refers to the bytes of a `ShapeTable`.
  @inlinable @inline(__always)
  @_lifetime(copy bytes)
  init(_ bytes: RawSpan) {
    precondition(bytes.byteCount >= 4, "shape bytes begin with the number of shapes")
    unsafe start = bytes.withUnsafeBytes { unsafe $0.baseAddress.unsafelyUnwrapped }
  }

  @inlinable @inline(__always)
  func number(at offset: Int) -> Int {
    unsafe Int(UInt32(littleEndian: start.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
  }

  /// The offset of the shape with an untrusted id; 0 if the shape does not exist.
  @inlinable @inline(__always)
  func place(of id: Int) -> Int { id < number(at: 0) ? number(at: 4 &+ 4 &* id) : 0 }

  /// The number of names of a shape.
  @inlinable @inline(__always)
  func count(_ shape: Int) -> Int { number(at: shape) }

  /// The name of a slot. The slot must be below `count`, the number of names. Nothing here can trap, so the
  /// compiler drops a name that is not used.
  @inlinable @inline(__always)
  @_lifetime(copy self)
  func name(_ slot: Int, _ shape: Int, count: Int) -> TextView {
    let ends = shape &+ 4
    let names = ends &+ 4 &* count
    let from = slot == 0 ? 0 : number(at: ends &+ 4 &* (slot &- 1))
    let end = number(at: ends &+ 4 &* slot)
    return unsafe TextView(RecordAddress(self, advancedBy: names &+ from), count: end &- from)
  }

  /// Firestore's size of the names; 0 if a name may exceed a limit.
  @inline(__always)
  func nameCost(_ shape: Int) -> Int { number(at: shape &- 4) }

  /// Whether a name is certainly within the limits for field names.
  static func isPlainName(_ name: RawSpan) -> Bool {
    guard name.byteCount > 0, name.byteCount <= RecordCodec.nameBytesMax else { return false }
    let underscore = UInt8(ascii: "_")
    return name.byteCount < 2 || name.byte(at: 0) != underscore || name.byte(at: 1) != underscore
  }

  func slot(named name: String, _ shape: Int) -> Int? {
    var name = name
    return name.withUTF8 { slot(of: unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer($0)), shape) }
  }

  func slot(of name: RawSpan, _ shape: Int) -> Int? {
    let count = count(shape)
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      let order = self.name(middle, shape, count: count).bytes.compare(with: name)
      if order == 0 { return middle }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }
}
