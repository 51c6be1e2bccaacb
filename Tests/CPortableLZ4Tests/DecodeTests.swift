// Decoding of blocks written by hand: all kinds of lengths and offsets, and every way to be malformed.

import Harness
import Testing

@Suite struct DecodeTests {
  private static let last: [UInt8] = [201, 202, 203, 204, 205, 206, 207, 208, 209, 210, 211, 212]

  /// Applies a match byte by byte, as the format defines it.
  private func content(
    _ literals: [UInt8], offset: Int, match: Int, dictionary: [UInt8] = []
  ) -> [UInt8] {
    var bytes = dictionary + literals
    for _ in 0..<match { bytes.append(bytes[bytes.count - offset]) }
    return Array(bytes.dropFirst(dictionary.count)) + Self.last
  }

  private func decoded(
    _ block: [UInt8], _ capacity: Int, dictionary: [UInt8] = [],
    at place: LZ4Codec.DictionaryPlace = .elsewhere
  ) throws -> [UInt8]? {
    try LZ4Codec.portable.decode(block, capacity: capacity, dictionary: dictionary, at: place)
  }

  // MARK: Valid blocks

  @Test func emptyContentIsOneByte() throws {
    #expect(try decoded([0], 0) == [])
    #expect(try decoded([0], 10) == [])
    #expect(try decoded([1], 0) == nil)
    #expect(try decoded([0, 0], 0) == nil)
  }

  @Test(arguments: [1, 14, 15, 16, 17, 269, 270, 271, 524, 525, 526, 65_535, 65_536, 70_000])
  func literalsOfAnyLengthAreCopied(count: Int) throws {
    var builder = BlockBuilder()
    builder.append(last: counted(count))
    #expect(try decoded(builder.bytes, count) == counted(count))
    #expect(try decoded(builder.bytes, count - 1) == nil)
    #expect(try decoded(builder.bytes, count + 100) == counted(count))
  }

  /// The offsets include all that need a special copy, because the match repeats its own output.
  @Test(arguments: Array(1...40) + [255, 256, 1000, 65_534, 65_535])
  func matchesOfAnyOffsetAndLengthAreCopied(offset: Int) throws {
    let literals = counted(max(offset, 20))
    var wrong: [Int] = []
    for match in Array(4...70) + [269, 270, 273, 274, 275, 529, 530, 2000] {
      let block = BlockBuilder.block(literals, offset: offset, match: match, last: Self.last)
      let expected = content(literals, offset: offset, match: match)
      if try decoded(block, expected.count) != expected { wrong.append(match) }
      if try decoded(block, expected.count + 200) != expected { wrong.append(-match) }
    }
    #expect(wrong == [])
  }

  @Test(arguments: [1, 7, 8, 40], [65_535, 65_536, 70_000])
  func longMatchesAreCopied(offset: Int, match: Int) throws {
    let block = BlockBuilder.block(counted(40), offset: offset, match: match, last: Self.last)
    let expected = content(counted(40), offset: offset, match: match)
    #expect(try decoded(block, expected.count) == expected)
    #expect(try decoded(block, expected.count - 1) == nil)
  }

  @Test(arguments: LZ4Codec.DictionaryPlace.allCases)
  func matchesBeginInTheDictionaryAndContinueInTheContent(place: LZ4Codec.DictionaryPlace) throws {
    let dictionary = counted(300)
    var wrong: [String] = []
    for literalCount in [0, 1, 3, 14, 15, 40] {
      let literals = [UInt8](repeating: 9, count: literalCount)
      for before in [1, 2, 4, 7, 8, 15, 16, 20, 60, 300] where before + literalCount > 0 {
        for match in [4, 5, 8, 15, 18, 19, 20, 40, 100, 400] {
          let offset = before + literalCount
          let block = BlockBuilder.block(literals, offset: offset, match: match, last: Self.last)
          let expected = content(literals, offset: offset, match: match, dictionary: dictionary)
          let result = try decoded(block, expected.count, dictionary: dictionary, at: place)
          if result != expected { wrong.append("\(literalCount) literals, \(before) before, \(match) bytes") }
        }
      }
    }
    #expect(wrong == [])
  }

  @Test(arguments: LZ4Codec.DictionaryPlace.allCases)
  func onlyTheLast65535BytesOfADictionaryAreReached(place: LZ4Codec.DictionaryPlace) throws {
    let dictionary = counted(70_000)
    let block = BlockBuilder.block([], offset: 65_535, match: 20, last: Self.last)
    let expected = content([], offset: 65_535, match: 20, dictionary: dictionary)
    #expect(try decoded(block, expected.count, dictionary: dictionary, at: place) == expected)
  }

  // MARK: Malformed blocks

  @Test(arguments: LZ4Codec.DictionaryPlace.allCases)
  func anOffsetBeforeTheFirstByteIsRefused(place: LZ4Codec.DictionaryPlace) throws {
    for dictionary in [[], counted(1), counted(100)] {
      let offset = dictionary.count + 20
      let bad = BlockBuilder.block(counted(20), offset: offset + 1, match: 30, last: Self.last)
      #expect(try decoded(bad, 62, dictionary: dictionary, at: place) == nil)
      let good = BlockBuilder.block(counted(20), offset: offset, match: 30, last: Self.last)
      #expect(try decoded(good, 62, dictionary: dictionary, at: place) != nil)
    }
  }

  @Test(arguments: [4, 30, 300])
  func anOffsetOfZeroIsRefused(match: Int) throws {
    let block = BlockBuilder.block(counted(20), offset: 0, match: match, last: Self.last)
    #expect(try decoded(block, 20 + match + Self.last.count) == nil)
    #expect(try decoded(block, 1000) == nil)
  }

  @Test func aMatchThatEndsInTheLastFiveBytesIsRefused() throws {
    for count in 0...8 {
      let block = BlockBuilder.block(counted(20), offset: 5, match: 30, last: Array(Self.last.prefix(count)))
      #expect(try (decoded(block, 50 + count) != nil) == (count >= 5), "\(count) last literals")
    }
  }

  @Test func aMatchThatBeginsInTheLastTwelveBytesIsRefused() throws {
    for match in 4...9 {
      let block = BlockBuilder.block(counted(20), offset: 5, match: match, last: Array(Self.last.prefix(5)))
      #expect(try (decoded(block, 25 + match) != nil) == (match >= 7), "a match of \(match)")
    }
  }

  @Test func everyTruncationIsRefused() throws {
    var builder = BlockBuilder()
    builder.append(counted(300), offset: 7, match: 600)
    builder.append([], offset: 300, match: 4)
    builder.append(counted(14), offset: 1, match: 19)
    builder.append(last: counted(20))
    let capacity = 300 + 600 + 4 + 14 + 19 + 20
    #expect(try decoded(builder.bytes, capacity)?.count == capacity)
    let accepted = try (0..<builder.bytes.count).filter {
      try decoded(Array(builder.bytes.prefix($0)), capacity)?.count == capacity
    }
    #expect(accepted == [])
    #expect(try decoded(builder.bytes + [0], capacity) == nil)
    #expect(try decoded(builder.bytes, capacity - 1) == nil)
  }

  @Test func lengthsThatOverflowAreRefused() throws {
    let endless = [UInt8](repeating: 255, count: 100_000)
    #expect(try decoded([0xF0] + endless, 1000) == nil)
    #expect(try decoded([0x4F, 1, 2, 3, 4, 1, 0] + endless, 1000) == nil)
    #expect(try decoded([0x4F, 1, 2, 3, 4, 1, 0] + endless + [0, 0x50, 1, 2, 3, 4, 5], 1000) == nil)
  }
}
