// The text of a Swift file, prepared for the checks: comments and strings are blanked, and the code is split
// into tokens.

struct SwiftSource {
  struct Token {
    var text: String
    /// The line number, counted from 1.
    var line: Int
    /// The number of open braces around the token.
    var braceDepth: Int

    var isIdentifier: Bool {
      text.utf8.first.map(isIdentifierByte) ?? false
    }
  }

  /// The text with comments and the contents of strings replaced by spaces; byte count and lines are
  /// unchanged.
  let code: String

  init(_ text: String, keepingStrings: Bool = false) {
    var blanking = Blanking(text, keepsStrings: keepingStrings)
    blanking.code(insideInterpolation: false)
    code = String(decoding: blanking.output, as: UTF8.self)
  }

  /// Returns the tokens of the code. Each identifier, each number, and every other character except white
  /// space is one token.
  func tokens() -> [Token] {
    var tokens: [Token] = []
    var line = 1
    var depth = 0
    var word: [UInt8] = []
    func endWord() {
      if word.isEmpty { return }
      tokens.append(Token(text: String(decoding: word, as: UTF8.self), line: line, braceDepth: depth))
      word.removeAll(keepingCapacity: true)
    }
    for byte in code.utf8 {
      if isIdentifierByte(byte) {
        word.append(byte)
        continue
      }
      endWord()
      if byte == UInt8(ascii: "\n") { line += 1 }
      if byte <= UInt8(ascii: " ") { continue }
      if byte == UInt8(ascii: "}") { depth -= 1 }
      let text = String(UnicodeScalar(byte))
      tokens.append(Token(text: text, line: line, braceDepth: depth))
      if byte == UInt8(ascii: "{") { depth += 1 }
    }
    endWord()
    return tokens
  }
}

private func isIdentifierByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
    true
  default: false
  }
}

/// Blanks the comments and strings of a text in one pass. Interpolations inside strings are code and
/// therefore stay.
private struct Blanking {
  let bytes: [UInt8]
  let keepsStrings: Bool
  var output: [UInt8]
  var position = 0

  init(_ text: String, keepsStrings: Bool) {
    bytes = Array(text.utf8)
    output = bytes
    self.keepsStrings = keepsStrings
  }

  mutating func code(insideInterpolation: Bool) {
    var depth = 0
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "/") where at(position + 1) == UInt8(ascii: "/"): lineComment()
      case UInt8(ascii: "/") where at(position + 1) == UInt8(ascii: "*"): blockComment()
      case UInt8(ascii: "/") where regexEnd() != nil: blank(upTo: regexEnd()!)
      case UInt8(ascii: "\""): string(hashes: 0)
      case UInt8(ascii: "#"): hashes()
      case UInt8(ascii: "("):
        depth += 1
        position += 1
      case UInt8(ascii: ")"):
        position += 1
        if insideInterpolation && depth == 0 { return }
        depth -= 1
      default: position += 1
      }
    }
  }

  private func at(_ index: Int) -> UInt8? { index < bytes.count ? bytes[index] : nil }

  private func starts(_ text: [UInt8], at index: Int) -> Bool {
    bytes[min(index, bytes.count)...].starts(with: text)
  }

  private mutating func blank(upTo end: Int) {
    while position < min(end, bytes.count) {
      if bytes[position] != UInt8(ascii: "\n") { output[position] = UInt8(ascii: " ") }
      position += 1
    }
  }

  private mutating func lineComment() {
    blank(upTo: bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count)
  }

  private mutating func blockComment() {
    var depth = 0
    repeat {
      if starts(Array("/*".utf8), at: position) {
        depth += 1
        blank(upTo: position + 2)
      } else if starts(Array("*/".utf8), at: position) {
        depth -= 1
        blank(upTo: position + 2)
      } else {
        blank(upTo: position + 1)
      }
    } while depth > 0 && position < bytes.count
  }

  /// Reads a run of `#`, which starts a raw string, an extended regex, or a directive.
  private mutating func hashes() {
    let count = bytes[position...].prefix { $0 == UInt8(ascii: "#") }.count
    let next = at(position + count)
    if next == UInt8(ascii: "\"") {
      skipDelimiter(count)
      string(hashes: count)
    } else if next == UInt8(ascii: "/") {
      let closing = [UInt8(ascii: "/")] + [UInt8](repeating: UInt8(ascii: "#"), count: count)
      var end = position + count + 1
      while end < bytes.count && !starts(closing, at: end) { end += 1 }
      blank(upTo: end + closing.count)
    } else {
      position += count
    }
  }

  /// Reads a string literal, from the opening quote to the end of the closing delimiter.
  private mutating func string(hashes: Int) {
    let isMultiline = starts(Array("\"\"\"".utf8), at: position)
    let pounds = [UInt8](repeating: UInt8(ascii: "#"), count: hashes)
    let quotes = [UInt8](repeating: UInt8(ascii: "\""), count: isMultiline ? 3 : 1)
    let escape = [UInt8(ascii: "\\")] + pounds
    skipDelimiter(quotes.count)
    while position < bytes.count {
      if starts(quotes + pounds, at: position) {
        skipDelimiter(quotes.count + hashes)
        return
      }
      if starts(escape + [UInt8(ascii: "(")], at: position) {
        skipDelimiter(escape.count + 1)
        code(insideInterpolation: true)
      } else if starts(escape, at: position) {
        skipDelimiter(escape.count + 1)
      } else if bytes[position] == UInt8(ascii: "\n") && !isMultiline {
        return  // Not valid Swift; only this line is lost, not the file.
      } else {
        skipDelimiter(1)
      }
    }
  }

  private mutating func skipDelimiter(_ count: Int) {
    if keepsStrings { position = min(position + count, bytes.count) } else { blank(upTo: position + count) }
  }

  /// Returns the end of the `/…/` literal that starts at the current position; nil if no such literal starts
  /// here. The literal must be on one line, and must start where a value may start.
  private func regexEnd() -> Int? {
    guard let first = at(position + 1), first > UInt8(ascii: " ") else { return nil }
    let before = bytes[..<position].last { $0 != UInt8(ascii: " ") }
    guard let before, Array("(=,:[{\n".utf8).contains(before) else { return nil }
    var index = position + 1
    while let byte = at(index), byte != UInt8(ascii: "\n") {
      if byte == UInt8(ascii: "\\") { index += 1 }
      if byte == UInt8(ascii: "/") { return index + 1 }
      index += 1
    }
    return nil
  }
}
