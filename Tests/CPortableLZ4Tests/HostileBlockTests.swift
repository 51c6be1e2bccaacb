// Damaged blocks: the decoders agree about each, and none reads or writes elsewhere.

import Harness
import Testing

@Suite struct HostileBlockTests {
  private static let dictionary = Content.records.bytes(2000, seed: 1)

  /// A block with short and long sequences, also into the dictionary.
  private func sample(_ content: Content) throws -> (block: [UInt8], capacity: Int) {
    let input = content.bytes(400, seed: 2)
    return (try #require(try LZ4Codec.portable.encode(input, dictionary: Self.dictionary)), input.count)
  }

  @Test(arguments: Content.allCases, LZ4Codec.DictionaryPlace.allCases)
  func everyByteOfABlockMayBeWrong(content: Content, place: LZ4Codec.DictionaryPlace) throws {
    let (block, capacity) = try sample(content)
    for index in block.indices {
      for change: UInt8 in [1, 0x0F, 0x10, 0x80, 0xF0, 0xFF] {
        var damaged = block
        damaged[index] ^= change
        _ = try LZ4Agreement.check(
          block: damaged, capacity: capacity, dictionary: Self.dictionary, at: place)
      }
    }
  }

  @Test(arguments: Content.allCases)
  func blocksMayEndAnywhereAndHaveAnySize(content: Content) throws {
    let (block, capacity) = try sample(content)
    for count in 0...block.count {
      let prefix = Array(block.prefix(count))
      for capacity in [0, 1, 12, 13, count, capacity - 1, capacity, capacity + 1, 3 * capacity] {
        _ = try LZ4Agreement.check(
          block: prefix, capacity: capacity, dictionary: Self.dictionary, at: .elsewhere)
      }
    }
  }

  @Test func randomBytesAreRefusedOrDecodedAlike() throws {
    var random = SeededRandom(seed: 5)
    var outcomes: Set<String> = []
    for _ in 0..<20_000 {
      // Small tokens make valid sequences more likely.
      let block = random.bytes(1 + random.below(40)).map { random.oneIn(2) ? $0 & 0x33 : $0 }
      let dictionary = Array(Self.dictionary.prefix([0, 10, 2000][random.below(3)]))
      let place: LZ4Codec.DictionaryPlace = random.oneIn(2) ? .elsewhere : .beforeOutput
      outcomes.insert(
        try LZ4Agreement.check(
          block: block, capacity: random.below(40), dictionary: dictionary, at: place))
    }
    #expect(outcomes.count == 6, "\(outcomes)")
  }
}
