// The parts of a decimal number.

/// A number as text: its value is `digits` × 10^`exponent`, with a sign.
struct DecimalText {
  private var isNegative = false
  /// The digits before and after the point, without the zeros in front.
  private var digits: [UInt8] = []
  private var exponent = 0

  /// Exponents beyond this are treated as this one. No integer needs them, and doubles are parsed elsewhere.
  private static let exponentMax = 1_000_000_000

  /// Nil unless the text is a number of JSON.
  init?(_ text: [UInt8]) {
    var rest = text[...]
    isNegative = Self.skips("-", in: &rest)
    let whole = Self.digits(in: &rest)
    guard let first = whole.first, first != 0 || whole.count == 1 else { return nil }
    digits = Array(whole.drop { $0 == 0 })
    if Self.skips(".", in: &rest) {
      let fraction = Self.digits(in: &rest)
      guard !fraction.isEmpty else { return nil }
      digits.append(contentsOf: digits.isEmpty ? fraction.drop { $0 == 0 } : fraction[...])
      exponent -= fraction.count
    }
    if Self.skips("e", in: &rest) || Self.skips("E", in: &rest) {
      let isBelowZero = Self.skips("-", in: &rest)
      if !isBelowZero { _ = Self.skips("+", in: &rest) }
      let power = Self.digits(in: &rest)
      guard !power.isEmpty else { return nil }
      let size = power.reduce(0) { min($0 * 10 + Int($1), Self.exponentMax) }
      exponent += isBelowZero ? -size : size
    }
    guard rest.isEmpty else { return nil }
  }

  /// The exact value, if it is an integer of 64 bits.
  var integer: Int64? {
    var digits = digits[...]
    var exponent = exponent
    while exponent < 0, digits.last == 0 {
      digits.removeLast()
      exponent += 1
    }
    guard !digits.isEmpty else { return 0 }
    // An integer of 64 bits has at most 19 digits.
    guard exponent >= 0, digits.count + exponent <= 19 else { return nil }
    digits += [UInt8](repeating: 0, count: exponent)
    var magnitude: UInt64 = 0
    for digit in digits { magnitude = magnitude * 10 + UInt64(digit) }
    if isNegative {
      return magnitude <= Int64.min.magnitude ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil
    }
    return Int64(exactly: magnitude)
  }

  private static func skips(_ byte: Unicode.Scalar, in rest: inout ArraySlice<UInt8>) -> Bool {
    guard rest.first == UInt8(ascii: byte) else { return false }
    rest.removeFirst()
    return true
  }

  /// Removes the digits at the beginning, and returns their values.
  private static func digits(in rest: inout ArraySlice<UInt8>) -> [UInt8] {
    let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    rest.removeFirst(digits.count)
    return digits.map { $0 - UInt8(ascii: "0") }
  }
}
