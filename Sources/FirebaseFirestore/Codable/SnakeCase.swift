// The two conversions of names, with the results that users of JSONEncoder and JSONDecoder know.

enum SnakeCase {
  /// `oneTwoThree` becomes `one_two_three`, `myURLText` becomes `my_url_text`.
  ///
  ///   1. A word ends before the next capital letter. The first letter of the name counts as small.
  ///   2. If a small letter follows the capital at once, the word goes on.
  ///   3. Else the capitals and what follows them are a word up to the letter before the next small
  ///      one; that letter begins the word after it.
  static func encode(_ name: String) -> String {
    let scalars = Array(name.unicodeScalars)
    guard scalars.count > 1 else { return name.lowercased() }

    var wordStarts: [Int] = []
    var position = 1
    while let capital = scalars[position...].firstIndex(where: \.properties.isUppercase) {
      wordStarts.append(capital)
      guard let small = scalars[capital...].firstIndex(where: \.properties.isLowercase) else { break }
      if small > capital + 1 { wordStarts.append(small - 1) }
      position = small
    }

    var words: [String] = []
    var start = 0
    for end in wordStarts + [scalars.count] {
      words.append(text(scalars[start..<end]).lowercased())
      start = end
    }
    return words.joined(separator: "_")
  }

  /// `one_two_three` becomes `oneTwoThree`. Underscores at both ends stay, a name of one word too.
  static func decode(_ name: String) -> String {
    let scalars = Array(name.unicodeScalars)
    guard let first = scalars.firstIndex(where: { $0 != "_" }),
      let last = scalars.lastIndex(where: { $0 != "_" })
    else { return name }

    let words = scalars[first...last].split(separator: "_").map { text($0) }
    guard words.count > 1 else { return name }
    let joined = words[0].lowercased() + words.dropFirst().map(capitalized).joined()
    return text(scalars[..<first]) + joined + text(scalars[(last + 1)...])
  }

  private static func capitalized(_ word: String) -> String {
    word.prefix(1).uppercased() + word.dropFirst().lowercased()
  }

  private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return String(view)
  }
}
