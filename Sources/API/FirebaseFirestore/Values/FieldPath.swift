// Where a field is, as callers say it.

package import DocumentStore
private import FirebaseCore
public import Foundation

/// The names that lead to a field, from the document's outermost map inwards; equal by value.
///
/// Wherever a field is named, text with dots between the names will do: `"address.city"`. A path takes
/// names with any characters, dots among them:
///
/// ```swift
/// let path = FieldPath(["hosts", "example.org"])
/// ```
public final class FieldPath: NSObject, NSCopying, Sendable {
  package let stored: StoredFieldPath

  /// Traps if there are no names, or if one is empty.
  public init(_ fieldNames: [String]) {
    stored = Self.valid { () throws(FieldPathError) in try StoredFieldPath(fieldNames) }
  }

  private init(_ stored: StoredFieldPath) { self.stored = stored }

  /// The id of a document, for filters and orders of queries.
  public class func documentID() -> FieldPath { FieldPath(.documentID) }

  /// The same object: a path never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  public override func isEqual(_ object: Any?) -> Bool { (object as? FieldPath)?.stored == stored }

  public override var hash: Int { stored.hashValue }

  public override var description: String { stored.canonical }

  // MARK: From what callers give

  /// Text with dots between the names. Traps if it is no path.
  static func dotted(_ text: String) -> StoredFieldPath {
    valid { () throws(FieldPathError) in try StoredFieldPath(dotted: text) }
  }

  /// Text with dots, or a `FieldPath`; nil for anything else.
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
    do throws(FieldPathError) { return try path() } catch { ProgrammerError.trap(error.description) }
  }
}
