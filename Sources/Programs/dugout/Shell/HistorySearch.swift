// The search for a text in earlier lines, from the newest one on.

struct HistorySearch {
  private let history: [String]
  /// The line before the search.
  let original: String
  private var text = ""
  /// The line that was found last; nil before the first one.
  private(set) var place: Int?
  /// Whether no older line has the text. The last line that was found stays.
  private var hasFailed = false

  init(_ history: [String], line: String) {
    self.history = history
    original = line
  }

  var line: String { place.map { history[$0] } ?? original }

  var prompt: String { "(\(hasFailed ? "failed " : "")reverse-i-search)`\(text)': " }

  /// The offset of the text in a line, in letters.
  func offset(in line: String) -> Int {
    guard !text.isEmpty, let range = line.firstRange(of: text) else { return line.count }
    return line.distance(from: line.startIndex, to: range.lowerBound)
  }

  mutating func add(_ letter: Character) {
    text.append(letter)
    // The line that was found may have the longer text, too.
    find(before: place.map { $0 + 1 } ?? history.count)
  }

  mutating func removeLast() {
    guard !text.isEmpty else { return }
    text.removeLast()
    (place, hasFailed) = (nil, false)
    if !text.isEmpty { find(before: history.count) }
  }

  /// Finds the next older line that differs from the one that was found.
  mutating func continueBackward() {
    guard !text.isEmpty else { return }
    find(before: place ?? history.count)
  }

  private mutating func find(before end: Int) {
    let shown = place.map { history[$0] }
    let found = history[..<end].indices.last { index in
      let isShown = index != place && history[index] == shown
      return !isShown && history[index].contains(text)
    }
    hasFailed = found == nil
    if let found { place = found }
  }
}
