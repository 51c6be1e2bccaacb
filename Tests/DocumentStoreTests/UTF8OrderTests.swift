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
    var wrong: [String] = []
    for left in names {
      for right in names {
        let (leftBytes, rightBytes) = (Array(left.utf8), Array(right.utf8))
        let precedes = leftBytes.lexicographicallyPrecedes(rightBytes)
        let order = left.comparedInUTF8(to: right)
        let areSame = leftBytes == rightBytes
        let expected: Int = areSame ? 0 : precedes ? -1 : 1
        let isOrdered = left.precedesInUTF8(right) == precedes && order.signum() == expected
        if left.isSameUTF8(as: right) != areSame || !isOrdered {
          wrong.append("\(left.debugDescription) and \(right.debugDescription): \(order)")
        }
      }
    }
    #expect(wrong == [])
  }
}
