// A body in chunks.
//
//   body  := chunk* "0"+ extension? CRLF (trailer CRLF)* CRLF
//   chunk := hex{1,15} extension? CRLF byte{size} CRLF
//
// Extensions and trailers are bounded and ignored.

internal import ByteStore

/// Removes the frames from a chunked body.
struct HTTP1ChunkedDecoder: Equatable {
  enum Part: Equatable {
    /// Bytes of the body, as their places in the input.
    case bytes(Range<Int>)
    case end
  }

  private enum Phase: Equatable {
    case size
    case sizeExtension
    case data
    case dataEnd
    case trailers
  }

  private static let sizeDigitsMax = 15

  private let bodyBytesMax: Int
  private let ignoredBytesMax: Int
  private var phase = Phase.size
  private var line = HTTP1Line()
  private var digits = 0
  /// The bytes of the current chunk that have not arrived.
  private var missing = 0
  /// The bytes of the body, with those of the current chunk.
  private var total = 0
  /// The bytes of extensions and trailers.
  private var ignored = 0

  init(_ limits: HTTPLimits) {
    bodyBytesMax = limits.bodyBytesMax
    ignoredBytesMax = limits.headerBytesMax
  }

  /// The next part of the body; nil if more bytes are needed. Moves `position` behind it.
  mutating func next(_ bytes: RawSpan, at position: inout Int) throws(HTTP1Refusal) -> Part? {
    while position < bytes.byteCount {
      if phase == .data { return .bytes(takeData(bytes, at: &position)) }
      let byte = bytes.byte(at: position)
      position += 1
      if try take(byte) { return .end }
    }
    return nil
  }

  private mutating func takeData(_ bytes: RawSpan, at position: inout Int) -> Range<Int> {
    let count = min(missing, bytes.byteCount - position)
    defer { position += count }
    missing -= count
    if missing == 0 { phase = .dataEnd }
    return position..<position + count
  }

  /// Takes a byte that is not data. Returns true if it ends the body.
  private mutating func take(_ byte: UInt8) throws(HTTP1Refusal) -> Bool {
    switch phase {
    case .size:
      if try !takeDigit(byte), try line.take(byte) { try beginChunk() }
    case .sizeExtension:
      try ignore()
      if try line.take(byte) { try beginChunk() }
    case .data: break
    case .dataEnd:
      guard try line.take(byte) else {
        guard line.length == 0 else { throw .malformed("A chunk is longer than its size.") }
        return false
      }
      line = HTTP1Line()
      phase = .size
    case .trailers:
      try ignore()
      guard try line.take(byte) else { return false }
      defer { line = HTTP1Line() }
      return line.length == 0
    }
    return false
  }

  /// Takes a digit of a size, or the beginning of an extension. Returns false for the end of the line.
  private mutating func takeDigit(_ byte: UInt8) throws(HTTP1Refusal) -> Bool {
    guard !line.isEnding, byte != ASCII.carriageReturn, byte != ASCII.lineFeed else { return false }
    if byte == UInt8(ascii: ";"), digits > 0 {
      phase = .sizeExtension
      return true
    }
    guard let value = ASCII.hexadecimalValue(byte), digits < Self.sizeDigitsMax else {
      throw .malformed("The size of a chunk is malformed.")
    }
    digits += 1
    missing = missing << 4 | value
    guard missing <= bodyBytesMax - total else { throw .bodyTooLarge(bodyBytesMax) }
    return true
  }

  private mutating func beginChunk() throws(HTTP1Refusal) {
    guard digits > 0 else { throw .malformed("A chunk has no size.") }
    total += missing
    line = HTTP1Line()
    digits = 0
    phase = missing > 0 ? .data : .trailers
  }

  private mutating func ignore() throws(HTTP1Refusal) {
    ignored += 1
    guard ignored <= ignoredBytesMax else { throw .headerTooLarge(ignoredBytesMax) }
  }
}

extension RawSpan {
  /// The byte at this place. Traps outside of the span.
  func byte(at place: Int) -> UInt8 { unsafe unsafeLoad(fromByteOffset: place, as: UInt8.self) }
}
