// The key hash: stable for a store, different between stores.

import Testing

@testable import ByteStore

@Suite struct KeyHashTests {
  /// The seed's words, in the order in which they are written, are the words of SipHash's key. This is
  /// SipHash-1-3 with the key 00 to 0F, and existing stores depend on these values.
  @Test func keyHashIsStable() {
    let hash = KeyHash(seed: RandomID(high: 0x0706_0504_0302_0100, low: 0x0F0E_0D0C_0B0A_0908))
    #expect(hash.hash([UInt8]().rawSpan) == 0xABAC_0158_050F_C4DC)
    #expect(hash.hash([UInt8](0..<15).rawSpan) == 0xD320_D86D_2A51_9956)
    #expect(hash.hash([UInt8](0..<63).rawSpan) == 0x9D19_9062_B7BB_B3A8)
  }

  @Test func bothWordsOfTheSeedChangeTheHash() {
    let key = Array("users/ada".utf8)
    let hashes = [(0, 0), (1, 0), (0, 1), (1 << 63, 0), (0, 1 << 63)].map {
      KeyHash(seed: RandomID(high: $0, low: $1)).hash(key.rawSpan)
    }
    #expect(Set(hashes).count == hashes.count)
  }
}
