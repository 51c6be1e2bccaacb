// Errors for data that cannot be stored in any document. The messages are those of Firebase's SDK.

import DocumentStore

/// An error for data that cannot be stored in any document. The caller reports it as a misuse of the API.
package struct UserDataError: Error, Hashable, Sendable {
  package enum Reason: Hashable, Sendable {
    case unsupportedType(String)
    /// An integer above `Int64.max`, or below `Int64.min`.
    case numberTooLarge(String)
    /// A date that a timestamp cannot hold. The associated value is the error message of the timestamp.
    case dateOutOfRange(String)
    case nestedArray
    /// A value that is nested too deeply to be traversed.
    case nestedTooDeeply
    /// A sentinel in an array, such as `FieldValue.delete()`.
    case sentinelInArray(String)
    /// A sentinel in a value that is not written, such as the operand of a filter.
    case sentinelOutsideWrite(String)
    /// A deletion sentinel in a write that replaces the whole document.
    case deletionWithoutMerge
    /// A deletion sentinel nested in a value of an update. Only the value itself may be a deletion sentinel.
    case deletionInsideUpdate
    case emptyFieldName
    case reservedFieldName
    /// A reference to a document of another database. `found` and `expected` have the form
    /// `project/database`.
    case foreignReference(found: String, expected: String)
  }

  package let reason: Reason
  /// The path of the field, starting in the outermost map. Nil if the value is inside an array or not in a
  /// document.
  package let field: [String]?

  init(_ reason: Reason, field: [String]? = nil) {
    self.reason = reason
    self.field = field
  }

  /// Returns this error with `name` in front of the field's path.
  func inside(_ name: String) -> UserDataError {
    UserDataError(reason, field: field.map { [name] + $0 })
  }

  /// Returns this error without a path, because the value is inside an array.
  func insideArray() -> UserDataError { UserDataError(reason) }

  /// The original's message.
  package var message: String {
    switch reason {
    case .unsupportedType(let type): "Unsupported type: \(type)\(place)"
    case .numberTooLarge(let number): "\(Self.outOfRange(number))\(place)"
    case .dateOutOfRange(let problem): "\(problem)\(place)"
    case .nestedTooDeeply: "Maps and arrays may be nested 20 deep\(place)"
    case .nestedArray: "Nested arrays are not supported\(place)"
    case .sentinelInArray(let name): "\(name) is not currently supported inside arrays\(place)"
    case .sentinelOutsideWrite(let name):
      "\(name) can only be used with updateData() and setData()\(place)"
    case .deletionWithoutMerge:
      "FieldValue.delete() can only be used with updateData() and setData() with merge:true\(place)"
    case .deletionInsideUpdate:
      "FieldValue.delete() can only appear at the top level of your update data\(place)"
    case .emptyFieldName: "Invalid data. Document fields must not be empty\(place)"
    case .reservedFieldName:
      "Invalid data. Document fields cannot begin and end with \"__\"\(place)"
    case .foreignReference(let found, let expected):
      "Document Reference is for database \(found) but should be for database \(expected)\(place)"
    }
  }

  /// The message for an integer that does not fit in 64 bits.
  static func outOfRange(_ number: String) -> String {
    "NSNumber (\(number)) is too \(number.hasPrefix("-") ? "small" : "large")"
  }

  private var place: String {
    guard let field, !field.isEmpty else { return "" }
    return " (found in field \(StoredFieldPath.canonical(field)))"
  }
}
