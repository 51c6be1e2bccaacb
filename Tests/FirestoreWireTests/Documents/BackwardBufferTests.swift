// A buffer that grows towards the front keeps its bytes in order.

import ByteStore
import Harness
import Testing

@testable import FirestoreWire

struct BackwardBufferTests {
  @Test(arguments: 0..<20)
  func bytesComeInTheReverseOrderOfTheCalls(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var buffer = BackwardBuffer(capacity: 1 + random.below(8))
    var expected: [UInt8] = []
    for _ in 0..<200 {
      switch random.below(4) {
      case 0:
        let byte = UInt8(random.below(256))
        buffer.prepend(byte)
        expected = [byte] + expected
      case 1:
        let number = random.next() >> UInt64(random.below(64))
        buffer.prepend(varint: number)
        expected = PlainProtobuf.varint(number) + expected
      case 2:
        let word = random.next()
        buffer.prepend(word: word)
        expected = (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } + expected
      default:
        let bytes = random.bytes(random.below(20))
        buffer.prepend(bytes.rawSpan)
        expected = bytes + expected
      }
    }
    #expect(buffer.count == expected.count)
    #expect(buffer.withBytes { Array(copying: $0) } == expected)
  }

  /// Sizes around the one from which a number has two bytes.
  @Test(arguments: [0, 1, 60, 120, 121, 122, 123, 124, 127, 128, 300], [UInt32(0x0A), 0x7A, 0x82])
  func anEntryHasItsNameAndItsSizesInFront(_ nameBytes: Int, _ tag: UInt32) {
    let name = [UInt8](repeating: UInt8(ascii: "n"), count: nameBytes)
    for valueBytes in [0, 2, 5, 127, 128] {
      let value = [UInt8](repeating: 7, count: valueBytes)
      var buffer = BackwardBuffer(capacity: 1)
      buffer.prepend([9, 9].rawSpan)
      let end = buffer.count
      buffer.prepend(value.rawSpan)
      buffer.prependEntry(tag, name: name.rawSpan, valueSince: end)
      let content = PlainProtobuf.field(1, name) + PlainProtobuf.field(2, value)
      let size = PlainProtobuf.varint(UInt64(content.count))
      let expected = PlainProtobuf.varint(UInt64(tag)) + size + content + [9, 9]
      #expect(buffer.withBytes { Array(copying: $0) } == expected)
    }
  }
}
