// The arrays in the answers of WebChannel.
//
//   piece := length "\n" "[" array *("," array) "]"
//   array := "[" number ",[" content "]]"

#if Server
import Foundation

/// Takes the bytes of answers, and checks the lengths of pieces and the numbers of arrays.
///
/// Lengths are in UTF-16 code units. The rows' documents are in ASCII, where units are bytes.
struct ChannelArrayReader {
  private var bytes: [UInt8] = []
  private var start = 0
  /// The number of the last array.
  private(set) var last = -1

  mutating func take(
    _ more: UnsafeRawBufferPointer, onArray: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    bytes.append(contentsOf: more)
    while let body = try nextBody() {
      try bytes.withUnsafeBytes {
        let piece = UnsafeRawBufferPointer(rebasing: $0[body])
        guard !piece.contains(where: { $0 >= 0x80 }) else {
          throw BenchmarkFailure("a piece is not in ASCII")
        }
        try readArrays(piece, onArray)
      }
      start = body.upperBound
    }
    if start == bytes.count {
      bytes.removeAll(keepingCapacity: true)
      start = 0
    } else if start > 1 << 18 {
      bytes.removeFirst(start)
      start = 0
    }
  }

  /// Whether an answer may end here.
  var isBetweenPieces: Bool { start == bytes.count }

  /// The bytes of the next piece, if it is complete.
  private func nextBody() throws -> Range<Int>? {
    var length = 0
    var position = start
    while position < bytes.count, bytes[position] != UInt8(ascii: "\n") {
      guard let digit = Self.digit(bytes[position]), position - start < 9 else {
        throw BenchmarkFailure("a piece has no length")
      }
      length = length * 10 + digit
      position += 1
    }
    position += 1
    return position <= bytes.count - length ? position..<(position + length) : nil
  }

  private static func digit(_ byte: UInt8) -> Int? { byte &- 48 < 10 ? Int(byte &- 48) : nil }

  private mutating func readArrays(
    _ piece: UnsafeRawBufferPointer, _ onArray: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    var scan = ChannelScan(piece)
    try scan.skip("[")
    repeat {
      try scan.skip("[")
      let number = scan.number()
      guard number == last + 1 else { throw BenchmarkFailure("array \(number) follows \(last)") }
      last = number
      try scan.skip(",[")
      try onArray(try scan.content())
      try scan.skip("]]")
    } while scan.skipIf(UInt8(ascii: ","))
    try scan.skip("]")
    guard scan.isAtEnd else { throw BenchmarkFailure("a piece is longer than its arrays") }
  }
}

/// A position in a piece.
private struct ChannelScan {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  mutating func skipIf(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }

  mutating func skip(_ text: StaticString) throws {
    for offset in 0..<text.utf8CodeUnitCount {
      guard skipIf(text.utf8Start[offset]) else { throw BenchmarkFailure("a piece has no \(text)") }
    }
  }

  mutating func number() -> Int {
    var number = 0
    while position < bytes.count, bytes[position] &- 48 < 10, number < 1 << 50 {
      number = number * 10 + Int(bytes[position] &- 48)
      position += 1
    }
    return number
  }

  /// The content of an array, without its brackets.
  mutating func content() throws -> UnsafeRawBufferPointer {
    let start = position
    var depth = 0
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""): skipString()
      case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: "}"): depth -= 1
      case UInt8(ascii: "]"):
        if depth == 0 { return UnsafeRawBufferPointer(rebasing: bytes[start..<position]) }
        depth -= 1
      default: break
      }
      position += 1
    }
    throw BenchmarkFailure("an array has no end")
  }

  /// Goes from the quotation mark at the begin of a text to the one at its end.
  private mutating func skipString() {
    position += 1
    while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
      position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
    }
  }
}
#endif
