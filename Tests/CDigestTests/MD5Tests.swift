// MD5: published digests and streaming.

import CDigest
import Testing

struct MD5Tests {
  /// RFC 1321, appendix A.5.
  static let published: [(message: String, digest: String)] = [
    ("", "d41d8cd98f00b204e9800998ecf8427e"),
    ("a", "0cc175b9c0f1b6a831c399e269772661"),
    ("abc", "900150983cd24fb0d6963f7d28e17f72"),
    ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
    (
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
      "d174ab98d277d9f5a5611c2c9f419d9f"
    ),
    (
      "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
      "57edf4a22be3c955ac49da2e2107b67a"
    ),
  ]

  @Test func publishedDigestsHold() {
    #expect(Self.published.map { hex(md5($0.message.utf8)) } == Self.published.map { $0.digest })
  }

  /// Covers every fill of the last block, and thereby every padding. The expected value is the digest of
  /// the 300 digests, computed with Python's hashlib.
  @Test func everyPaddingMatchesAnotherLibrary() {
    let bytes = (0..<300).map { UInt8($0 % 251) }
    let digests = (0..<300).flatMap { md5(bytes.prefix($0)) }
    #expect(hex(md5(digests)) == "6df39947d2c08075436d0edf312ed0fb")
  }

  @Test func updatesAtEverySplitEqualOnePass() {
    randomBytes(count: 300, seed: 1).withUnsafeBytes { bytes in
      let whole = md5([bytes[...]])
      let wrongSplits = (0...bytes.count).filter { split in
        md5([bytes[..<split], bytes[split...]]) != whole
      }
      #expect(wrongSplits == [])
    }
  }

  @Test func updatesOfAnyFixedSizeEqualOnePass() {
    randomBytes(count: 1_000, seed: 2).withUnsafeBytes { bytes in
      let whole = md5([bytes[...]])
      let wrongSizes = (1...130).filter { size in
        let parts = stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
        return md5(parts) != whole
      }
      #expect(wrongSizes == [])
    }
  }

  @Test func emptyUpdatesChangeNothing() {
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)[...]
    Array("abc".utf8).withUnsafeBytes { bytes in
      #expect(hex(md5([nothing, bytes[..<1], nothing, bytes[1...], nothing])) == Self.published[2].digest)
    }
  }

  @Test func theDigestDoesNotDependOnAlignment() {
    let bytes = randomBytes(count: 600, seed: 3)
    let aligned = (0...600).map { md5(bytes.prefix($0)) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count + 15, alignment: 16)
    defer { buffer.deallocate() }
    var wrong: [String] = []
    for alignment in 0..<16 {
      UnsafeMutableRawBufferPointer(rebasing: buffer[alignment...]).copyBytes(from: bytes)
      for count in 0...600 {
        let digest = md5([UnsafeRawBufferPointer(buffer)[alignment..<alignment + count]])
        if digest != aligned[count] { wrong.append("count \(count), alignment \(alignment)") }
      }
    }
    #expect(wrong == [])
  }

  @Test func aCopyContinuesIndependentlyOfItsOriginal() {
    var original = dugout_md5()
    dugout_md5_init(&original)
    dugout_md5_update(&original, "ab", 2)
    var copy = original
    dugout_md5_update(&original, "X", 1)
    dugout_md5_update(&copy, "c", 1)
    #expect(md5Finished(&copy) == md5("abc".utf8))
    #expect(md5Finished(&original) == md5("abX".utf8))
  }
}
