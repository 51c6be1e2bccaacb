// The names of a store's files. They consist of fixed words and numbers, never of a user's text.

/// The kind of a store's file; part of every header.
package enum FileKind: UInt8 {
  case manifest = 1
  case log = 2
  case segment = 3
  case checkpoint = 4
}

package enum StoreFile {
  package static let manifest = "MANIFEST"
  package static let newManifest = "MANIFEST.new"
  package static let lock = "LOCK"
  /// The lock file of the readers. A writer creates it.
  package static let readers = "READERS"
  /// A recycled log file: full size, no header.
  package static let recycledLog = "SPARE"
  /// A file that reserves space. It is deleted when the disk is full.
  package static let reserve = "RESERVE"
  /// The prefix of a file that salvage put into quarantine, followed by a number and the original name.
  private static let quarantinePrefix = "set-aside-"
  /// The prefix of a file of an unfinished salvage, followed by the final name.
  private static let salvagedPrefix = "salvaged-"
  /// The marker file of a backup that is not complete yet.
  package static let backupMark = "BACKUP"
  private static let logPrefix = "log-"
  private static let segmentPrefix = "segment-"
  private static let checkpointPrefix = "checkpoint-"
  private static let digitsMin = 10
  private static let quarantineDigitsMin = 4

  package static func log(_ number: LogNumber) -> String { name(logPrefix, number.value) }
  package static func segment(_ number: FileNumber) -> String { name(segmentPrefix, number.value) }
  package static func checkpoint(_ number: FileNumber) -> String { name(checkpointPrefix, number.value) }

  /// The number in a log's name; nil for any other name.
  package static func logNumber(of name: String) -> LogNumber? {
    number(of: name, logPrefix).map { LogNumber($0) }
  }

  package static func segmentNumber(of name: String) -> FileNumber? {
    number(of: name, segmentPrefix).map { FileNumber($0) }
  }

  package static func checkpointNumber(of name: String) -> FileNumber? {
    number(of: name, checkpointPrefix).map { FileNumber($0) }
  }

  package static func isCheckpoint(_ name: String) -> Bool { checkpointNumber(of: name) != nil }

  package static func isSegmentOrCheckpoint(_ name: String) -> Bool {
    segmentNumber(of: name) != nil || isCheckpoint(name)
  }

  /// Whether the store uses the name for its own files, or ever used it.
  package static func isStoreName(_ name: String) -> Bool {
    [manifest, newManifest, lock, readers, recycledLog, reserve, backupMark].contains(name)
      || logNumber(of: name) != nil || isSegmentOrCheckpoint(name) || isSalvaged(name)
  }

  // MARK: Salvage

  package static func quarantined(_ name: String, _ number: UInt64) -> String {
    "\(quarantinePrefix)\(digits(number, quarantineDigitsMin))-\(name)"
  }

  /// The number of the salvage and the file's original name; nil for a name without the quarantine prefix.
  package static func quarantineParts(of name: String) -> (number: UInt64, original: String)? {
    guard name.hasPrefix(quarantinePrefix) else { return nil }
    let rest = name.dropFirst(quarantinePrefix.count)
    guard let dash = rest.firstIndex(of: "-"), let number = UInt64(rest[..<dash]) else { return nil }
    let original = String(rest[rest.index(after: dash)...])
    return quarantined(original, number) == name ? (number, original) : nil
  }

  package static func salvaged(_ name: String) -> String { salvagedPrefix + name }

  package static func isSalvaged(_ name: String) -> Bool { name.hasPrefix(salvagedPrefix) }

  // MARK: Numbers

  private static func name(_ prefix: String, _ number: UInt64) -> String {
    prefix + digits(number, digitsMin)
  }

  private static func digits(_ number: UInt64, _ least: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, least - digits.count)) + digits
  }

  private static func number(of name: String, _ prefix: String) -> UInt64? {
    guard name.hasPrefix(prefix), let value = UInt64(name.dropFirst(prefix.count)),
      name == Self.name(prefix, value)
    else { return nil }
    return value
  }
}
