// Decoding keys from bytes, and editing a line with keys.

import Testing

@testable import dugout

@Suite struct LineEditorTests {
  private func keys(_ bytes: [UInt8]) -> [Key] {
    var decoder = KeyDecoder()
    return bytes.compactMap { decoder.take($0) }
  }

  private func keys(_ text: String) -> [Key] { keys(Array(text.utf8)) }

  @Test func inputBytesAreDecodedIntoKeys() {
    #expect(keys("aé€😀") == [.letter("a"), .letter("é"), .letter("€"), .letter("😀")])
    #expect(keys("\u{1B}[A\u{1B}[B\u{1B}[C\u{1B}[D") == [.up, .down, .right, .left])
    #expect(keys("\u{1B}OA\u{1B}OH\u{1B}[1~\u{1B}[4~\u{1B}[3~") == [.up, .home, .home, .end, .delete])
    #expect(keys("\u{1B}[1;5C\u{1B}[1;3D\u{1B}b\u{1B}f") == [.wordRight, .wordLeft, .wordLeft, .wordRight])
    #expect(
      keys("\u{1}\u{3}\u{4}\u{5}\t\r\u{7F}\u{15}") == [
        .home, .interrupt, .endOfInput, .end, .tab, .enter, .backspace, .deleteToStart,
      ])
  }

  @Test func unknownKeysAreIgnored() {
    // Tests half a letter, a stray byte, an unknown sequence, and an unterminated sequence.
    #expect(keys([0xC3, UInt8(ascii: "a")]) == [.letter("a")])
    #expect(keys([0x80, 0xFF, UInt8(ascii: "a")]) == [.letter("a")])
    #expect(keys("\u{1B}[99;99xa") == [.letter("a")])
    #expect(
      keys(Array("\u{1B}[".utf8) + [UInt8](repeating: UInt8(ascii: "1"), count: 40) + Array("a".utf8)).last
        == .letter("a"))
  }

  /// Returns the line after the keys, with a bar at the cursor.
  private func line(_ text: String, history: [String] = [], _ candidates: [String] = []) -> String {
    var editor = LineEditor(history: history)
    for key in keys(text) {
      _ = editor.take(key) { typed in
        let word = typed.split(separator: " ", omittingEmptySubsequences: false).last ?? ""
        let found = candidates.filter { $0.hasPrefix(word) }
        return Completion(
          replaced: word.count, candidates: found.map { Completion.Candidate(text: $0, kind: .documents) })
      }
    }
    var letters = editor.letters
    letters.insert("|", at: editor.cursor)
    return String(letters)
  }

  @Test func lettersAreInsertedAndDeletedAtTheCursor() {
    #expect(line("abc\u{1B}[D\u{1B}[Dx") == "ax|bc")
    #expect(line("abc\u{1}x\u{5}y") == "xabcy|")
    #expect(line("abc\u{1B}[D\u{7F}") == "a|c")
    #expect(line("abc\u{1}\u{1B}[3~\u{4}") == "|c")
    #expect(line("one two  three\u{17}") == "one two  |")
    #expect(line("one two\u{1B}b\u{1B}b\u{1B}f\u{B}") == "one|")
    #expect(line("one two\u{1B}b\u{15}") == "|two")
    #expect(line("\u{7F}\u{1B}[D\u{1B}[C\u{1B}[3~") == "|")
    // A mark that combines with the letter before it.
    #expect(line("e\u{301}x\u{7F}\u{7F}") == "|")
  }

  @Test func arrowKeysBrowseTheHistory() {
    #expect(line("new\u{1B}[A", history: ["one", "two"]) == "two|")
    #expect(line("new\u{1B}[A\u{1B}[A\u{1B}[A", history: ["one", "two"]) == "one|")
    #expect(line("new\u{1B}[A\u{1B}[A\u{1B}[B\u{1B}[B\u{1B}[B", history: ["one", "two"]) == "new|")
  }

  private static let two = ["ua", "ub"].map { Completion.Candidate(text: $0, kind: .documents) }

  @Test func tabCompletesTheCommonPrefix() {
    #expect(line("get us\t", ["users/ada", "users/bob"]) == "get users/|")
    #expect(line("get x\t", ["users/ada"]) == "get x|")
    var editor = LineEditor()
    for key in keys("u") { _ = editor.take(key) { _ in Completion(replaced: 0, candidates: []) } }
    let completion = Completion(replaced: 1, candidates: Self.two)
    #expect(editor.take(.tab) { _ in completion } == .candidates(completion))
  }

  /// Regression: with more candidates than the list holds, the common prefix of the first ones was inserted.
  @Test func aPrefixOfSomeCandidatesIsNotInserted() {
    var editor = LineEditor()
    let completion = Completion(replaced: 0, candidates: Self.two, isTruncated: true)
    #expect(editor.take(.tab) { _ in completion } == .candidates(completion))
    #expect(editor.text == "")
  }

  @Test func aCompleteWordIsFollowedByABlank() {
    #expect(line("get users/a\t", ["users/ada", "users/bob"]) == "get users/ada |")
    #expect(line("get users/ada\t", ["users/ada"]) == "get users/ada |")
    // The cursor moves behind a blank that is there.
    #expect(line("get users/a x\u{1B}[D\u{1B}[D\t", ["users/ada"]) == "get users/ada |x")
    // A path that continues replaces the blank.
    #expect(line("get users/a\t/p", ["users/ada"]) == "get users/ada/p|")
    #expect(line("get users/a\t\u{1B}[D\u{1B}[C/p", ["users/ada"]) == "get users/ada /p|")
    #expect(line("get users/a\tx/", ["users/ada"]) == "get users/ada x/|")
  }

  // MARK: Search in the history

  private static let history = ["get users/ada", "ls users", "get users/bob", "ls users"]

  @Test func controlRSearchesTheHistoryBackward() {
    #expect(line("new\u{12}get", history: Self.history) == "|get users/bob")
    #expect(line("new\u{12}get\u{12}", history: Self.history) == "|get users/ada")
    // An equal line is not shown twice.
    #expect(line("\u{12}users\u{12}\u{12}", history: Self.history) == "ls |users")
    #expect(line("\u{12}users\u{12}", history: ["ls users", "ls users"]) == "ls |users")
    #expect(line("\u{12}bobx\u{7F}\u{7F}", history: Self.history) == "get users/|bob")
    // Any other key continues with the line that was found.
    #expect(line("\u{12}ada\u{5}!", history: Self.history) == "get users/ada!|")
    #expect(line("\u{12}ada\u{1B}[A", history: Self.history) == "get users/|ada")
    #expect(line("\u{12}ada\u{1B}[B", history: Self.history) == "ls users|")
    #expect(line("new\u{12}ada\u{7}", history: Self.history) == "new|")
    #expect(line("new\u{12}\u{1}", history: []) == "|new")
  }

  @Test func theSearchShowsItsTextAndWhetherItFailed() {
    var editor = LineEditor(history: Self.history)
    let none = { (_: String) in Completion(replaced: 0, candidates: []) }
    var prompts: [String?] = []
    for key in keys("\u{12}bo") {
      _ = editor.take(key, completing: none)
      prompts.append(editor.searchPrompt)
    }
    #expect(prompts == ["(reverse-i-search)`': ", "(reverse-i-search)`b': ", "(reverse-i-search)`bo': "])
    _ = editor.take(.letter("z"), completing: none)
    #expect(editor.searchPrompt == "(failed reverse-i-search)`boz': " && editor.text == "get users/bob")
    #expect(editor.take(.enter, completing: none) == .done("get users/bob"))
    #expect(editor.searchPrompt == nil)
  }

  @Test func aLineEndsByEnterCancelOrEndOfInput() {
    var editor = LineEditor()
    let none = { (_: String) in Completion(replaced: 0, candidates: []) }
    #expect(editor.take(.endOfInput, completing: none) == .ended)
    #expect(editor.take(.letter("a"), completing: none) == .editing)
    #expect(editor.take(.endOfInput, completing: none) == .editing)
    #expect(editor.take(.interrupt, completing: none) == .cancelled)
    #expect(editor.take(.enter, completing: none) == .done("a"))
  }

  @Test func aLongLineShowsThePartAroundTheCursor() {
    let letters = Array("0123456789abcdefghij")
    #expect(ShellConsole.rendered("> ", letters, cursor: 20, width: 13) == "\r\u{1B}[K> bcdefghij")
    #expect(ShellConsole.rendered("> ", letters, cursor: 0, width: 13) == "\r\u{1B}[K> 0123456789\u{1B}[10D")
    // Each of these letters takes two columns.
    #expect(ShellConsole.rendered("> ", Array("東京"), cursor: 1, width: 80) == "\r\u{1B}[K> 東京\u{1B}[2D")
  }

  /// Regression: each typed or pasted letter rescanned the whole line for combining marks.
  @Test(.timeLimit(.minutes(1))) func aLongLineIsNotRescannedForEachCharacter() {
    var editor = LineEditor()
    let text = String(repeating: "ab, ", count: 25_000)
    for letter in text { _ = editor.take(.letter(letter)) { _ in Completion(replaced: 0, candidates: []) } }
    #expect(editor.text == text)
    // A combining mark is still merged with the letter before it.
    for letter in "\u{301}" {
      _ = editor.take(.letter(letter)) { _ in Completion(replaced: 0, candidates: []) }
    }
    #expect(editor.cursor == text.count)
    #expect(editor.text.utf8.count == text.utf8.count + 2)
  }
}
