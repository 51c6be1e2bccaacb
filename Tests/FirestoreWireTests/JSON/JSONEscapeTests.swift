// Escapes in strings of JSON, which are looked for eight bytes at a time.

import Testing

@testable import FirestoreWire

@Suite struct JSONEscapeTests {
  private func escaped(_ text: String) -> String {
    var writer = JSONWriter()
    writer.string(text)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  /// The characters next to those that need an escape, and those with their high bit, are part of the text.
  @Test(arguments: [
    ("\"", "\\\""), ("\\", "\\\\"), ("\n", "\\n"), ("\u{0}", "\\u0000"), ("\u{1F}", "\\u001f"), (" ", " "),
    ("!", "!"), ("#", "#"), ("[", "["), ("]", "]"), ("\u{7F}", "\u{7F}"), ("ü", "ü"),
    ("\u{1F600}", "\u{1F600}"),
  ])
  func eachOffsetInAWordIsSeen(character: String, expected: String) {
    for before in 0..<20 {
      for after in 0..<10 {
        let (start, end) = (String(repeating: "a", count: before), String(repeating: "é", count: after))
        #expect(escaped(start + character + end) == "\"\(start)\(expected)\(end)\"")
        #expect(escaped(character + start + character) == "\"\(expected)\(start)\(expected)\"")
      }
    }
  }
}
