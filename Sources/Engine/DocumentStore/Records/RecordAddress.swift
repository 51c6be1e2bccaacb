// The address of encoded bytes, for loops that have compared their offsets with the end.

/// The first byte of a span, without the span's size. A `RawSpan` costs instructions at each step, because
/// its address is optional and each access is checked.
@frozen @usableFromInline @safe
struct RecordAddress: ~Escapable {
  // The lifetime is that of the span. Callers of the unsafe methods have compared the offsets with the size
  // of the span.
  @usableFromInline let start: UnsafeRawPointer

  @inlinable @inline(__always)
  @_lifetime(copy bytes)
  init(_ bytes: RawSpan) {
    // An empty span may have no address. Nothing is read from an empty span, so any address will do.
    unsafe start = bytes.withUnsafeBytes {
      unsafe $0.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
    }
  }

  @unsafe @inlinable @inline(__always)
  @_lifetime(copy base)
  init(_ base: RecordAddress, advancedBy offset: Int) { unsafe start = base.start + offset }

  @unsafe @inlinable @inline(__always)
  @_lifetime(copy shapes)
  init(_ shapes: ShapeBytes, advancedBy offset: Int) { unsafe start = shapes.start + offset }

  @unsafe @inlinable @inline(__always)
  func byte(at offset: Int) -> UInt8 { unsafe start.load(fromByteOffset: offset, as: UInt8.self) }

  /// Reads a number of 1, 2 or 4 bytes.
  @unsafe @inlinable @inline(__always)
  func number(at offset: Int, width: Int) -> Int {
    switch width {
    case 1: unsafe Int(byte(at: offset))
    case 2: unsafe Int(UInt16(littleEndian: start.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
    default: unsafe Int(UInt32(littleEndian: start.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }
  }

  @unsafe @inlinable @inline(__always)
  @_lifetime(copy self)
  func span(from offset: Int, count: Int) -> RawSpan {
    let span = unsafe RawSpan(_unsafeStart: start + offset, byteCount: count)
    return unsafe _overrideLifetime(span, copying: self)
  }
}
