// Reads the frames of WebChannel, and is strict about their lengths.
//
//   body  := frame*
//   frame := <length> "\n" <JSON array> ["\n"]
//
// The length counts UTF-16 code units. It is wrong if the array ends before it, or goes on after it.

/// Splits a body that arrives in pieces into frames.
package struct ChannelFrameReader {
  fileprivate enum State {
    case length(Int, digits: Int)
    case content(Content)
  }

  /// The part of a frame that has arrived.
  fileprivate struct Content {
    let length: Int
    var bytes: [UInt8] = []
    var units = 0
    /// Bytes that the present character still lacks.
    var missingBytes = 0
    var depth = 0
    var hasBegun = false
    var isText = false
    var isEscaped = false

    var isClosed: Bool { hasBegun && depth == 0 }
    var isComplete: Bool { units == length && missingBytes == 0 }
  }

  private static let digitsMax = 9
  private var state = State.length(0, digits: 0)

  package init() {}

  /// Whether the bytes so far end within a frame.
  package var isWithinFrame: Bool {
    if case .length(_, 0) = state { false } else { true }
  }

  /// Returns the JSON of each frame that is complete with these bytes.
  package mutating func take(_ bytes: some Sequence<UInt8>) throws(Violation) -> [[UInt8]] {
    var frames: [[UInt8]] = []
    for byte in bytes {
      switch state {
      case .length(let length, let digits): state = try Self.next(length, digits, byte)
      case .content(var content):
        // The state holds no second reference to the bytes while they grow.
        state = .length(0, digits: 0)
        try content.take(byte)
        if content.isComplete {
          guard content.isClosed else { throw Violation("the length \(content.length) is too short") }
          frames.append(content.bytes)
        } else {
          state = .content(content)
        }
      }
    }
    return frames
  }

  private static func next(_ length: Int, _ digits: Int, _ byte: UInt8) throws(Violation) -> State {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9") where digits < digitsMax:
      return .length(length * 10 + Int(byte - UInt8(ascii: "0")), digits: digits + 1)
    case UInt8(ascii: "\n") where length > 0: return .content(Content(length: length))
    default: throw Violation("a frame begins with the byte \(byte) after \(digits) digits")
    }
  }
}

extension ChannelFrameReader.Content {
  fileprivate mutating func take(_ byte: UInt8) throws(Violation) {
    bytes.append(byte)
    switch byte {
    case 0x80..<0xC0:
      guard missingBytes > 0 else { throw Violation("a frame is not UTF-8") }
      missingBytes -= 1
      return
    case _ where missingBytes > 0: throw Violation("a frame is not UTF-8")
    case 0xC2..<0xE0: missingBytes = 1
    case 0xE0..<0xF0: missingBytes = 2
    case 0xF0..<0xF5: missingBytes = 3
    case 0x00..<0x80: try follow(byte)
    default: throw Violation("a frame is not UTF-8")
    }
    units += byte >= 0xF0 ? 2 : 1
    // What is missing may arrive with the next bytes, but only a line feed can be missing.
    guard !isClosed || length - units <= 1 else { throw Violation("the length \(length) is too long") }
    guard units <= length else { throw Violation("a character exceeds the length \(length)") }
  }

  /// Follows the brackets of the array.
  private mutating func follow(_ byte: UInt8) throws(Violation) {
    guard !isText else {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else {
        isText = byte != UInt8(ascii: "\"")
      }
      return
    }
    guard !isClosed || byte == UInt8(ascii: "\n") else { throw Violation("the length \(length) is too long") }
    guard hasBegun || byte == UInt8(ascii: "[") else { throw Violation("a frame is no array") }
    switch byte {
    case UInt8(ascii: "["), UInt8(ascii: "{"):
      hasBegun = true
      depth += 1
    case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
    case UInt8(ascii: "\""): isText = true
    default: break
    }
  }
}
