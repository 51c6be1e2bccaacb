import Foundation
import Harness
import Testing

@testable import FirestoreWire

@Suite struct Base64Tests {
  @Test func bytesAreWrittenAsFoundationWritesThem() {
    var random = SeededRandom(seed: 1)
    for count in 0..<70 {
      let bytes = random.bytes(count)
      let text = Base64.encode(bytes)
      #expect(String(decoding: text, as: UTF8.self) == Data(bytes).base64EncodedString())
      #expect(Base64.decode(text) == bytes)
      let unpadded = text.filter { $0 != UInt8(ascii: "=") }
      #expect(Base64.decode(unpadded) == bytes)
    }
  }

  @Test func bothAlphabetsAreRead() {
    #expect(Base64.decode(Array("-_-_".utf8)) == Base64.decode(Array("+/+/".utf8)))
    #expect(Base64.decode(Array("-_-_".utf8)) == [0xFB, 0xFF, 0xBF])
  }

  @Test(arguments: [
    "A", "AAAAA", "A===", "AA=", "AA===", "AAA==", "AAAA=", "=", "AA=A", "AA*A", "AA A", "AAA\u{E9}",
  ])
  func otherTextsAreRefused(text: String) {
    #expect(Base64.decode(Array(text.utf8)) == nil)
  }
}
