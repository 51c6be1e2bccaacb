// A line while it is typed: keys in, and what has become of the line out. It knows no terminal.

/// What could stand where the cursor is.
struct Completion: Equatable {
  /// How much of what is typed they replace, in letters before the cursor.
  var replaced: Int
  /// Whole words, in their order.
  var candidates: [String]
}

struct LineEditor {
  enum Outcome: Equatable {
    case editing
    /// To be shown above the line, which goes on.
    case candidates([String])
    case clearScreen
    case done(String)
    /// The line was given up.
    case cancelled
    case ended
  }

  private(set) var letters: [Character] = []
  /// Before the letter at this place.
  private(set) var cursor = 0
  /// Earlier lines, and at their end what was typed before going back to them.
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
    let isPlain = new.allSatisfy(Self.standsAlone) && letters[around].allSatisfy(Self.standsAlone)
    letters.insert(contentsOf: new, at: cursor)
    cursor += new.count
    // Where a long line is pasted, to look at all of it for each letter would take long.
    if isPlain { return }
    // A combining mark may have become one with the letter before it.
    let joined = Array(String(letters))
    cursor -= letters.count - joined.count
    letters = joined
  }

  /// It never becomes one with a letter beside it that stands alone too.
  private static func standsAlone(_ letter: Character) -> Bool { letter.isASCII && !letter.isNewline }

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
  /// What all of them begin with; nil if there is none of them.
  fileprivate var sharedPrefix: String? {
    guard var shared = first else { return nil }
    for text in dropFirst() { shared = String(zip(shared, text).prefix { $0 == $1 }.map(\.0)) }
    return shared
  }
}
