// Text from outside is bounded by bytes where it becomes part of an error.

import Testing

@testable import FirestoreWire

@Suite struct ShortenedTextTests {
  @Test func shortTextStays() {
    #expect(shortened("") == "")
    #expect(shortened("abc", bytesMax: 3) == "abc")
    #expect(shortened(String(repeating: "é", count: 150)) == String(repeating: "é", count: 150))
  }

  @Test func longTextIsCutBetweenScalars() {
    for (text, bytesMax, expected) in [
      ("abcdefgh", 7, "abcd…"), ("aéééé", 7, "aé…"), ("éééé", 7, "éé…"), ("😀😀", 7, "😀…"),
      ("😀😀", 6, "…"), ("abcdef", 3, "…"),
    ] {
      #expect(shortened(text, bytesMax: bytesMax) == expected)
    }
  }

  @Test func oneCharacterOfManyBytesIsCut() {
    let text = "e" + String(repeating: "\u{301}", count: 5_000_000)
    #expect(text.count == 1)
    #expect(shortened(text).utf8.count <= 300)
  }

  @Test func anUnknownNameOfAnEnumIsCut() {
    let text = "e" + String(repeating: "\u{301}", count: 100_000)
    let error = #expect(throws: WireError.self) {
      try Wire.StructuredQuery.Order(json: Array(#"{"direction":"\#(text)"}"#.utf8))
    }
    #expect(error.map { $0.message.utf8.count < 400 } == true)
  }
}
