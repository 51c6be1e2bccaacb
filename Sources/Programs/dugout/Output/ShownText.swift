// Stored names and texts as a person sees them: what would steer a terminal is written out.
//
//   \n \r \t      as in JSON
//   \u001b        every other control character, U+007F to U+009F among them

enum ShownText {
  /// In one line: a stored text has no say in how lines end.
  static func escaped(_ text: String) -> String { written(text) { isControl($0) } }

  /// For text that lines were put together of already: these ends of lines, tabs and our own emphasis stay. What is
  /// stored comes through `escaped` before, wherever it is printed; this holds what an error quotes.
  static func harmless(_ text: String) -> String {
    guard text.utf8.contains(0x1B) else { return unsteered(text) }
    var (rest, result) = (text[...], "")
    // Each byte is looked at once, however many marks there are, and of whichever kind.
    while let start = rest.utf8.firstIndex(of: 0x1B) {
      let mark = [emphasis, plain].first { rest.utf8[start...].starts(with: $0.utf8) }
      let end = rest.utf8.index(start, offsetBy: mark?.utf8.count ?? 1)
      result += unsteered(String(rest[..<start])) + (mark ?? unsteered(String(rest[start..<end])))
      rest = rest[end...]
    }
    return result + unsteered(String(rest))
  }

  private static func unsteered(_ text: String) -> String {
    written(text) { isControl($0) && $0 != "\n" && $0 != "\t" }
  }

  /// What emphasises, and what ends that.
  static let emphasis = "\u{1B}[1m"
  static let plain = "\u{1B}[0m"

  static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
  }

  private static func written(_ text: String, _ isWritten: (Unicode.Scalar) -> Bool) -> String {
    // Those from U+0080 on begin with 0xC2, as do some letters.
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

  /// As JSON has it.
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
