//  Parses a line of the shell into a command and its arguments.
//
//    line := word (blank word)*        a word may have quoted parts: 'a b', "a b"; and names: `a b`, which
//    keep their backticks
//
//  In a query or in fields, quotes are part of the text, unless they enclose all of it. Unquoted options are
//  extracted from any position in the line.

struct ShellLine: Equatable {
  struct Word: Equatable {
    /// The word as typed.
    var raw: String
    /// The word without quotes.
    var value: String

    /// Whether the whole word is one quoted text.
    fileprivate var isQuoted: Bool {
      guard let quote = raw.first, quote == "\"" || quote == "'" else { return false }
      var letters = raw.dropFirst()
      while let letter = letters.popFirst() {
        if letter == quote { return letters.isEmpty }
        if letter == "\\" { _ = letters.popFirst() }
      }
      return false
    }
  }

  var command: String
  var words: [Word]

  /// Returns nil for an empty line or a comment.
  init?(_ text: String) throws {
    var words = try Self.split(text)
    guard let first = words.first, !first.raw.hasPrefix("#") else { return nil }
    words.removeFirst()
    command = first.value
    self.words = words
  }

  /// Returns the words after the command's name as a command line would have them, including the directory.
  /// Returns nil if the command is not available in the shell.
  func arguments(of command: any Command.Type, in directory: String) -> [String]? {
    switch command.shellForm {
    case .none: return nil
    case .words(let place):
      var values = words.map(\.value)
      values.insert(directory, at: min(place, values.count))
      return values
    case .text(let wordsBefore):
      var (options, rest) = options(of: command)
      let before = rest.prefix(wordsBefore).map(\.value)
      rest.removeFirst(before.count)
      let text = Self.text(of: rest)
      // No option follows, so a text that looks like one is taken literally.
      return options + ["--", directory] + before + (text.isEmpty ? [] : [text])
    }
  }

  /// Returns the text of a query or of fields. Quotes around the whole text are removed: users of the command
  /// line add them, and no query starts with a quote.
  static func text(of words: [Word]) -> String {
    if words.count == 1, words[0].isQuoted { return words[0].value }
    return words.map(\.raw).joined(separator: " ")
  }

  private func options(of command: any Command.Type) -> ([String], [Word]) {
    var options: [String] = []
    var others: [Word] = []
    var rest = words[...]
    while let word = rest.popFirst() {
      let known = OptionWord(word.raw, of: command)
      guard word.raw == "--help" || known != nil else {
        others.append(word)
        continue
      }
      // The value after the equals sign may be quoted.
      options.append(known?.value == nil ? word.raw : word.value)
      if known?.takesValue == true, known?.value == nil, let value = rest.popFirst() {
        options.append(value.value)
      }
    }
    return (options, others)
  }

  private static func split(_ text: String) throws -> [Word] {
    var words: [Word] = []
    var word: Word?
    var quote: Character?
    var letters = Array(text)[...]
    while let letter = letters.popFirst() {
      if quote == nil, letter.isWhitespace {
        if let word { words.append(word) }
        word = nil
        continue
      }
      // The word is removed from the variable while it changes, so that its texts grow in place.
      var current = word.take() ?? Word(raw: "", value: "")
      current.raw.append(letter)
      if letter == quote {
        quote = nil
        if letter == "`" { current.value.append(letter) }
      } else if quote == nil, letter == "`" {
        quote = letter
        current.value.append(letter)
      } else if quote == nil, letter == "\"" || letter == "'" {
        quote = letter
      } else if quote != nil, letter == "\\", let next = letters.popFirst() {
        current.raw.append(next)
        if quote == "`" { current.value.append(letter) }
        current.value.append(next)
      } else {
        current.value.append(letter)
      }
      word = current
    }
    if let quote {
      throw CommandFailure(code: .usage, message: "a string opens with \(quote) and does not end.")
    }
    if let word { words.append(word) }
    return words
  }
}
