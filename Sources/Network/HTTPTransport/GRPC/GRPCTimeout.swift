// The time that a client gives a call.
//
//   timeout := digit{1,8} unit          unit := "H" | "M" | "S" | "m" | "u" | "n"

/// The field `grpc-timeout`.
package enum GRPCTimeout {
  private static let digitsMax = 8

  /// The nanoseconds of a timeout; nil if it is malformed. A number of hours that does not fit is `Int64.max`
  /// nanoseconds, which is 292 years.
  package static func nanoseconds(_ text: some BidirectionalCollection<UInt8>) -> UInt64? {
    guard let unit = text.last.flatMap(nanoseconds(ofUnit:)), (2...digitsMax + 1).contains(text.count) else {
      return nil
    }
    var value: UInt64 = 0
    for digit in text.dropLast() {
      guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
      value = value * 10 + UInt64(digit - UInt8(ascii: "0"))
    }
    let (product, overflows) = value.multipliedReportingOverflow(by: unit)
    return overflows ? UInt64(Int64.max) : min(product, UInt64(Int64.max))
  }

  private static func nanoseconds(ofUnit unit: UInt8) -> UInt64? {
    switch unit {
    case UInt8(ascii: "H"): 3_600_000_000_000
    case UInt8(ascii: "M"): 60_000_000_000
    case UInt8(ascii: "S"): 1_000_000_000
    case UInt8(ascii: "m"): 1_000_000
    case UInt8(ascii: "u"): 1000
    case UInt8(ascii: "n"): 1
    default: nil
    }
  }
}
