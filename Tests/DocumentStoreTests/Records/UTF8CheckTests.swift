// The UTF-8 check agrees with the standard library.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct UTF8CheckTests {
  private func isWrong(_ bytes: [UInt8]) -> Bool {
    let isValid = String(validating: bytes, as: UTF8.self) != nil
    let isASCII = bytes.allSatisfy { $0 < 0x80 }
    return UTF8Check.isValid(bytes.rawSpan) != isValid || UTF8Check.isASCII(bytes.rawSpan) != isASCII
      || (String(record: bytes.rawSpan) != nil) != isValid
  }

  @Test func everyPairOfBytesHasTheRightVerdict() {
    var wrong: [[UInt8]] = []
    for first in UInt8.min...(.max) {
      if isWrong([first]) { wrong.append([first]) }
      for second in UInt8.min...(.max) where isWrong([first, second]) { wrong.append([first, second]) }
    }
    #expect(wrong == [])
  }

  /// All sequences of up to four bytes that consist of limits of the grammar's ranges.
  @Test func everySequenceOfLimitsHasTheRightVerdict() {
    let limits: [UInt8] = [
      0, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
      0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
    ]
    let tails: [UInt8] = [0, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
    var wrong: [[UInt8]] = []
    for first in limits {
      for second in limits {
        for third in tails {
          if isWrong([first, second, third]) { wrong.append([first, second, third]) }
          for fourth in tails where isWrong([first, second, third, fourth]) {
            wrong.append([first, second, third, fourth])
          }
        }
      }
    }
    #expect(wrong == [])
  }

  /// A valid or invalid character at every position of texts of all sizes up to 40 bytes.
  @Test func aCharacterAtAnyPositionHasTheRightVerdict() {
    let pieces: [[UInt8]] = [
      [], [0xC3, 0xA9], [0xE2, 0x82, 0xAC], [0xF0, 0x9F, 0x98, 0x80], [0xF4, 0x8F, 0xBF, 0xBF],
      [0xC0, 0x80], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
      [0xF4, 0x90, 0x80, 0x80],
      [0xF5, 0x80, 0x80, 0x80], [0x80], [0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x98], [0xFF], [0xF8],
      [0xC3, 0xA9, 0xA9], [0xC3, 0x41], [0xE2, 0x41, 0x82],
    ]
    var wrong: [[UInt8]] = []
    for piece in pieces {
      for before in 0...24 {
        for after in 0...16 {
          let text = [UInt8](repeating: 0x61, count: before) + piece + [UInt8](repeating: 0x62, count: after)
          if isWrong(text) { wrong.append(text) }
        }
      }
    }
    #expect(wrong == [])
  }

  @Test func longTextsHaveTheRightVerdict() {
    var rng = SeededRNG(seed: 75)
    let pieces: [[UInt8]] = [
      Array("plain text, ".utf8), Array("sjø".utf8), Array("海の波".utf8), Array("🌊🌊".utf8), [0x00], [0x7F],
    ]
    let invalid: [[UInt8]] = [
      [0x80], [0xC0, 0x80], [0xED, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xE3, 0x81],
    ]
    var wrong: [String] = []
    for round in 0..<400 {
      var text: [UInt8] = []
      while text.count < 300 + rng.roll(3000) { text += rng.pick(pieces) }
      if isWrong(text) { wrong.append("round \(round)") }
      text.insert(contentsOf: rng.pick(invalid), at: rng.roll(text.count + 1))
      if isWrong(text) { wrong.append("round \(round), damaged") }
      if isWrong(Array(text.prefix(rng.roll(text.count)))) { wrong.append("round \(round), a part") }
    }
    #expect(wrong == [])
  }
}
