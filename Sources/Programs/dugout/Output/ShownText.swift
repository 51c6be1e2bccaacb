// Escapes stored names and texts for display, so that they cannot control the terminal.
//
//   \n \r \t      as in JSON
//   \u001b        every other control character, including U+007F to U+009F

enum ShownText {
  /// Escapes all control characters, so that stored text cannot add lines.
  static func escaped(_ text: String) -> String { written(text) { isControl($0) } }

  /// Escapes control characters in text that this program composed, except line breaks, tabs and the
  /// program's own emphasis. `escaped` has already escaped stored text; this function covers text that error
  /// messages quote.
  static func sanitized(_ text: String) -> String {
    guard text.utf8.contains(0x1B) else { return withoutControls(text) }
    var (rest, result) = (text[...], "")
    // Each byte is examined once, regardless of the number and kind of marks.
    while let start = rest.utf8.firstIndex(of: 0x1B) {
      let mark = [emphasis, plain].first { rest.utf8[start...].starts(with: $0.utf8) }
      let end = rest.utf8.index(start, offsetBy: mark?.utf8.count ?? 1)
      result += withoutControls(String(rest[..<start])) + (mark ?? withoutControls(String(rest[start..<end])))
      rest = rest[end...]
    }
    return result + withoutControls(String(rest))
  }

  private static func withoutControls(_ text: String) -> String {
    written(text) { isControl($0) && $0 != "\n" && $0 != "\t" }
  }

  /// The sequences that start and end emphasis.
  static let emphasis = "\u{1B}[1m"
  static let plain = "\u{1B}[0m"

  static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
  }

  private static func written(_ text: String, _ isWritten: (Unicode.Scalar) -> Bool) -> String {
    // Control characters from U+0080 on start with 0xC2, as some letters do.
    guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0xC2 }) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if isWritten(scalar) {
        result.append(contentsOf: escape(scalar).unicodeScalars)
      } else {
        result.append(scalar)
      }
    }
    return String(result)
  }

  /// Escapes a scalar as in JSON.
  static func escape(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\n": return "\\n"
    case "\r": return "\\r"
    case "\t": return "\\t"
    default:
      let digits = String(scalar.value, radix: 16)
      return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
  }
}
