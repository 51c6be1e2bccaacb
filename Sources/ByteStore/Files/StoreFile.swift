// The names of a store's files. A name is our own word or number, never text of a user.

/// What a file of a store is; stands in every header.
enum FileKind: UInt8 {
  case manifest = 1
  case log = 2
  case segment = 3
  case checkpoint = 4
}

enum StoreFile {
  static let manifest = "MANIFEST"
  static let newManifest = "MANIFEST.new"
  static let lock = "LOCK"
  /// A log to be: at its full size, without a header.
  static let spare = "SPARE"
  private static let logPrefix = "log-"
  private static let segmentPrefix = "segment-"
  private static let checkpointPrefix = "checkpoint-"
  private static let digitsMin = 10

  static func log(_ number: LogNumber) -> String { name(logPrefix, number.value) }
  static func segment(_ number: FileNumber) -> String { name(segmentPrefix, number.value) }
  static func checkpoint(_ number: FileNumber) -> String { name(checkpointPrefix, number.value) }

  /// The number of a log's name, or nil for any other name.
  static func logNumber(of name: String) -> LogNumber? {
    number(of: name, logPrefix).map { LogNumber($0) }
  }

  static func isCheckpoint(_ name: String) -> Bool { number(of: name, checkpointPrefix) != nil }

  static func isSegmentOrCheckpoint(_ name: String) -> Bool {
    number(of: name, segmentPrefix) != nil || isCheckpoint(name)
  }

  private static func name(_ prefix: String, _ number: UInt64) -> String {
    let digits = String(number)
    return prefix + String(repeating: "0", count: max(0, digitsMin - digits.count)) + digits
  }

  private static func number(of name: String, _ prefix: String) -> UInt64? {
    guard name.hasPrefix(prefix), let value = UInt64(name.dropFirst(prefix.count)),
      name == Self.name(prefix, value)
    else { return nil }
    return value
  }
}
