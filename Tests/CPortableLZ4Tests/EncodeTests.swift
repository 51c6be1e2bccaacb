// Round trips of any kind of content through all codecs, in all directions.

import CPortableLZ4
import Harness
import Testing

@Suite struct EncodeTests {
  @Test(arguments: Content.allCases)
  func contentOfEveryLengthRoundTrips(content: Content) throws {
    let edges = [254, 255, 256, 269, 270, 271, 285, 286, 524, 525, 4095, 4096, 4097, 8191, 8192, 8193]
    for count in Array(0...80) + edges {
      let input = content.bytes(count, seed: UInt64(count))
      _ = try LZ4Agreement.check(input: input, dictionary: [], at: .elsewhere)
    }
  }

  /// Positions past 65,535 do not fit in the tables of the encoder.
  @Test(arguments: Content.allCases, [65_535, 65_536, 65_548, 131_072, 300_000])
  func longContentRoundTrips(content: Content, count: Int) throws {
    let input = content.bytes(count, seed: UInt64(count))
    _ = try LZ4Agreement.check(input: input, dictionary: [], at: .elsewhere)
    let dictionary = content.bytes(32 << 10, seed: 1)
    _ = try LZ4Agreement.check(input: input, dictionary: dictionary, at: .beforeOutput)
  }

  @Test(arguments: Content.allCases, LZ4Codec.DictionaryPlace.allCases)
  func contentWithADictionaryRoundTrips(content: Content, place: LZ4Codec.DictionaryPlace) throws {
    for dictionaryBytes in [1, 3, 4, 5, 100, 32 << 10, 65_535, 65_536, 70_000] {
      let dictionary = content.bytes(dictionaryBytes, seed: 1)
      for count in [0, 1, 12, 13, 14, 20, 100, 236, 3000] {
        let input = content.bytes(count, seed: UInt64(count))
        _ = try LZ4Agreement.check(input: input, dictionary: dictionary, at: place)
      }
    }
  }

  /// The content repeats the dictionary, from each byte of its end to beyond its end.
  @Test func matchesCrossTheEndOfTheDictionary() throws {
    let dictionary = Content.noise.bytes(1000, seed: 3)
    for start in 900..<1000 {
      let input = Array(dictionary[start...]) + Array(dictionary[start...]) + counted(40)
      let block = try #require(try LZ4Codec.portable.encode(input, dictionary: dictionary))
      // One match of at most three bytes and one more byte of length, then 40 literals.
      if start <= 950 { #expect(block.count <= 3 + 1 + 42, "not one match from \(start)") }
      for place in LZ4Codec.DictionaryPlace.allCases {
        _ = try LZ4Agreement.check(input: input, dictionary: dictionary, at: place)
      }
    }
  }

  /// The format allows other blocks, but an encoder that writes them has a new version.
  @Test func blocksAreEqualOnAllProcessors() throws {
    let dictionary = Array("the dictionary has several words".utf8)
    let input = Array("several words, several words, and several words".utf8)
    let block = try LZ4Codec.portable.encode(input, dictionary: dictionary)
    let expected: [UInt8] = [
      9, 13, 0, 26, 44, 28, 0, 85, 44, 32, 97, 110, 100, 47, 0, 80, 119, 111, 114, 100, 115,
    ]
    #expect(block == expected)
    #expect(dugout_lz4_version() == 10_000)
  }

  @Test func boundHolds() throws {
    #expect(dugout_lz4_bound(0) == 1)
    #expect(dugout_lz4_bound(14) == 15)
    #expect(dugout_lz4_bound(15) == 17)
    for count in [1, 14, 15, 269, 270, 100_000] {
      let block = try LZ4Codec.portable.encode(Content.noise.bytes(count, seed: 1))
      #expect(block?.count == dugout_lz4_bound(count))
    }
  }

  @Test func similarContentBecomesSmall() throws {
    let text = Content.text.bytes(64 << 10, seed: 1)
    let block = try #require(try LZ4Codec.portable.encode(text))
    #expect(block.count < text.count / 2)
    let dictionary = Content.records.bytes(32 << 10, seed: 1)
    let record = Content.records.bytes(236, seed: 2)
    let alone = try #require(try LZ4Codec.portable.encode(record))
    let against = try #require(try LZ4Codec.portable.encode(record, dictionary: dictionary))
    #expect(against.count < alone.count * 9 / 10)
  }

  @Test(arguments: Content.allCases)
  func blocksAreAboutAsSmallAsLiblz4s(content: Content) throws {
    let dictionary = content.bytes(32 << 10, seed: 1)
    for count in [236, 4096, 64 << 10] {
      let input = content.bytes(count, seed: 2)
      let own = try #require(try LZ4Codec.portable.encode(input, dictionary: dictionary)).count
      for codec in LZ4Codec.allCases {
        let other = try #require(try codec.encode(input, dictionary: dictionary)).count
        #expect(own <= other * 21 / 20 + 4, "\(count) bytes: \(own) and \(other)")
      }
    }
  }
}
