// The state of a line that is being edited: takes keys, returns outcomes. Independent of the terminal.

struct LineEditor {
  enum Outcome: Equatable {
    case editing
    /// Candidates to print above the line; editing continues.
    case candidates(Completion)
    case clearScreen
    case done(String)
    /// The user abandoned the line.
    case cancelled
    case ended
  }

  private(set) var letters: [Character] = []
  /// The index of the letter after the cursor.
  private(set) var cursor = 0
  /// Earlier lines; the last position is the line that was typed before browsing.
  private let history: [String]
  private var place: Int
  private var typed = ""
  /// The search in the history that is in progress.
  private var search: HistorySearch?
  /// Whether the blank before the cursor was added by a completion. A slash or a dot replaces it, because the
  /// word then continues.
  private var hasAddedBlank = false

  init(history: [String] = []) {
    self.history = history
    place = history.count
  }

  var text: String { String(letters) }

  /// The prompt of a search in the history; nil if there is no search.
  var searchPrompt: String? { search?.prompt }

  mutating func take(_ key: Key, completing candidates: (String) -> Completion) -> Outcome {
    if take(inSearch: key) { return .editing }
    let mayReplaceBlank = hasAddedBlank
    hasAddedBlank = false
    switch key {
    case .letter(let letter):
      if mayReplaceBlank, letter == "/" || letter == "." { delete(cursor - 1..<cursor) }
      insert([letter])
    case .backspace: delete(max(0, cursor - 1)..<cursor)
    case .delete: delete(cursor..<min(cursor + 1, letters.count))
    case .deleteToStart: delete(0..<cursor)
    case .deleteToEnd: delete(cursor..<letters.count)
    case .deleteWord: delete(wordStart..<cursor)
    case .left: cursor = max(0, cursor - 1)
    case .right: cursor = min(letters.count, cursor + 1)
    case .wordLeft: cursor = wordStart
    case .wordRight: cursor = wordEnd
    case .home: cursor = 0
    case .end: cursor = letters.count
    case .up: recall(place - 1)
    case .down: recall(place + 1)
    case .tab: return complete(with: candidates(String(letters[..<cursor])))
    case .clearScreen: return .clearScreen
    case .searchBackward:
      if place == history.count { typed = text }
      search = HistorySearch(history, line: text)
    case .abort: break
    case .enter: return .done(text)
    case .interrupt: return .cancelled
    case .endOfInput:
      if letters.isEmpty { return .ended }
      delete(cursor..<min(cursor + 1, letters.count))
    }
    return .editing
  }

  private mutating func insert(_ new: [Character]) {
    let around = max(0, cursor - 1)..<min(letters.count, cursor + 1)
    let isPlain = new.allSatisfy(Self.neverCombines) && letters[around].allSatisfy(Self.neverCombines)
    letters.insert(contentsOf: new, at: cursor)
    cursor += new.count
    // The rescan is skipped for plain letters, because rescanning a long pasted line for each letter takes
    // quadratic time.
    if isPlain { return }
    // A combining mark may have merged with the letter before it.
    let joined = Array(String(letters))
    cursor -= letters.count - joined.count
    letters = joined
  }

  /// Whether the letter never merges with a neighbour for which this function is true, too.
  private static func neverCombines(_ letter: Character) -> Bool { letter.isASCII && !letter.isNewline }

  private mutating func delete(_ range: Range<Int>) {
    letters.removeSubrange(range)
    cursor = range.lowerBound
  }

  private var wordStart: Int {
    var start = cursor
    while start > 0, letters[start - 1].isWhitespace { start -= 1 }
    while start > 0, !letters[start - 1].isWhitespace { start -= 1 }
    return start
  }

  private var wordEnd: Int {
    var end = cursor
    while end < letters.count, letters[end].isWhitespace { end += 1 }
    while end < letters.count, !letters[end].isWhitespace { end += 1 }
    return end
  }

  private mutating func recall(_ new: Int) {
    guard (0...history.count).contains(new), new != place else { return }
    if place == history.count { typed = text }
    place = new
    letters = Array(new == history.count ? typed : history[new])
    cursor = letters.count
  }

  private mutating func complete(with completion: Completion) -> Outcome {
    let candidates = completion.candidates
    guard let shared = candidates.map(\.text).sharedPrefix else { return .editing }
    let replaced = min(completion.replaced, cursor)
    if candidates.count == 1 {
      replace(replaced, with: shared)
      add(candidates[0].suffix)
      return .editing
    }
    // The prefix of some candidates is not that of all.
    guard !completion.isTruncated, shared.count > replaced else { return .candidates(completion) }
    replace(replaced, with: shared)
    return .editing
  }

  private mutating func replace(_ count: Int, with text: String) {
    delete(cursor - count..<cursor)
    insert(Array(text))
  }

  /// Adds the text after a complete word, or moves behind it if it is there.
  private mutating func add(_ suffix: String) {
    guard !suffix.isEmpty else { return }
    let new = Array(suffix)
    if letters[cursor...].starts(with: new) {
      cursor += new.count
    } else {
      insert(new)
      hasAddedBlank = suffix == " "
    }
  }

  // MARK: Search in the history

  /// Passes a key to the search. Returns false if there is no search, or if the key ends it and is then
  /// processed as usual, on the line that was found.
  private mutating func take(inSearch key: Key) -> Bool {
    guard var search else { return false }
    switch key {
    case .letter(let letter): search.add(letter)
    case .backspace: search.removeLast()
    case .searchBackward: search.continueBackward()
    case .abort:
      self.search = nil
      show(search.original, at: search.original.count)
      return true
    default:
      self.search = nil
      if let found = search.place { place = found }
      return false
    }
    self.search = search
    let line = search.line
    show(line, at: search.offset(in: line))
    return true
  }

  private mutating func show(_ line: String, at offset: Int) {
    letters = Array(line)
    cursor = min(offset, letters.count)
  }
}

extension [String] {
  /// The common prefix of all elements; nil if there are none.
  fileprivate var sharedPrefix: String? {
    guard var shared = first else { return nil }
    for text in dropFirst() { shared = String(zip(shared, text).prefix { $0 == $1 }.map(\.0)) }
    return shared
  }
}
