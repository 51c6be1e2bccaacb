// The names of a store's files. A name is our own word or number, never text of a user.

enum StoreFile {
  static let manifest = "MANIFEST"
  static let newManifest = "MANIFEST.new"
  static let lock = "LOCK"
  /// A log to be: at its full size, without a header.
  static let spare = "SPARE"
  private static let logPrefix = "log-"
  private static let logDigits = 10

  static func log(_ number: LogNumber) -> String {
    let digits = String(number.value)
    return logPrefix + String(repeating: "0", count: max(0, logDigits - digits.count)) + digits
  }

  /// The number of a log's name, or nil for any other name.
  static func logNumber(of name: String) -> LogNumber? {
    guard name.hasPrefix(logPrefix), let value = UInt64(name.dropFirst(logPrefix.count)),
      name == log(LogNumber(value))
    else { return nil }
    return LogNumber(value)
  }
}
