// Decodes the byte sequences that terminals send for keys.
//
//   key := UTF-8 letter | control character | ESC "[" parameters final | ESC "O" final | ESC letter

enum Key: Equatable {
  case letter(Character)
  case enter, tab, backspace, delete
  case left, right, up, down, home, end, wordLeft, wordRight
  case deleteToStart, deleteToEnd, deleteWord
  case clearScreen
  /// Ctrl-R: searches the history for a text, from the newest line on.
  case searchBackward
  /// Ctrl-G: ends a search, and restores the line.
  case abort
  /// Ctrl-C: abandons the line.
  case interrupt
  /// Ctrl-D: ends the input if the line is empty.
  case endOfInput
}

/// Decodes keys from single bytes.
struct KeyDecoder {
  private enum State {
    case ground
    case escape
    case sequence([UInt8])
    /// A partial letter, and the number of its missing bytes.
    case letter([UInt8], missing: Int)
  }

  private var state = State.ground

  /// Returns the key that this byte completes, if any.
  mutating func take(_ byte: UInt8) -> Key? {
    switch state {
    case .ground: return ground(byte)
    case .escape:
      state = .ground
      switch byte {
      case UInt8(ascii: "["), UInt8(ascii: "O"):
        state = .sequence([])
        return nil
      case UInt8(ascii: "b"): return .wordLeft
      case UInt8(ascii: "f"): return .wordRight
      case 0x7F: return .deleteWord
      case 0x1B:
        state = .escape
        return nil
      default: return nil
      }
    case .sequence(let parameters):
      guard (0x40...0x7E).contains(byte) else {
        // No key has a longer sequence, so further bytes are dropped.
        state = parameters.count < 16 ? .sequence(parameters + [byte]) : .ground
        return nil
      }
      state = .ground
      return Self.sequence(String(decoding: parameters, as: UTF8.self), byte)
    case .letter(let bytes, let missing):
      guard byte & 0xC0 == 0x80 else {
        state = .ground
        return ground(byte)
      }
      guard missing == 1 else {
        state = .letter(bytes + [byte], missing: missing - 1)
        return nil
      }
      state = .ground
      return String(validating: bytes + [byte], as: UTF8.self)?.first.map { .letter($0) }
    }
  }

  private mutating func ground(_ byte: UInt8) -> Key? {
    switch byte {
    case 0x01: return .home
    case 0x02: return .left
    case 0x03: return .interrupt
    case 0x04: return .endOfInput
    case 0x05: return .end
    case 0x06: return .right
    case 0x07: return .abort
    case 0x08, 0x7F: return .backspace
    case 0x09: return .tab
    case 0x0A, 0x0D: return .enter
    case 0x0B: return .deleteToEnd
    case 0x0C: return .clearScreen
    case 0x0E: return .down
    case 0x10: return .up
    case 0x12: return .searchBackward
    case 0x15: return .deleteToStart
    case 0x17: return .deleteWord
    case 0x1B:
      state = .escape
      return nil
    case 0x00..<0x20: return nil
    case 0x20..<0x7F: return .letter(Character(UnicodeScalar(byte)))
    case 0xC2...0xDF: state = .letter([byte], missing: 1)
    case 0xE0...0xEF: state = .letter([byte], missing: 2)
    case 0xF0...0xF4: state = .letter([byte], missing: 3)
    default: return nil
    }
    return nil
  }

  private static func sequence(_ parameters: String, _ final: UInt8) -> Key? {
    // A modifier such as Ctrl or Alt is the second parameter.
    let isModified = parameters.contains(";")
    switch (UnicodeScalar(final), parameters) {
    case ("A", _): return .up
    case ("B", _): return .down
    case ("C", _): return isModified ? .wordRight : .right
    case ("D", _): return isModified ? .wordLeft : .left
    case ("H", _), ("~", "1"), ("~", "7"): return .home
    case ("F", _), ("~", "4"), ("~", "8"): return .end
    case ("~", "3"): return .delete
    default: return nil
    }
  }
}
