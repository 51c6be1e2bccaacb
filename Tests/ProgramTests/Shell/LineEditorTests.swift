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
        return Completion(replaced: word.count, candidates: candidates.filter { $0.hasPrefix(word) })
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

  @Test func tabCompletesTheCommonPrefix() {
    #expect(line("get us\t", ["users/ada", "users/bob"]) == "get users/|")
    #expect(line("get users/a\t", ["users/ada", "users/bob"]) == "get users/ada|")
    #expect(line("get x\t", ["users/ada"]) == "get x|")
    var editor = LineEditor()
    for key in keys("u") { _ = editor.take(key) { _ in Completion(replaced: 0, candidates: []) } }
    let outcome = editor.take(.tab) { _ in Completion(replaced: 1, candidates: ["ua", "ub"]) }
    #expect(outcome == .candidates(["ua", "ub"]))
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
