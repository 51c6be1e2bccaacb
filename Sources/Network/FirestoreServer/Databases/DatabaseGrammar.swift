// Which names projects and databases can have.
//
//   project  := letter (letter | digit | "-"){4,28} (letter | digit)          6 to 30 characters
//   database := "(default)" | letter (letter | digit | "-"){2,61} (letter | digit)
//
// Letters are in lower case. A database is not named like a UUID. An emulator accepts every name of 1 to 63
// letters, digits and hyphens that does not begin with a hyphen, as Google's does.

internal import FirestoreWire
internal import OfflineSync

/// A database whose name follows the grammar, so that its parts are safe names of directories.
struct CheckedDatabase: Hashable, Sendable {
  let name: DatabaseName

  /// Throws INVALID_ARGUMENT unless the name follows the grammar.
  init(_ name: DatabaseName, isEmulator: Bool) throws(RemoteError) {
    if let problem = DatabaseGrammar.problem(name, isEmulator: isEmulator) {
      throw RemoteError(.invalidArgument, "The name of the database is not valid: \(problem).")
    }
    self.name = name
  }
}

enum DatabaseGrammar {
  static let standardDatabase = "(default)"
  private static let projectBytes = 6...30
  private static let databaseBytes = 4...63
  private static let emulatorBytes = 1...63
  private static let hyphen = UInt8(ascii: "-")

  /// The rule that a name breaks; nil if it follows the grammar.
  static func problem(_ name: DatabaseName, isEmulator: Bool) -> String? {
    let (project, database) = (Array(name.projectID.utf8), Array(name.databaseID.utf8))
    let isStandard = database.elementsEqual(standardDatabase.utf8)
    if isEmulator {
      guard isEmulatorID(project) else {
        return "the id of a project has 1 to 63 lower-case letters, digits and hyphens"
      }
      return isStandard || isEmulatorID(database)
        ? nil : "the id of a database is (default), or has 1 to 63 lower-case letters, digits and hyphens"
    }
    guard isID(project, projectBytes) else {
      return "the id of a project has 6 to 30 lower-case letters, digits and hyphens, begins with a letter, "
        + "and does not end with a hyphen"
    }
    guard isStandard || (isID(database, databaseBytes) && !isUUID(database)) else {
      return "the id of a database is (default), or has 4 to 63 lower-case letters, digits and hyphens, "
        + "begins with a letter, does not end with a hyphen, and is not a UUID"
    }
    return nil
  }

  private static func isID(_ id: [UInt8], _ size: ClosedRange<Int>) -> Bool {
    size.contains(id.count) && isLetter(id[0]) && id.last != hyphen && id.allSatisfy(isPart)
  }

  static func isEmulatorID(_ id: String) -> Bool { isEmulatorID(Array(id.utf8)) }

  private static func isEmulatorID(_ id: [UInt8]) -> Bool {
    emulatorBytes.contains(id.count) && id[0] != hyphen && id.allSatisfy(isPart)
  }

  private static func isUUID(_ id: [UInt8]) -> Bool {
    let groups = id.split(separator: hyphen, omittingEmptySubsequences: false)
    return groups.map(\.count) == [8, 4, 4, 4, 12]
      && groups.joined().allSatisfy { Unicode.Scalar($0).properties.isASCIIHexDigit }
  }

  private static func isPart(_ byte: UInt8) -> Bool {
    isLetter(byte) || byte == hyphen || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"))
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
  }
}
