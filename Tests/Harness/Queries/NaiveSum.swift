// The exact sum of doubles, computed bit by bit.

import DocumentStore

enum NaiveSum {
  /// The exponent of the smallest positive double. Each power of two from this exponent on has a counter.
  private static let lowest = -1074
  private static let places = 2300

  static func double(_ numbers: [StoredValue]) -> Double {
    var special = 0.0
    var counts = [Int](repeating: 0, count: places)
    for number in numbers {
      switch number {
      case .integer(let integer):
        add(integer.magnitude, exponent: 0, integer < 0 ? -1 : 1, to: &counts)
      case .double(let double) where double.isFinite:
        guard double != 0 else { continue }
        let bits = UInt64(double.magnitude.significand * 0x1p52)
        add(bits, exponent: Int(double.exponent) - 52, double < 0 ? -1 : 1, to: &counts)
      case .double(let double):
        special += double
      default: continue
      }
    }
    return special == 0 ? rounded(counts) : special
  }

  private static func add(_ bits: UInt64, exponent: Int, _ sign: Int, to counts: inout [Int]) {
    for bit in 0..<64 where bits >> UInt64(bit) & 1 == 1 { counts[bit + exponent - lowest] += sign }
  }

  private static func rounded(_ counts: [Int]) -> Double {
    let (bits, carry) = binary(counts)
    if carry < 0 { return -rounded(counts.map { -$0 }) }
    guard let top = bits.lastIndex(of: 1) else { return 0 }
    let bottom = max(0, top - 52)
    var significand = bits[bottom...top].reversed().reduce(0) { 2 * $0 + $1 }
    if bottom > 0, bits[bottom - 1] == 1 {
      let isHalf = !bits[..<(bottom - 1)].contains(1)
      if !isHalf || significand % 2 == 1 { significand += 1 }
    }
    var result = Double(significand)
    // The result is scaled up first, so that scaling down loses no bits.
    for _ in 0..<max(0, bottom + lowest) { result *= 2 }
    for _ in 0..<max(0, -(bottom + lowest)) { result /= 2 }
    return result
  }

  /// Returns the binary digits of the sum, and the carry beyond the digits, which is negative if the sum is
  /// negative.
  private static func binary(_ counts: [Int]) -> (bits: [Int], carry: Int) {
    var carry = 0
    let bits = counts.map { count in
      let sum = count + carry
      let bit = sum & 1
      carry = (sum - bit) / 2
      return bit
    }
    return (bits, carry)
  }
}
