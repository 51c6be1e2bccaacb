// Numbers of variable length.

import ByteStore
import Testing

@Suite struct ByteReaderTests {
  @Test func numbersOfEverySizeAreReadWholeOrNotAtAll() {
    let limits = (0..<64).flatMap { shift -> [UInt64] in
      let power = UInt64(1) << UInt64(shift)
      return [power &- 1, power, power &+ 1]
    }
    var wrong: [UInt64] = []
    for number in limits + [.max] {
      var bytes: [UInt8] = []
      bytes.append(varint: number)
      var whole = ByteReader((bytes + [0xFF]).rawSpan)
      if whole.varint() != number || whole.offset != bytes.count { wrong.append(number) }
      for count in 0..<bytes.count {
        let part = Array(bytes.prefix(count))
        var reader = ByteReader(part.rawSpan)
        if reader.varint() != nil { wrong.append(number) }
      }
    }
    #expect(wrong == [])
  }
}
