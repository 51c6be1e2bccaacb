// Names of plain fields: headers of columns, and fields in options.
//
//   name := quoted ("." quoted)*       names in backticks, as in queries
//         | part ("." part)+           a field inside a map, such as address.city
//         | text                       any other text is one name, such as "No." or "First name"
//
// A part is not empty, and does not begin or end with a blank.

import DocumentStore

enum FieldName {
  /// Returns the names from the top-level field inward.
  static func path(of text: String) -> [String] {
    if text.utf8.contains(UInt8(ascii: "`")), let path = try? StoredFieldPath(canonical: text) {
      return path.names
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let areNames = parts.allSatisfy { part in
      !part.isEmpty && part.first?.isWhitespace == false && part.last?.isWhitespace == false
    }
    return areNames ? parts.map(String.init) : [text]
  }

  /// Returns the text that `path(of:)` reads as these names.
  static func text(of path: [String]) -> String {
    let plain = path.joined(separator: ".")
    let read = Self.path(of: plain)
    guard !read.areSameUTF8(as: path) else { return plain }
    return path.map(quoted).joined(separator: ".")
  }

  private static func quoted(_ name: String) -> String {
    "`" + name.replacing("\\", with: "\\\\").replacing("`", with: "\\`") + "`"
  }
}
