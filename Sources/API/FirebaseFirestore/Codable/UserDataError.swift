// What users may not write, in the words that they may already know.

import DocumentStore
private import FirebaseCore

/// Data that no document can hold. The caller turns it into a trap: it is the program that is wrong.
package struct UserDataError: Error, Hashable, Sendable {
  package enum Reason: Hashable, Sendable {
    case unsupportedType(String)
    /// An integer above `Int64.max`, or below `Int64.min`.
    case numberTooLarge(String)
    /// Of a timestamp, in the words of its own trap.
    case dateOutOfRange(String)
    case nestedArray
    /// So deep that the value cannot even be walked through.
    case nestedTooDeeply
    /// Such as `FieldValue.delete()`.
    case sentinelInArray(String)
    /// In a place where nothing is written, such as a filter.
    case sentinelOutsideWrite(String)
    /// In a document that is replaced as a whole.
    case deletionWithoutMerge
    /// In a value of an update, rather than as one.
    case deletionInsideUpdate
    case emptyFieldName
    case reservedFieldName
    /// Databases as `project/database`.
    case foreignReference(found: String, expected: String)
  }

  package let reason: Reason
  /// From the outermost map inwards; nil below an array and outside of documents.
  package let field: [String]?

  init(_ reason: Reason, field: [String]? = nil) {
    self.reason = reason
    self.field = field
  }

  /// The same error, seen from the map that has the value under `name`.
  func inside(_ name: String) -> UserDataError {
    UserDataError(reason, field: field.map { [name] + $0 })
  }

  /// The same error, seen from an array.
  func insideArray() -> UserDataError { UserDataError(reason) }

  /// Ends the program that is wrong.
  package func trap() -> Never { ProgrammerError.trap(message) }

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

  /// Of an integer that does not fit in 64 bits.
  static func outOfRange(_ number: String) -> String {
    "NSNumber (\(number)) is too \(number.hasPrefix("-") ? "small" : "large")"
  }

  private var place: String {
    guard let field, !field.isEmpty else { return "" }
    return " (found in field \(StoredFieldPath.canonical(field)))"
  }
}
