// The field paths of the public API.

package import DocumentStore
private import FirebaseCore
public import Foundation

/// A list of the names that lead to a field, starting in the document's outermost map. Paths are equal if
/// their names are equal.
///
/// The API also accepts a string with dots between the names: `"address.city"`. A `FieldPath` supports names
/// with any characters, including dots:
///
/// ```swift
/// let path = FieldPath(["hosts", "example.org"])
/// ```
public final class FieldPath: NSObject, NSCopying, Sendable {
  package let stored: StoredFieldPath

  /// Creates a path. Traps if `fieldNames` is empty or contains an empty name.
  public init(_ fieldNames: [String]) {
    stored = Self.valid { () throws(FieldPathError) in try StoredFieldPath(fieldNames) }
  }

  private init(_ stored: StoredFieldPath) { self.stored = stored }

  /// The path for an invalid one in a validation. No document can have this field, and a query that filters
  /// or orders by it fails when it is run.
  static let placeholder = StoredFieldPath(unchecked: ["__invalid__"])

  /// Returns a path that stands for the document's ID in the filters and orders of queries.
  public class func documentID() -> FieldPath { FieldPath(.documentID) }

  /// Returns this object, because a path is immutable.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool { (object as? FieldPath)?.stored == stored }

  public override var hash: Int { stored.hashValue }

  public override var description: String { stored.canonical }

  // MARK: Parsing

  /// Parses a string with dots between the names. Traps if it is invalid.
  static func dotted(_ text: String) -> StoredFieldPath {
    valid { () throws(FieldPathError) in try StoredFieldPath(dotted: text) }
  }

  /// Returns the path if `field` is a `FieldPath` or a string with dots. Returns nil for any other type.
  static func any(_ field: Any) -> StoredFieldPath? {
    switch field {
    case let path as FieldPath: path.stored
    case let text as String: dotted(text)
    case let text as NSString: dotted(text as String)
    default: nil
    }
  }

  private static func valid(
    _ path: () throws(FieldPathError) -> StoredFieldPath
  ) -> StoredFieldPath {
    do throws(FieldPathError) {
      return try path()
    } catch {
      ProgrammerError.report(error.description)
      return placeholder
    }
  }
}
