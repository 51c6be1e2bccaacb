// Fills text to the width of a terminal.
//
//   paragraph   consecutive lines without an indent; filled as one text
//   kept line   a line with an indent, such as an example; stays a line, and wraps only if it is too long
//
// A kept line wraps under its second column if it has one: the text after a run of blanks. The continuation
// of an example for the command line ends with a backslash, unless the break is inside quotes.

enum FilledText {
  static func lines(_ lines: [String], width: Int) -> [String] {
    var result: [String] = []
    var paragraph: [String] = []
    func endParagraph() {
      if !paragraph.isEmpty { result += wrapped(paragraph.joined(separator: " "), width: width) }
      paragraph = []
    }
    for line in lines {
      guard line.isEmpty || line.hasPrefix(" ") else {
        paragraph.append(line)
        continue
      }
      endParagraph()
      result += line.columns <= width ? [line] : kept(line, width: width)
    }
    endParagraph()
    return result
  }

  /// Wraps a text at blanks. The first line begins with `start`, and every other line with `indent` blanks. A
  /// word that is longer than a line stays whole.
  static func wrapped(_ text: String, width: Int, start: String = "", indent: Int = 0) -> [String] {
    fill(words(of: text), width: width, start: start, indent: indent)
  }

  /// Short quoted texts stay whole, because they are commands and names.
  private static func words(of text: String) -> [String] {
    var words: [String] = []
    var open: [String] = []
    for word in text.split(separator: " ").map(String.init) {
      open.append(word)
      let joined = open.joined(separator: " ")
      if isBalanced(joined) {
        words.append(joined)
        open = []
      } else if joined.columns > quotedColumnsMax {
        words += open
        open = []
      }
    }
    return words + open
  }

  private static let quotedColumnsMax = 30

  private static func isBalanced(_ text: String) -> Bool {
    ["\"", "`"].allSatisfy { sign in text.count { $0 == sign } % 2 == 0 }
  }

  /// Wraps a usage line. A part in brackets stays whole, because a break would separate an option from its
  /// value.
  static func wrappedUsage(_ usage: String, width: Int, start: String) -> [String] {
    var words: [String] = []
    var depth = 0
    for word in usage.split(separator: " ").map(String.init) {
      if depth > 0, let last = words.popLast() { words.append("\(last) \(word)") } else { words.append(word) }
      depth += word.count { $0 == "[" } - word.count { $0 == "]" }
    }
    return fill(words, width: width, start: start, indent: start.columns)
  }

  private static func fill(_ words: [String], width: Int, start: String, indent: Int) -> [String] {
    var lines: [String] = []
    var line = start
    var isEmpty = true
    for word in words {
      let gap = isEmpty ? 0 : 1
      if !isEmpty, line.columns + gap + word.columns > width {
        lines.append(line)
        line = String(repeating: " ", count: indent) + word
      } else {
        line += String(repeating: " ", count: gap) + word
      }
      isEmpty = false
    }
    return lines + [line]
  }

  private static func kept(_ line: String, width: Int) -> [String] {
    let margin = line.prefix { $0 == " " }.count
    let isExample = line.dropFirst(margin).hasPrefix("dugout ")
    guard !isExample else { return example(line, margin: margin, width: width) }
    guard let second = secondColumn(of: line, after: margin), second < width / 2 else {
      let words = String(line.dropFirst(margin))
      return wrapped(words, width: width, start: String(line.prefix(margin)), indent: margin + 4)
    }
    return wrapped(
      String(line.dropFirst(second)), width: width, start: String(line.prefix(second)), indent: second)
  }

  /// The offset of the text after the first run of blanks behind `margin`; nil if there is none.
  private static func secondColumn(of line: String, after margin: Int) -> Int? {
    let letters = Array(line)
    for place in letters.indices where place > margin + 1 && letters[place] != " " {
      if letters[place - 1] == " ", letters[place - 2] == " " { return place }
    }
    return nil
  }

  private static func example(_ line: String, margin: Int, width: Int) -> [String] {
    // Room for the backslash.
    let lines = wrapped(
      String(line.dropFirst(margin)), width: width - 2, start: String(line.prefix(margin)), indent: margin + 4
    )
    var isQuoted = false
    return lines.enumerated().map { place, text in
      for letter in text where letter == "'" { isQuoted.toggle() }
      return isQuoted || place + 1 == lines.count ? text : text + " \\"
    }
  }
}
