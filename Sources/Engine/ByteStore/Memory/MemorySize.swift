// Memory sizes as text, as in the settings of containers and services.

package enum MemorySize {
  /// The powers of 1000 have the suffix B, and the powers of 1024 have the suffix iB or no suffix.
  private static let unitBytes: [Substring: UInt64] = [
    "": 1, "k": 1 << 10, "K": 1 << 10, "m": 1 << 20, "M": 1 << 20, "g": 1 << 30, "G": 1 << 30,
    "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000,
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
  ]

  private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

  /// Parses a number of bytes such as `268435456`, `256MiB`, `1.5 GiB` or `512m`. A fraction needs a unit,
  /// and the result is rounded down to a whole byte. Returns nil if the text is anything else, or if the
  /// number does not fit into `Int`.
  package static func parse(_ text: String) -> Int? {
    var rest = text.utf8[...]
    func takeDigits() -> Substring.UTF8View {
      let taken = rest.prefix { digits.contains($0) }
      rest = rest.dropFirst(taken.count)
      return taken
    }
    let whole = takeDigits()
    var fraction: Substring.UTF8View?
    if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
      fraction = takeDigits()
    }
    let hasBlank = rest.first == UInt8(ascii: " ")
    if hasBlank { rest.removeFirst() }
    guard let unit = unitBytes[Substring(rest)], let count = UInt64(Substring(whole)),
      fraction?.isEmpty != true, !rest.isEmpty || (!hasBlank && fraction == nil)
    else { return nil }
    // Each step divides by ten and rounds down, which gives the same result as one division at the end.
    let part = (fraction ?? "".utf8[...]).reversed().reduce(0) {
      (UInt64($1 - digits.lowerBound) * unit + $0) / 10
    }
    let (product, hasOverflown) = count.multipliedReportingOverflow(by: unit)
    let (sum, isTooLarge) = product.addingReportingOverflow(part)
    return hasOverflown || isTooLarge ? nil : Int(exactly: sum)
  }

  /// Formats a size in the largest unit in which it is at least 1, such as `192 MiB`, with one decimal if it
  /// is not a whole number.
  package static func text(_ bytes: Int) -> String {
    let sign = bytes < 0 ? "-" : ""
    let size = UInt64(bytes.magnitude)
    guard size >= 1024 else { return "\(sign)\(size) \(size == 1 ? "byte" : "bytes")" }
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    var index = (size.bitWidth - 1 - size.leadingZeroBitCount) / 10 - 1
    let unit = 1 << (10 * UInt64(index + 1)) as UInt64
    // The number of tenths fits: `size / unit` is below 1024, and the rest is below 2^60.
    var tenths = size / unit * 10 + (size % unit * 10 + unit / 2) / unit
    if tenths == 10 * 1024, index + 1 < units.count { (tenths, index) = (10, index + 1) }
    let decimal = tenths % 10 == 0 ? "" : ".\(tenths % 10)"
    return "\(sign)\(tenths / 10)\(decimal) \(units[index])"
  }
}
