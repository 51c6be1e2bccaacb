// The state of a line that is being edited: takes keys, returns outcomes. Independent of the terminal.

/// The possible completions at the cursor.
struct Completion: Equatable {
  /// The number of letters before the cursor that a candidate replaces.
  var replaced: Int
  /// Complete words in order.
  var candidates: [String]
}

struct LineEditor {
  enum Outcome: Equatable {
    case editing
    /// Candidates to print above the line; editing continues.
    case candidates([String])
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

  init(history: [String] = []) {
    self.history = history
    place = history.count
  }

  var text: String { String(letters) }

  mutating func take(_ key: Key, completing candidates: (String) -> Completion) -> Outcome {
    switch key {
    case .letter(let letter): insert([letter])
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
    guard let shared = completion.candidates.sharedPrefix else { return .editing }
    let replaced = min(completion.replaced, cursor)
    let isLonger = shared.count > replaced
    if isLonger || completion.candidates.count == 1 {
      delete(cursor - replaced..<cursor)
      insert(Array(shared))
    }
    return completion.candidates.count > 1 && !isLonger ? .candidates(completion.candidates) : .editing
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
