// Splits the text of a query or a value into tokens.

/// A syntax error and its position.
struct TextProblem: Error {
  var message: String
  /// The offset in letters.
  var place: Int
}

struct QueryToken: Equatable {
  enum Kind: Equatable {
    /// A field, a keyword or a function.
    case word(String)
    case string(String)
    case number(String)
    case symbol(String)
    case end
  }

  var kind: Kind
  var place: Int

  var text: String {
    switch kind {
    case .word(let word), .number(let word): word
    case .string(let text): "\"\(text)\""
    case .symbol(let symbol): symbol
    case .end: "the end"
    }
  }
}

struct QueryTokens {
  private static let symbols = [
    "<=", ">=", "!=", "==", "<", ">", "=", "(", ")", "[", "]", "{", "}", ",", ":",
  ]

  private let letters: [Character]
  private var place: Int

  init(_ text: String, from place: Int = 0) {
    letters = Array(text)
    self.place = place
  }

  static func all(of text: String, from place: Int = 0) throws -> [QueryToken] {
    var reader = QueryTokens(text, from: place)
    var tokens: [QueryToken] = []
    repeat { tokens.append(try reader.next()) } while tokens.last?.kind != .end
    return tokens
  }

  private mutating func next() throws -> QueryToken {
    while place < letters.count, letters[place].isWhitespace { place += 1 }
    let start = place
    guard let first = peek() else { return QueryToken(kind: .end, place: start) }
    if first == "\"" || first == "'" { return QueryToken(kind: .string(try string(first)), place: start) }
    if isNumber(first) { return QueryToken(kind: .number(number()), place: start) }
    if Self.startsWord(first) { return QueryToken(kind: .word(try word()), place: start) }
    for symbol in Self.symbols where letters[place...].starts(with: symbol) {
      place += symbol.count
      return QueryToken(kind: .symbol(symbol), place: start)
    }
    throw TextProblem(message: "\(first) means nothing here", place: start)
  }

  private func peek(_ ahead: Int = 0) -> Character? {
    place + ahead < letters.count ? letters[place + ahead] : nil
  }

  private static func startsWord(_ letter: Character) -> Bool {
    letter.isLetter || letter == "_" || letter == "`"
  }

  private func isNumber(_ first: Character) -> Bool {
    if first.isASCII, first.isNumber { return true }
    guard first == "-" || first == "+" || first == "." else { return false }
    guard let second = peek(1) else { return false }
    return second.isASCII && (second.isNumber || second == "." || second.isLetter)
  }

  private mutating func number() -> String {
    var text = ""
    while let letter = peek() {
      let isSign = (letter == "-" || letter == "+") && (text.isEmpty || text.last == "e" || text.last == "E")
      guard isSign || letter == "." || (letter.isASCII && (letter.isNumber || letter.isLetter)) else { break }
      text.append(letter)
      place += 1
    }
    return text
  }

  /// Reads names separated by dots; a name with other letters is quoted with backticks.
  private mutating func word() throws -> String {
    let start = place
    var text = ""
    var isQuoted = false
    while let letter = peek() {
      if isQuoted, letter == "\\", let next = peek(1) {
        text += [letter, next]
        place += 2
        continue
      }
      if letter == "`" { isQuoted.toggle() }
      guard isQuoted || letter == "`" || letter.isLetter || letter.isNumber || letter == "_" || letter == "."
      else { break }
      text.append(letter)
      place += 1
    }
    guard !isQuoted else {
      throw TextProblem(message: "a backtick opens a name and none closes it", place: start)
    }
    return text
  }

  private mutating func string(_ quote: Character) throws -> String {
    let start = place
    place += 1
    var text = ""
    while let letter = peek() {
      place += 1
      if letter == quote { return text }
      guard letter == "\\" else {
        text.append(letter)
        continue
      }
      text.append(try escaped())
    }
    throw TextProblem(message: "a string opens with \(quote) and does not end", place: start)
  }

  private mutating func escaped() throws -> Character {
    let start = place - 1
    guard let letter = peek() else { throw TextProblem(message: "a string does not end", place: start) }
    place += 1
    switch letter {
    case "n": return "\n"
    case "t": return "\t"
    case "r": return "\r"
    case "b": return "\u{8}"
    case "f": return "\u{C}"
    case "u": return try unicode(start)
    case "\\", "/", "\"", "'": return letter
    default: throw TextProblem(message: "\\\(letter) is not an escape", place: start)
    }
  }

  /// Reads four hexadecimal digits, or a surrogate pair of two such escapes, as in JSON.
  private mutating func unicode(_ start: Int) throws -> Character {
    var units = [try hexadecimal(start)]
    if UTF16.isLeadSurrogate(units[0]), peek() == "\\", peek(1) == "u" {
      place += 2
      units.append(try hexadecimal(start))
    }
    guard let letter = String(validating: units, as: UTF16.self)?.first else {
      throw TextProblem(message: "half of a surrogate pair is missing", place: start)
    }
    return letter
  }

  private mutating func hexadecimal(_ start: Int) throws -> UInt16 {
    let digits = String(letters[place..<min(place + 4, letters.count)])
    guard digits.count == 4, let unit = UInt16(digits, radix: 16) else {
      throw TextProblem(message: "\\u needs four hexadecimal digits", place: start)
    }
    place += 4
    return unit
  }
}
