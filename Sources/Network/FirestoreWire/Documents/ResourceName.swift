// Names of documents in messages.
//
//   name := "projects/" project "/databases/" database "/documents/" path
//   path := collection "/" document ("/" collection "/" document)*

import DocumentStore

/// The full name of a document or of a collection's parent, split into its parts. Names are compared by their
/// UTF-8 bytes.
package struct ResourceName: Hashable, Sendable {
  package var projectID: String
  package var databaseID: String
  /// The ids below "documents". Empty for the root of all collections.
  package var segments: [String]

  /// The kind of name that an error message speaks of.
  package enum Kind: String, Sendable {
    case document = "Document name"
    case parent = "Document parent name"
    case reference = "Resource name"
    case database = "Database name"
  }

  /// Parses a name. Throws INVALID_ARGUMENT, with the place of the error, unless it is a name of this kind.
  package init(_ name: String, as kind: Kind) throws(WireError) {
    var reader = NameReader(name, kind)
    try reader.checkTrailingSlash()
    try reader.literal("projects")
    projectID = try reader.id("project")
    try reader.slash()
    try reader.literal("databases")
    databaseID = try reader.id("database")
    segments = []
    if kind == .database {
      guard reader.isAtEnd else { throw reader.error("has more than a database.") }
      return
    }
    try reader.slash()
    try reader.finalLiteral("documents")
    if reader.isAtEnd {
      guard kind != .parent else { return }
      throw reader.error(
        "is invalid: Omit \"/documents\" when referencing a database (except as the parent of a document).")
    }
    repeat {
      try reader.slash()
      segments.append(try reader.checkedID("collection"))
      try reader.slash()
      segments.append(try reader.checkedID("resource"))
      guard segments.count <= PathError.segmentsMax else { throw Self.tooLong }
    } while !reader.isAtEnd
    do throws(PathError) { try DocumentPath(unchecked: segments).check() } catch {
      throw Self.error(error, segments)
    }
  }

  package init(projectID: String, databaseID: String, segments: [String]) {
    self.projectID = projectID
    self.databaseID = databaseID
    self.segments = segments
  }

  init(_ reference: StoredReference) {
    self.init(
      projectID: reference.projectID, databaseID: reference.databaseID, segments: reference.path.segments)
  }

  /// The full name, also of the root of all collections.
  package var text: String {
    (["projects", projectID, "databases", databaseID, "documents"] + segments).joined(separator: "/")
  }

  package static func == (left: Self, right: Self) -> Bool { left.ids.areSameUTF8(as: right.ids) }

  package func hash(into hasher: inout Hasher) { ids.hashUTF8(into: &hasher) }

  private var ids: [String] { [projectID, databaseID] + segments }

  private static let tooLong = WireError(
    "Key path is too long. Cannot exceed \(PathError.segmentsMax / 2) elements.")

  private static func error(_ error: PathError, _ segments: [String]) -> WireError {
    guard segments.allSatisfy({ $0.utf8.count <= PathError.nameBytesMax }) else {
      return WireError("The key path element name is longer than \(PathError.nameBytesMax) bytes.")
    }
    return WireError("A document name is not valid: \(error.reason).")
  }
}

/// Reads a name from left to right. Indexes in errors count bytes.
private struct NameReader {
  private let name: String
  private let kind: ResourceName.Kind
  private let bytes: [UInt8]
  private var index = 0

  init(_ name: String, _ kind: ResourceName.Kind) {
    self.name = name
    self.kind = kind
    bytes = [UInt8](name.utf8)
  }

  var isAtEnd: Bool { index == bytes.count }

  func error(_ reason: String) -> WireError {
    WireError("\(kind.rawValue) \"\(shortened(name))\" \(reason)")
  }

  func checkTrailingSlash() throws(WireError) {
    guard bytes.count > 1, bytes.last == UInt8(ascii: "/") else { return }
    throw error("has invalid trailing \"/\".")
  }

  mutating func slash() throws(WireError) {
    guard index < bytes.count, bytes[index] == UInt8(ascii: "/") else {
      throw error("lacks \"/\" at index \(index).")
    }
    index += 1
  }

  /// Reads a fixed part and the slash after it.
  mutating func literal(_ text: String) throws(WireError) {
    try finalLiteral(text)
    try slash()
  }

  mutating func finalLiteral(_ text: String) throws(WireError) {
    let start = index
    guard segment().elementsEqual(text.utf8) else { throw error("lacks \"\(text)\" at index \(start).") }
  }

  /// Reads an id, which is not empty.
  mutating func id(_ what: String) throws(WireError) -> String {
    let start = index
    let id = segment()
    guard !id.isEmpty else { throw error("lacks a \(what) id at index \(start).") }
    return String(decoding: id, as: UTF8.self)
  }

  /// Reads an id of a collection or a document.
  mutating func checkedID(_ what: String) throws(WireError) -> String {
    let start = index
    let id = try id(what)
    guard id != ".", id != ".." else { throw error("contains a \(what) id \"\(id)\" at index \(start).") }
    guard !isReserved(id) else {
      let subject = what == "collection" ? "Collection" : "Resource"
      throw WireError("\(subject) id \"\(shortened(id))\" is invalid because it is reserved.")
    }
    return id
  }

  private func isReserved(_ id: String) -> Bool {
    guard id.utf8.count <= PathError.nameBytesMax, id.utf8.starts(with: "__".utf8) else { return false }
    return (try? DocumentPath([id, "a"])) == nil
  }

  private mutating func segment() -> ArraySlice<UInt8> {
    let segment = bytes[index...].prefix { $0 != UInt8(ascii: "/") }
    index = segment.endIndex
    return segment
  }
}

extension ResourceName {
  /// The ranges of project, database and path in a name of the usual form; nil for other names, which may be
  /// valid, too. The ids are not checked.
  static func parts(
    of name: RawSpan
  ) -> (project: Range<Int>, database: Range<Int>, path: Range<Int>)? {
    guard name.has("projects/", at: 0), let project = name.slash(from: 9),
      name.has("/databases/", at: project), let database = name.slash(from: project + 11),
      name.has("/documents/", at: database), project > 9, database > project + 11
    else { return nil }
    return (9..<project, project + 11..<database, database + 11..<name.byteCount)
  }
}

extension RawSpan {
  /// The offset of the next slash.
  fileprivate func slash(from start: Int) -> Int? {
    var offset = start
    while offset < byteCount {
      if byte(offset) == UInt8(ascii: "/") { return offset }
      offset += 1
    }
    return nil
  }
}
