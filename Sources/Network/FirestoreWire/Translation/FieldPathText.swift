// Paths of fields as text, and masks.

package import DocumentStore
package import OfflineSync

/// Parses and prints paths of fields as they stand in messages.
enum FieldPathText {
  /// The maximum number of names in a path.
  private static let namesMax = 20

  static func text(_ path: StoredFieldPath) -> String { path.canonical }

  /// Parses a path. `__name__` stands for the name of the document.
  static func parse(_ text: String) throws(RemoteError) -> StoredFieldPath {
    guard !text.utf8.isEmpty else { throw .invalid("Invalid empty property path string.") }
    guard text.utf8.count <= StoredFieldPath.bytesMax else {
      throw .invalid("property path is longer than \(StoredFieldPath.bytesMax) bytes.")
    }
    let path: StoredFieldPath
    do throws(FieldPathError) { path = try StoredFieldPath(canonical: text) } catch { throw invalid(text) }
    guard path != .documentID else { return path }
    guard path.names.count <= namesMax else {
      throw .invalid("paths must have at most \(namesMax) elements")
    }
    for name in path.names where ReservedName.isReserved(name) {
      throw .invalid("Invalid reserved name in field path \(name)")
    }
    return path
  }

  static func parse(_ field: Wire.StructuredQuery.FieldReference?) throws(RemoteError) -> StoredFieldPath {
    try parse(field?.fieldPath ?? "")
  }

  /// Parses a path that stands for a field of the document, not for its name.
  static func parse(field text: String) throws(RemoteError) -> StoredFieldPath {
    let path = try parse(text)
    guard path != .documentID else { throw .invalid("Invalid reserved name in field path __name__") }
    return path
  }

  static func reference(_ path: StoredFieldPath) -> Wire.StructuredQuery.FieldReference {
    var reference = Wire.StructuredQuery.FieldReference()
    reference.fieldPath = text(path)
    return reference
  }

  private static func invalid(_ text: String) -> RemoteError {
    .invalid(
      "Invalid property path \"\(shortened(text))\". Unquoted property paths must match regex "
        + #"([a-zA-Z_][a-zA-Z_0-9]*), and quoted property paths must match regex (`(?:[^`\\]|(?:\\.))+`)"#)
  }
}

extension FieldMask {
  /// Parses a mask of fields. The name of the document is always included, so it may be listed.
  package init(_ mask: Wire.DocumentMask) throws(RemoteError) {
    var paths: [StoredFieldPath] = []
    for text in mask.fieldPaths {
      let path = try FieldPathText.parse(text)
      if path != .documentID { paths.append(path) }
    }
    self.init(paths)
  }

  /// The mask as a message.
  package var wire: Wire.DocumentMask {
    var mask = Wire.DocumentMask()
    mask.fieldPaths = paths.map(FieldPathText.text)
    return mask
  }
}
