// The names of a database and of its documents.

package import DocumentStore
package import OfflineSync

/// A database on the wire: `projects/P/databases/D`. Names are compared by their UTF-8 bytes.
package struct DatabaseName: Hashable, Sendable {
  package var projectID: String
  package var databaseID: String

  package init(projectID: String, databaseID: String) {
    self.projectID = projectID
    self.databaseID = databaseID
  }

  /// Parses the name of a database. Throws INVALID_ARGUMENT for any other name.
  package init(_ name: String) throws(RemoteError) {
    let parsed = try Self.parsed(name, as: .database)
    self.init(projectID: parsed.projectID, databaseID: parsed.databaseID)
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.projectID.isSameUTF8(as: right.projectID) && left.databaseID.isSameUTF8(as: right.databaseID)
  }

  package func hash(into hasher: inout Hasher) { [projectID, databaseID].hashUTF8(into: &hasher) }

  package var text: String { "projects/\(projectID)/databases/\(databaseID)" }

  /// The prefix of the names of all documents, without the slash at the end. Also the parent of the root
  /// collections.
  package var documentsName: String { "\(text)/documents" }

  // MARK: Documents

  /// The full name of a document.
  package func name(of path: DocumentPath) -> String {
    let ids = [projectID, databaseID]
    var name = ""
    // Long enough for the fixed parts, and for the segments with their slashes.
    name.reserveCapacity((ids + path.segments).reduce(32) { $0 + $1.utf8.count + 1 })
    name += "projects/"
    name += projectID
    name += "/databases/"
    name += databaseID
    name += "/documents"
    for segment in path.segments {
      name += "/"
      name += segment
    }
    return name
  }

  /// The path of a document of this database. Throws INVALID_ARGUMENT if the name is not valid, or is one of
  /// another database.
  package func path(of name: String) throws(RemoteError) -> DocumentPath {
    let parsed = try Self.parsed(name, as: .document)
    try check(parsed)
    return DocumentPath(unchecked: parsed.segments)
  }

  /// The full name of the parent of collections: a document, or nil for the root.
  package func name(ofParent parent: DocumentPath?) -> String { parent.map(name) ?? documentsName }

  /// The document that a name of a parent stands for; nil for the root.
  package func parent(of name: String) throws(RemoteError) -> DocumentPath? {
    let parsed = try Self.parsed(name, as: .parent)
    try check(parsed)
    return parsed.segments.isEmpty ? nil : DocumentPath(unchecked: parsed.segments)
  }

  /// The database that a name of a document or of a parent begins with.
  package static func database(of name: String) throws(RemoteError) -> DatabaseName {
    let parsed = try parsed(name, as: .parent)
    return DatabaseName(projectID: parsed.projectID, databaseID: parsed.databaseID)
  }

  /// A name of a document as it stands in operands and cursors.
  func reference(to path: DocumentPath) -> StoredReference {
    StoredReference(projectID: projectID, databaseID: databaseID, path: path)
  }

  func contains(_ reference: StoredReference) -> Bool {
    DatabaseName(projectID: reference.projectID, databaseID: reference.databaseID) == self
  }

  // MARK: Errors

  func foreign(_ projectID: String, _ databaseID: String) -> RemoteError {
    let other = DatabaseName(projectID: projectID, databaseID: databaseID).text
    return RemoteError(
      .invalidArgument,
      "The request was for database '\(text)' but was attempting to access database '\(shortened(other))'")
  }

  private func check(_ name: ResourceName) throws(RemoteError) {
    guard DatabaseName(projectID: name.projectID, databaseID: name.databaseID) != self else { return }
    throw foreign(name.projectID, name.databaseID)
  }

  private static func parsed(_ name: String, as kind: ResourceName.Kind) throws(RemoteError) -> ResourceName {
    do throws(WireError) { return try ResourceName(name, as: kind) } catch { throw RemoteError(error) }
  }
}

extension RemoteError {
  /// An error for a request that breaks a rule.
  static func invalid(_ message: String) -> RemoteError { RemoteError(.invalidArgument, message) }
}
