// Names compare by their bytes, unlike Swift strings.

import DocumentStore
import Testing

@Suite struct UTF8OrderTests {
  @Test func stringsCompareAsTheirBytesDo() {
    let seed: UInt64 = 51
    var rng = SeededRNG(seed: seed)
    let long = "long \(String(repeating: "é", count: 99))"
    let listed = Names.odd + Names.numeric + Names.reserved + ["", long]
    var names = listed + listed.map { Names.extended($0, by: 1, &rng) }
    names += names.map { String($0.dropFirst()) }
    for left in names {
      for right in names {
        let (leftBytes, rightBytes) = (Array(left.utf8), Array(right.utf8))
        let place: Comment = "\(left.debugDescription) and \(right.debugDescription)"
        let precedes = leftBytes.lexicographicallyPrecedes(rightBytes)
        let order = left.comparedInUTF8(to: right)
        #expect(left.isSameUTF8(as: right) == (leftBytes == rightBytes), place)
        #expect(left.precedesInUTF8(right) == precedes, place)
        #expect(order.signum() == (leftBytes == rightBytes ? 0 : precedes ? -1 : 1), place)
      }
    }
  }
}
