// CRC32C: published values, chaining, and the processor's instruction compared with the table.

import CDigest
import Testing

struct CRC32CTests {
  /// RFC 3720, appendix B.4, which prints the four bytes in the order in which they are sent: least
  /// significant first.
  static let published: [(bytes: [UInt8], crc: UInt32)] = [
    ([UInt8](repeating: 0x00, count: 32), 0x8A91_36AA),
    ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
    ([UInt8](0..<32), 0x46DD_794E),
    ([UInt8]((0..<32).reversed()), 0x113F_DB5C),
    (
      [
        0x01, 0xC0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x18,
        0x28, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      ], 0xD996_3A56
    ),
    (Array("123456789".utf8), 0xE306_9283),
  ]

  @Test(arguments: Implementation.allCases)
  func publishedValuesHold(implementation: Implementation) {
    let values = Self.published.map { crc32c($0.bytes, by: implementation) }
    #expect(values == Self.published.map { $0.crc })
  }

  @Test(arguments: Implementation.allCases)
  func bitByBitDefinitionHoldsForEveryLength(implementation: Implementation) {
    let bytes = randomBytes(count: 600, seed: 1)
    var wrong: [String] = []
    var expected: UInt32 = 0
    for count in 0...bytes.count {
      let value = crc32c(bytes.prefix(count), by: implementation)
      if value != expected { wrong.append("count \(count): \(value), not \(expected)") }
      if count < bytes.count { expected = crc32cBitByBit(bytes[count], after: expected) }
    }
    #expect(wrong == [])
  }

  @Test(arguments: Implementation.allCases)
  func emptyInputKeepsTheValue(implementation: Implementation) {
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)[...]
    let values: [UInt32] = [0, 1, 0xE306_9283, .max]
    #expect(values.map { crc32c(nothing, after: $0, by: implementation) } == values)
    #expect(values.map { crc32c([], after: $0, by: implementation) } == values)
  }

  /// The input is so long that each of the two parts, at some split, uses the longest of the three-lane
  /// blocks.
  @Test(arguments: Implementation.allCases)
  func chainingAtEverySplitEqualsOnePass(implementation: Implementation) {
    randomBytes(count: 4_500, seed: 2).withUnsafeBytes { bytes in
      let whole = crc32c(bytes[...], by: .portable)
      let wrongSplits = (0...bytes.count).filter { split in
        let first = crc32c(bytes[..<split], by: implementation)
        return crc32c(bytes[split...], after: first, by: implementation) != whole
      }
      #expect(wrongSplits == [])
    }
  }

  @Test func hardwareAndPortableAgreeOnEveryLengthAndAlignment() {
    var wrong: [String] = []
    withEveryLengthAndAlignment(countMax: 600, seed: 3) { bytes, alignment in
      let crc = UInt32(truncatingIfNeeded: bytes.count &* 0x9E37_79B9)
      let best = crc32c(bytes, after: crc, by: .best)
      let portable = crc32c(bytes, after: crc, by: .portable)
      if best != portable { wrong.append("count \(bytes.count), alignment \(alignment)") }
    }
    #expect(wrong == [])
  }

  /// Uses lengths around multiples of the three block sizes, where one loop continues after another loop.
  @Test func hardwareAndPortableAgreeAtLaneBoundaries() {
    randomBytes(count: 13_300, seed: 4).withUnsafeBytes { bytes in
      var wrongCounts: [Int] = []
      for block in [3 * 80, 3 * 336, 3 * 1360, 3 * (80 + 336), 3 * (80 + 336 + 1360)] {
        for multiple in 1...2 {
          for count in (multiple * block - 17)...(multiple * block + 17) {
            let best = crc32c(bytes[5..<5 + count], by: .best)
            if best != crc32c(bytes[5..<5 + count], by: .portable) { wrongCounts.append(count) }
          }
        }
      }
      #expect(wrongCounts == [])
    }
  }

  @Test(arguments: 10...13 as ClosedRange<UInt64>)
  func hardwareAndPortableAgreeOnLargeBuffers(seed: UInt64) {
    let bytes = randomBytes(count: 1 << 19 + Int(seed), seed: seed)
    #expect(crc32c(bytes, by: .best) == crc32c(bytes, by: .portable))
  }

  @Test func concurrentCallersGetTheSameValue() async {
    let bytes = Array("123456789".utf8)
    let values = await withTaskGroup(of: UInt32.self) { group in
      for _ in 0..<64 { group.addTask { crc32c(bytes, by: .best) } }
      return await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(values == [0xE306_9283])
  }
}

/// The definition: the reflected polynomial, one bit at a time.
private func crc32cBitByBit(_ byte: UInt8, after crc: UInt32) -> UInt32 {
  var register = ~crc ^ UInt32(byte)
  for _ in 0..<8 {
    register = register >> 1 ^ (register & 1 == 1 ? 0x82F6_3B78 : 0)
  }
  return ~register
}
