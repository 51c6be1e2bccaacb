// The fields that an export has, chosen with `--fields`. Each is a column, or a part of a JSON object.

import DocumentStore

enum ExportedFields {
  /// Returns nil if the option is absent, which means all fields.
  static func fields(_ arguments: Arguments) throws -> [StoredFieldPath]? {
    guard let fields = try FieldList(arguments)?.paths else { return nil }
    guard !fields.contains(.documentID) else {
      throw CommandFailure(
        code: .usage, message: "An export has the name of each document anyway: leave out __name__.")
    }
    for (place, field) in fields.enumerated() {
      guard !fields[..<place].contains(where: { $0.isPrefix(of: field) || field.isPrefix(of: $0) }) else {
        throw CommandFailure(
          code: .usage,
          message: "\(FieldList.option) names the field \(field), and a map around it or a field inside it.")
      }
    }
    return fields
  }
}
