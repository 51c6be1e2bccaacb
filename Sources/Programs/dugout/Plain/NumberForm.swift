// Recognizes numbers in text. A text counts as a number only if the number keeps all that the text says.
//
//   integer := "-"? digits                    no leading zero, so phone numbers and postal codes stay text
//   double  := "-"? digits? "." digits exponent? | "-"? digits exponent
//   exponent := ("e" | "E") ("+" | "-")? digits

enum NumberForm {
  /// An integer that a double represents exactly.
  case integer
  /// An integer of 64 bits that a double would round.
  case largeInteger
  case double

  /// The largest integer below which a double represents every integer.
  static let exactMax = Double(1 << 53)
  /// A number with so many digits, or with an exponent, may be too large for a double.
  private static let digitsMax = 300
  /// A double has so many significant digits at most, as other programs print it.
  private static let significantMax = 17

  init?(_ text: String) {
    guard let form = Self.form(of: text.utf8) else { return nil }
    self = form
  }

  /// Returns nil if the bytes are not a number, or one that does not fit into 64 bits.
  static func form(of bytes: some Collection<UInt8>) -> NumberForm? {
    var rest = bytes[...]
    let isNegative = skip(UInt8(ascii: "-"), &rest)
    let whole = digits(&rest)
    if rest.isEmpty { return whole.isEmpty ? nil : integer(whole, isNegative: isNegative) }
    if whole.count > 1, whole.first == UInt8(ascii: "0") { return nil }
    var (hasFraction, fractionCount) = (false, 0)
    var significant = SignificantDigits()
    significant.add(whole)
    if skip(UInt8(ascii: "."), &rest) {
      let fraction = digits(&rest)
      guard !fraction.isEmpty else { return nil }
      significant.add(fraction)
      (hasFraction, fractionCount) = (true, fraction.count)
    }
    guard hasFraction || !whole.isEmpty else { return nil }
    var hasExponent = false
    if skip(UInt8(ascii: "e"), &rest) || skip(UInt8(ascii: "E"), &rest) {
      if !skip(UInt8(ascii: "+"), &rest) { _ = skip(UInt8(ascii: "-"), &rest) }
      guard !digits(&rest).isEmpty else { return nil }
      hasExponent = true
    }
    guard rest.isEmpty else { return nil }
    guard significant.count <= significantMax else { return nil }
    guard hasExponent || whole.count > digitsMax || fractionCount > digitsMax else { return .double }
    guard let number = Double(String(decoding: bytes, as: UTF8.self)), number.isFinite else { return nil }
    return number == 0 && significant.count > 0 ? nil : .double
  }

  /// The number of digits without zeros at the beginning and at the end.
  private struct SignificantDigits {
    private(set) var count = 0
    private var zeros = 0

    mutating func add(_ digits: some Collection<UInt8>) {
      for digit in digits {
        if digit == UInt8(ascii: "0") {
          zeros += count > 0 ? 1 : 0
        } else {
          count += zeros + 1
          zeros = 0
        }
      }
    }
  }

  private static func integer(_ digits: some Collection<UInt8>, isNegative: Bool) -> NumberForm? {
    guard digits.first != UInt8(ascii: "0") else {
      guard digits.count == 1 else { return nil }
      // A double keeps the sign of zero.
      return isNegative ? .double : .integer
    }
    guard digits.count > 15 else { return .integer }
    guard digits.count < 20,
      let number = Int64((isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self))
    else { return nil }
    return number.magnitude <= 1 << 53 ? .integer : .largeInteger
  }

  private static func skip<Bytes: Collection>(_ byte: UInt8, _ rest: inout Bytes) -> Bool
  where Bytes.Element == UInt8, Bytes.SubSequence == Bytes {
    guard rest.first == byte else { return false }
    rest.removeFirst()
    return true
  }

  private static func digits<Bytes: Collection>(_ rest: inout Bytes) -> Bytes
  where Bytes.Element == UInt8, Bytes.SubSequence == Bytes {
    let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    rest = rest[digits.endIndex...]
    return digits
  }
}
