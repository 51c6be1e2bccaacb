// Converts names between camel case and snake case, with the same results as JSONEncoder and JSONDecoder.

enum SnakeCase {
  /// Converts `oneTwoThree` to `one_two_three`, and `myURLText` to `my_url_text`.
  ///
  ///   1. A word ends before the next capital letter. The first letter of the name counts as small.
  ///   2. That capital starts the next word. If a small letter follows the capital directly, this word
  ///      continues up to the next capital letter.
  ///   3. Otherwise, the character directly before the next small letter starts another word, so that
  ///      `URLText` is split into `URL` and `Text`.
  ///
  /// A letter and its combining marks are one character, and no word ends inside it.
  static func encode(_ name: String) -> String {
    let characters = Array(name)
    guard characters.count > 1 else { return name.lowercased() }

    var wordStarts: [Int] = []
    var position = 1
    while let capital = characters[position...].firstIndex(where: \.isCapital) {
      wordStarts.append(capital)
      guard let small = characters[capital...].firstIndex(where: \.isSmall) else { break }
      if small > capital + 1 { wordStarts.append(small - 1) }
      position = small
    }

    var words: [String] = []
    var start = 0
    for end in wordStarts + [characters.count] {
      words.append(String(characters[start..<end]).lowercased())
      start = end
    }
    return words.joined(separator: "_")
  }

  /// Converts `one_two_three` to `oneTwoThree`. Underscores at both ends are kept, and a name of one word
  /// is unchanged.
  static func decode(_ name: String) -> String {
    guard let first = name.firstIndex(where: { $0 != "_" }),
      let last = name.lastIndex(where: { $0 != "_" })
    else { return name }

    let words = name[first...last].split(separator: "_").map { String($0) }
    guard words.count > 1 else { return name }
    let joined = words[0].lowercased() + words.dropFirst().map(capitalized).joined()
    return name[..<first] + joined + name[name.index(after: last)...]
  }

  private static func capitalized(_ word: String) -> String {
    word.prefix(1).uppercased() + word.dropFirst().lowercased()
  }
}

extension Character {
  /// Checks only the letter, because a combining mark has no case.
  fileprivate var isCapital: Bool { unicodeScalars.first?.properties.isUppercase ?? false }

  fileprivate var isSmall: Bool { unicodeScalars.first?.properties.isLowercase ?? false }
}
