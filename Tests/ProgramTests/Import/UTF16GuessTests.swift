// Byte sequences that are recognized as UTF-16 without a byte order mark, and byte sequences that are not.

import Foundation
import Testing

@testable import dugout

@Suite struct UTF16GuessTests {
  private func encoded(_ text: String, littleEndian: Bool) -> Data {
    Data(
      text.utf16.flatMap { unit in
        let bytes = [UInt8(truncatingIfNeeded: unit), UInt8(truncatingIfNeeded: unit >> 8)]
        return littleEndian ? bytes : bytes.reversed()
      })
  }

  /// Regression: a single letter with a zero low byte made a file of thousands of letters unrecognizable.
  @Test(arguments: [
    #"{"path": "users/ada"}"#, #"{"path": "users/ada", "fields": {"name": {"stringValue": "Āda"}}}"#,
    #"{"path": "users/ada", "fields": {"name": {"stringValue": "全角　空白"}}}"#,
    #"{"path": "users/ada", "fields": {"name": {"stringValue": "Привет, мир"}}}"#,
    #"{"path": "users/ada", "fields": {"name": {"stringValue": "é ä ß"}}}"#,
    "\u{100}\u{0}" + String(repeating: "{\"a\": 1} ", count: 1000),
  ])
  func utf16IsDetected(text: String) {
    #expect(UTF16Guess.encoding(of: encoded(text, littleEndian: true), at: 0) == "UTF-16LE")
    #expect(UTF16Guess.encoding(of: encoded(text, littleEndian: false), at: 0) == "UTF-16BE")
    // A line may start with the second half of the previous line's last letter.
    let rest = Data([0]) + encoded(text, littleEndian: true)
    #expect(UTF16Guess.encoding(of: rest, at: 11) == "UTF-16LE")
    // The data may be a slice.
    #expect(UTF16Guess.encoding(of: (Data([1, 2]) + rest).dropFirst(2), at: 11) == "UTF-16LE")
  }

  /// Regression: a file of names separated by zeros was reported as UTF-16.
  @Test(arguments: [
    "", "{", #"{"path": "users/ada"}"#, #"{"path": "users/Привет 全角　空白 é"}"#,
    "abc\u{0}def\u{0}ghi\u{0}jkl\u{0}", "é\u{0}ü\u{0}ö\u{0}ä\u{0}é",
    #"{"path": "users/ada", "fields"# + String(repeating: "\u{0}", count: 500),
    String(repeating: "{\"a\": \"1\u{0}\"} ", count: 500), "\u{0}", "\u{0}\u{0}\u{0}\u{0}",
  ])
  func utf8IsNotDetectedAsUTF16(text: String) {
    let starts = [UInt64(0), 1]
    #expect(starts.filter { UTF16Guess.encoding(of: Data(text.utf8), at: $0) != nil } == [])
  }

  @Test(
    arguments: [[0, 1, 0, 0, 2], [0x7B, 0, 0, 0x22], [0], [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]] as [[UInt8]])
  func binaryDataIsNotDetectedAsUTF16(bytes: [UInt8]) {
    #expect(UTF16Guess.encoding(of: Data(bytes), at: 0) == nil)
  }
}
