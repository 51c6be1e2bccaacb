// The width of text in terminal columns, and truncation to a width.

extension Character {
  /// The number of columns in almost all terminals.
  var columns: Int {
    guard let scalar = unicodeScalars.first else { return 0 }
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
      0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }
}

extension String {
  /// The number of columns in a terminal.
  var columns: Int { reduce(0) { $0 + $1.columns } }

  /// Truncates the text to the width, with an ellipsis if something is cut off.
  func shortened(toColumns room: Int) -> String {
    guard columns > room else { return self }
    guard room > 0 else { return "" }
    var used = 1
    let start = prefix { letter in
      used += letter.columns
      return used <= room
    }
    return start + "…"
  }

  /// Pads the text with spaces.
  func filled(toColumns room: Int) -> String { self + String(repeating: " ", count: max(0, room - columns)) }
}
