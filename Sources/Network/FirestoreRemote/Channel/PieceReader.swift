// The pieces of an answer, which arrives in parts.
//
//   answer := *piece
//   piece  := length "\n" text
//   length := 1*DIGIT
//
// The length counts the UTF-16 code units of the text, as JavaScript does. A part may end anywhere, also
// within a character. A sequence of four bytes is two units, and each shorter one is one unit. The text is
// JSON, so its last byte is in ASCII, and the piece ends with the byte that completes its length.

/// Joins the parts of an answer, and finds the pieces in it. Memory grows with the bytes that have arrived,
/// and not with the length that a piece announces.
struct PieceReader {
  private static let digitsMax = 9

  private let lengthMax: Int
  /// The length of the piece; nil while it is read.
  private var length: Int?
  private var digits: [UInt8] = []
  private var units = 0
  private var text: [UInt8] = []
  /// The part that is read, and how much of it has been read.
  private var part: [UInt8] = []
  private var position = 0

  init(lengthMax: Int) { self.lengthMax = lengthMax }

  /// Whether a piece has begun and not ended.
  var isWithinPiece: Bool { length != nil || !digits.isEmpty }
  /// The bytes that wait for the end of their piece.
  var heldBytes: Int { text.count + digits.count }

  /// Adds the next part. All pieces of the one before must have been read.
  mutating func add(_ bytes: [UInt8]) { (part, position) = (bytes, 0) }

  /// The text of the next piece; nil if it does not end in this part.
  mutating func next() throws(ChannelFault) -> [UInt8]? {
    while position < part.count {
      guard let length else {
        try takeLength(part[position])
        position += 1
        continue
      }
      // A byte is one unit at most, except the first one of four.
      let end = min(part.count, position + length - units)
      units += Self.units(part[position..<end])
      text.append(contentsOf: part[position..<end])
      position = end
      // A unit has three bytes at most.
      guard units <= length, text.count <= 3 * length else { throw .malformed }
      guard text.count <= lengthMax else { throw .tooLong }
      guard units == length else { continue }
      guard let last = text.last, last < 0x80 else { throw .malformed }
      defer { (self.length, units, text) = (nil, 0, []) }
      return text
    }
    part = []
    return nil
  }

  private mutating func takeLength(_ byte: UInt8) throws(ChannelFault) {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"):
      guard digits.count < Self.digitsMax else { throw .tooLong }
      digits.append(byte)
    case UInt8(ascii: "\n"):
      let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
      guard number > 0 else { throw .malformed }
      guard number <= lengthMax else { throw .tooLong }
      length = number
      digits = []
    default: throw .malformed
    }
  }

  private static func units(_ bytes: ArraySlice<UInt8>) -> Int {
    // Most texts are in ASCII. This loop looks at many bytes at a time.
    var bits: UInt8 = 0
    for byte in bytes { bits |= byte }
    guard bits >= 0x80 else { return bytes.count }
    var units = 0
    for byte in bytes {
      if byte & 0xC0 != 0x80 { units += 1 }
      if byte >= 0xF0 { units += 1 }
    }
    return units
  }
}
