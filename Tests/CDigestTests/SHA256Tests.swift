// SHA-256: published digests, streaming, and special instructions compared with the portable code.

import CDigest
import Testing

struct SHA256Tests {
  /// NIST's examples for FIPS 180-4: the empty message, one block and two blocks.
  static let published: [(message: String, digest: String)] = [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
        + "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
    ),
  ]

  @Test(arguments: Implementation.allCases)
  func publishedDigestsHold(implementation: Implementation) {
    let digests = Self.published.map { hex(sha256($0.message.utf8, by: implementation)) }
    #expect(digests == Self.published.map { $0.digest })
  }

  /// Pieces of 999 bytes, so that an update starts at every fill of the block.
  @Test(arguments: Implementation.allCases)
  func aMillionTimesTheLetterAHasItsPublishedDigest(implementation: Implementation) {
    let digest = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000).withUnsafeBytes { bytes in
      let pieces = stride(from: 0, to: bytes.count, by: 999).map { bytes[$0..<min($0 + 999, bytes.count)] }
      return sha256(pieces, by: implementation)
    }
    #expect(hex(digest) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  /// Covers every fill of the last block, and thereby every padding. The expected value is the digest of
  /// the 300 digests, computed with Python's hashlib.
  @Test(arguments: Implementation.allCases)
  func everyPaddingMatchesAnotherLibrary(implementation: Implementation) {
    let bytes = (0..<300).map { UInt8($0 % 251) }
    let digests = (0..<300).flatMap { sha256(bytes.prefix($0), by: implementation) }
    let digest = hex(sha256(digests, by: implementation))
    #expect(digest == "fa70b867db0a30acb7218d62945db0df52eb393808b30675ea9aac6b058a9a9d")
  }

  @Test(arguments: Implementation.allCases)
  func updatesAtEverySplitEqualOnePass(implementation: Implementation) {
    randomBytes(count: 300, seed: 1).withUnsafeBytes { bytes in
      let whole = sha256([bytes[...]], by: .portable)
      let wrongSplits = (0...bytes.count).filter { split in
        sha256([bytes[..<split], bytes[split...]], by: implementation) != whole
      }
      #expect(wrongSplits == [])
    }
  }

  @Test(arguments: Implementation.allCases)
  func updatesOfAnyFixedSizeEqualOnePass(implementation: Implementation) {
    randomBytes(count: 1_000, seed: 2).withUnsafeBytes { bytes in
      let whole = sha256([bytes[...]], by: .portable)
      let wrongSizes = (1...130).filter { size in
        let parts = stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
        return sha256(parts, by: implementation) != whole
      }
      #expect(wrongSizes == [])
    }
  }

  @Test(arguments: Implementation.allCases)
  func emptyUpdatesChangeNothing(implementation: Implementation) {
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)[...]
    Array("abc".utf8).withUnsafeBytes { bytes in
      let digest = sha256([nothing, bytes[..<1], nothing, bytes[1...], nothing], by: implementation)
      #expect(hex(digest) == Self.published[1].digest)
    }
  }

  @Test(arguments: Implementation.allCases)
  func aCopyContinuesIndependentlyOfItsOriginal(implementation: Implementation) {
    var original = sha256Started(by: implementation)
    dugout_sha256_update(&original, "ab", 2)
    var copy = original
    dugout_sha256_update(&original, "X", 1)
    dugout_sha256_update(&copy, "c", 1)
    #expect(sha256Finished(&copy) == sha256("abc".utf8, by: implementation))
    #expect(sha256Finished(&original) == sha256("abX".utf8, by: implementation))
  }

  @Test func initIgnoresTheOldContent() {
    var context = sha256Started(by: .portable)
    dugout_sha256_update(&context, "leftover", 8)
    _ = sha256Finished(&context)
    dugout_sha256_init(&context)
    dugout_sha256_update(&context, "abc", 3)
    #expect(hex(sha256Finished(&context)) == Self.published[1].digest)
  }

  @Test func hardwareAndPortableAgreeOnEveryLengthAndAlignment() {
    var wrong: [String] = []
    withEveryLengthAndAlignment(countMax: 600, seed: 3) { bytes, alignment in
      let best = sha256([bytes], by: .best)
      let portable = sha256([bytes], by: .portable)
      if best != portable { wrong.append("count \(bytes.count), alignment \(alignment)") }
    }
    #expect(wrong == [])
  }

  @Test(arguments: 10...13 as ClosedRange<UInt64>)
  func hardwareAndPortableAgreeOnLargeBuffers(seed: UInt64) {
    let bytes = randomBytes(count: 1 << 19 + Int(seed), seed: seed)
    #expect(sha256(bytes, by: .best) == sha256(bytes, by: .portable))
  }
}
