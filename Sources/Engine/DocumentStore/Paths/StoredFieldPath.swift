// Field paths: names from a document's outermost map inward, and their text form.
//
//   path   := name ("." name)*
//   name   := bare | quoted
//   bare   := [a-zA-Z_] [a-zA-Z0-9_]*
//   quoted := "`" (any byte but "`" and "\", or "\`", or "\\")+ "`"
//
// Every path has one canonical text form, in which a name is quoted only if necessary. Callers may also write
// paths as dotted text without quotes, in which a dot always separates names.

/// The path of a field, such as `address.city`. Paths are compared by the UTF-8 bytes of their names. A path
/// sorts before the paths below it.
public struct StoredFieldPath: Hashable, Comparable, Sendable {
  /// The maximum size in bytes of a name, and of a whole path with dots between its names.
  public static let bytesMax = 1500

  /// The names from the top-level field inward. There is at least one name, and no name is empty.
  public let names: [String]

  /// Represents a document's name in filters and orders. No field can have this path.
  public static let documentID = StoredFieldPath(unchecked: ["__name__"])

  /// Creates a path from literal names; dots have no special meaning.
  public init(_ names: [String]) throws(FieldPathError) {
    guard !names.isEmpty else { throw .noNames }
    if let index = names.firstIndex(where: \.isEmpty) { throw .emptyName(index: index) }
    self.names = names
  }

  /// Creates a path from dotted text, the form in which callers write paths.
  public init(dotted text: String) throws(FieldPathError) {
    guard !text.utf8.contains(where: Self.isForbiddenInDotted) else { throw .forbiddenCharacter(text) }
    let names = text.utf8.split(separator: Self.dot, omittingEmptySubsequences: false)
    guard !names.contains(where: \.isEmpty) else { throw .misplacedDot(text) }
    self.names = names.map { String(Substring($0)) }
  }

  /// Parses the text form that `canonical` returns, and no other.
  public init(canonical text: String) throws(FieldPathError) {
    var reader = CanonicalReader(text)
    names = try reader.names()
  }

  /// Creates a path from names that were checked, or that will be checked when they are written.
  package init(unchecked names: [String]) {
    precondition(!names.isEmpty, "a field path has at least one name")
    self.names = names
  }

  /// The text form, with backticks around names that need them.
  public var canonical: String { Self.canonical(names) }

  /// The text form of names that may not form a valid path, for error messages.
  package static func canonical(_ names: [String]) -> String {
    names.map(canonical).joined(separator: ".")
  }

  /// The size of the path in bytes, with dots between its names and without quotes.
  var byteCount: Int { names.reduce(names.count - 1) { $0 + $1.utf8.count } }

  /// Whether `other` is this path or below it.
  public func isPrefix(of other: StoredFieldPath) -> Bool {
    names.count <= other.names.count
      && zip(names, other.names).allSatisfy { $0.isSameUTF8(as: $1) }
  }

  public static func == (left: Self, right: Self) -> Bool { left.names.areSameUTF8(as: right.names) }

  public func hash(into hasher: inout Hasher) { names.hashUTF8(into: &hasher) }

  public static func < (left: Self, right: Self) -> Bool {
    for (left, right) in zip(left.names, right.names) {
      let order = left.comparedInUTF8(to: right)
      if order != 0 { return order < 0 }
    }
    return left.names.count < right.names.count
  }

  // MARK: Text

  fileprivate static let dot = UInt8(ascii: ".")
  fileprivate static let backtick = UInt8(ascii: "`")
  fileprivate static let backslash = UInt8(ascii: "\\")

  private static func isForbiddenInDotted(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "~"), UInt8(ascii: "*"), UInt8(ascii: "/"), UInt8(ascii: "["), UInt8(ascii: "]"):
      true
    default: false
    }
  }

  private static func canonical(_ name: String) -> String {
    if let first = name.utf8.first, startsBareName(first), name.utf8.allSatisfy(continuesBareName) {
      return name
    }
    var quoted = [backtick]
    for byte in name.utf8 {
      if byte == backtick || byte == backslash { quoted.append(backslash) }
      quoted.append(byte)
    }
    quoted.append(backtick)
    return String(decoding: quoted, as: UTF8.self)
  }

  fileprivate static func startsBareName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  fileprivate static func continuesBareName(_ byte: UInt8) -> Bool {
    startsBareName(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}

extension StoredFieldPath: CustomStringConvertible {
  public var description: String { canonical }
}

/// The reasons why names or text are not a valid field path.
public enum FieldPathError: Error, Hashable, Sendable {
  /// There are no names.
  case noNames
  /// The name at this index is empty.
  case emptyName(index: Int)
  /// Dotted text contains a forbidden character.
  case forbiddenCharacter(String)
  /// A dot is at either end or next to another dot, or the text is empty.
  case misplacedDot(String)
  /// The text is not in canonical form.
  case notCanonical(String)
}

extension FieldPathError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .noNames: "Invalid field path. Provided names must not be empty."
    case .emptyName(let index):
      "Invalid field name at index \(index). Field names must not be empty."
    case .forbiddenCharacter(let text):
      "Invalid field path (\(text)). Paths must not contain '~', '*', '/', '[', or ']'"
    case .misplacedDot(let text):
      "Invalid field path (\(text)). Paths must not be empty, begin with '.', end with '.', or "
        + "contain '..'"
    case .notCanonical(let text):
      "Invalid field path (\(text)). Names that are not identifiers must be in backticks, with "
        + "'\\' before each '`' and '\\' in them"
    }
  }
}

/// Parses the grammar above byte by byte.
private struct CanonicalReader {
  private let text: String
  private var rest: Substring.UTF8View.SubSequence

  init(_ text: String) {
    self.text = text
    rest = text[...].utf8
  }

  mutating func names() throws(FieldPathError) -> [String] {
    var names: [String] = []
    repeat {
      guard let first = rest.first, first != StoredFieldPath.dot else { throw .misplacedDot(text) }
      names.append(first == StoredFieldPath.backtick ? try quotedName() : try bareName(first))
    } while try passDot()
    return names
  }

  /// Skips a dot. Returns false at the end of the text.
  private mutating func passDot() throws(FieldPathError) -> Bool {
    guard let next = rest.popFirst() else { return false }
    guard next == StoredFieldPath.dot else { throw .notCanonical(text) }
    return true
  }

  private mutating func bareName(_ first: UInt8) throws(FieldPathError) -> String {
    guard StoredFieldPath.startsBareName(first) else { throw .notCanonical(text) }
    let name = rest.prefix(while: StoredFieldPath.continuesBareName)
    rest = rest[name.endIndex...]
    return String(Substring(name))
  }

  private mutating func quotedName() throws(FieldPathError) -> String {
    rest.removeFirst()
    var name: [UInt8] = []
    while let byte = rest.popFirst() {
      switch byte {
      case StoredFieldPath.backtick:
        guard !name.isEmpty else { throw .notCanonical(text) }
        return String(decoding: name, as: UTF8.self)
      case StoredFieldPath.backslash:
        guard let escaped = rest.popFirst(), Self.isEscaped(escaped) else { throw .notCanonical(text) }
        name.append(escaped)
      default:
        name.append(byte)
      }
    }
    throw .notCanonical(text)
  }

  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte == StoredFieldPath.backtick || byte == StoredFieldPath.backslash
  }
}
