// Strings that are created from their bytes without the standard library.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct ShortTextTests {
  /// Texts of 0 to 24 bytes: ASCII, and with a character of two to four bytes in each position.
  private static let texts: [String] = (0...20).flatMap { count in
    let letters = (0..<count).map { Character(Unicode.Scalar(UInt8(97 + $0))) }
    let accented = ["é", "€", "😀", "e\u{301}", "\0"].flatMap { other in
      (0...count).map { String(letters[..<$0]) + other + String(letters[$0...]) }
    }
    return [String(letters)] + accented
  }

  @Test func validatedStringsAreTheSameAsOthers() {
    for text in Self.texts {
      let bytes = Array(text.utf8)
      let string = String(validated: bytes.rawSpan)
      #expect(string == text && string.hashValue == text.hashValue)
      #expect(Array(string.utf8) == bytes && Array(string) == Array(text))
      #expect(string + "x" == text + "x" && string.isContiguousUTF8)
      #expect((ShortText(bytes.rawSpan) == nil) == (bytes.count > 15))
    }
  }

  #if os(Linux)
  @Test func shortStringsHaveTheirTextInPlace() {
    for text in Self.texts where text.utf8.count <= 15 {
      let bytes = Array(text.utf8)
      // A string that the standard library created from the same bytes.
      let other = String(decoding: bytes, as: UTF8.self)
      #expect(ShortText(bytes.rawSpan)?.string?.words == other.words)
    }
  }
  #endif
}
