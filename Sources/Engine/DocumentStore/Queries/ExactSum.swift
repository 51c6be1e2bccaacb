// An exact sum of doubles, rounded once at the end.
//
// The result depends neither on the order of the documents nor on the index that a query uses.
//
// Every finite double is a multiple of 2^-1074 and less than 2^1024. The sum is kept as an integer multiple
// of 2^-1074, in two's complement, with room for 2^64 doubles.

struct ExactSum {
  /// The words of the sum, lowest first. They have room for 1074 + 1024 bits of the largest double, 64 bits
  /// for the number of doubles, and one sign bit.
  private var words = [UInt64](repeating: 0, count: 34)
  /// The sum of infinities and NaNs.
  private var special = 0.0

  mutating func add(_ number: Double) {
    guard number.isFinite else {
      special += number
      return
    }
    let isSubnormal = number.exponentBitPattern == 0
    let shift = isSubnormal ? 0 : Int(number.exponentBitPattern) - 1
    let units = number.significandBitPattern | (isSubnormal ? 0 : 1 << 52)
    let (lowest, bit) = shift.quotientAndRemainder(dividingBy: 64)
    let shifted = UInt128(units) << UInt128(bit)
    let isNegative = number < 0
    let addend = isNegative ? ~shifted &+ 1 : shifted
    var part = UInt64(truncatingIfNeeded: addend)
    var carry: UInt64 = 0
    for index in lowest..<words.count {
      let (sum, overflow) = words[index].addingReportingOverflow(part)
      let (total, second) = sum.addingReportingOverflow(carry)
      words[index] = total
      carry = overflow || second ? 1 : 0
      if index == lowest {
        part = UInt64(truncatingIfNeeded: addend >> 64)
      } else {
        // From here on, only the sign extension and the carry are added.
        part = isNegative ? .max : 0
        if carry == part & 1 { break }
      }
    }
  }

  /// Adds an integer, split into as many doubles as needed.
  mutating func add(_ number: Int128) {
    var rest = number
    while rest != 0 {
      let rounded = Double(rest)
      add(rounded)
      rest -= Int128(rounded)
    }
  }

  /// The double nearest to the sum.
  var value: Double {
    guard special == 0 else { return special }
    let isNegative = words[words.count - 1] >> 63 == 1
    let magnitude = isNegative ? negated : words
    guard let top = magnitude.lastIndex(where: { $0 != 0 }) else { return 0 }
    guard top > 0 else { return scaled(UInt128(magnitude[0]), word: 0, isNegative: isNegative) }
    // The two top words have at least 65 significant bits, and a double has 53. Therefore all lower bits can
    // be merged into one bit.
    let rest: UInt128 = magnitude[..<(top - 1)].contains { $0 != 0 } ? 1 : 0
    let leading = UInt128(magnitude[top]) << 64 | UInt128(magnitude[top - 1])
    return scaled(leading | rest, word: top - 1, isNegative: isNegative)
  }

  private var negated: [UInt64] {
    var carries = true
    return words.map { word in
      let (sum, overflow) = (~word).addingReportingOverflow(carries ? 1 : 0)
      carries = overflow
      return sum
    }
  }

  private func scaled(_ units: UInt128, word: Int, isNegative: Bool) -> Double {
    let magnitude = Double(sign: .plus, exponent: 64 * word - 1074, significand: Double(units))
    return isNegative ? -magnitude : magnitude
  }
}
