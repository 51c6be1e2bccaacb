// SipHash: published values for the rounds, and a second implementation for everything else.

import CDigest
import Testing

struct SipHashTests {
  /// The key in the paper: the bytes 00 to 0F.
  static let key = (UInt64(0x0706_0504_0302_0100), UInt64(0x0F0E_0D0C_0B0A_0908))

  /// The SipHash-2-4 values of the first 0, 1, … 15 bytes of the sequence 00, 01, … 0E. The last value is the
  /// example in the paper's appendix A. All values are in the authors' own table.
  static let published: [UInt64] = [
    0x726F_DB47_DD0E_0E31, 0x74F8_39C5_93DC_67FD, 0x0D6C_8009_D9A9_4F5A, 0x8567_6696_D7FB_7E2D,
    0xCF27_94E0_2771_87B7, 0x1876_5564_CD99_A68D, 0xCBC9_466E_58FE_E3CE, 0xAB02_00F5_8B01_D137,
    0x93F5_F579_9A93_2462, 0x9E00_82DF_0BA9_E4B0, 0x7A5D_BBC5_94DD_B9F3, 0xF4B3_2F46_226B_ADA7,
    0x751E_8FBC_860E_E5FB, 0x14EA_5627_C084_3D90, 0xF723_CA90_8E7A_F2EE, 0xA129_CA61_49BE_45E5,
  ]

  @Test func publishedValuesHold() {
    let values = Self.published.indices.map { count in
      let bytes = [UInt8](0..<UInt8(count))
      return dugout_siphash24(Self.key.0, Self.key.1, bytes, count)
    }
    #expect(values == Self.published)
  }

  @Test func referenceImplementationMatchesPublishedHashes() {
    let values = Self.published.indices.map { count in
      let bytes = [UInt8](0..<UInt8(count))
      return sipHashByDefinition(Self.key, bytes, compressions: 2, finalisations: 4)
    }
    #expect(values == Self.published)
  }

  /// The lengths go beyond 256, where the byte count no longer fits in the one byte that the padding has for
  /// it.
  @Test func hashMatchesTheReferenceForEveryLength() {
    let bytes = randomBytes(count: 600, seed: 1)
    let wrongCounts = (0...bytes.count).filter { count in
      let key = (UInt64(count) &* 0x9E37_79B9_7F4A_7C15, ~UInt64(count))
      let prefix = Array(bytes.prefix(count))
      let expected = sipHashByDefinition(key, prefix, compressions: 1, finalisations: 3)
      return dugout_siphash13(key.0, key.1, prefix, count) != expected
    }
    #expect(wrongCounts == [])
  }

  @Test func theValueDoesNotDependOnAlignment() {
    var wrong: [String] = []
    withEveryLengthAndAlignment(countMax: 200, seed: 3) { bytes, alignment in
      let region = UnsafeRawBufferPointer(rebasing: bytes)
      let expected = sipHashByDefinition((5, 6), Array(bytes), compressions: 1, finalisations: 3)
      if dugout_siphash13(5, 6, region.baseAddress, region.count) != expected {
        wrong.append("count \(bytes.count), alignment \(alignment)")
      }
    }
    #expect(wrong == [])
  }

  @Test func emptyInputMayBeNull() {
    let expected = sipHashByDefinition(Self.key, [], compressions: 1, finalisations: 3)
    #expect(dugout_siphash13(Self.key.0, Self.key.1, nil, 0) == expected)
  }
}

/// The definition, byte by byte: the message is padded to whole words with zeros and its byte count.
private func sipHashByDefinition(
  _ key: (UInt64, UInt64), _ bytes: [UInt8], compressions: Int, finalisations: Int
) -> UInt64 {
  var padded = bytes
  while padded.count % 8 != 7 { padded.append(0) }
  padded.append(UInt8(truncatingIfNeeded: bytes.count))

  var v = [key.0, key.1, key.0, key.1]
  for (index, letters) in ["somepseu", "dorandom", "lygenera", "tedbytes"].enumerated() {
    v[index] ^= letters.utf8.reduce(0) { $0 << 8 | UInt64($1) }
  }
  for start in stride(from: 0, to: padded.count, by: 8) {
    let word = padded[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    v[3] ^= word
    for _ in 0..<compressions { sipRound(&v) }
    v[0] ^= word
  }
  v[2] ^= 0xFF
  for _ in 0..<finalisations { sipRound(&v) }
  return v[0] ^ v[1] ^ v[2] ^ v[3]
}

/// The network in the paper's figure: two half rounds, the second with the other pairs.
private func sipRound(_ v: inout [UInt64]) {
  func rotated(_ value: UInt64, _ bits: UInt64) -> UInt64 { value << bits | value >> (64 - bits) }
  func halfRound(_ a: Int, _ b: Int, _ c: Int, _ d: Int, _ left: UInt64, _ right: UInt64) {
    v[a] &+= v[b]
    v[c] &+= v[d]
    v[b] = rotated(v[b], left) ^ v[a]
    v[d] = rotated(v[d], right) ^ v[c]
    v[a] = rotated(v[a], 32)
  }
  halfRound(0, 1, 2, 3, 13, 16)
  halfRound(2, 1, 0, 3, 17, 21)
}
