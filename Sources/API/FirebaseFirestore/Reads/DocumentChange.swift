// A change between two results of a query.

public import Foundation

/// The kind of a change.
public enum DocumentChangeType: Int, Sendable {
  /// The document is new in the results.
  case added = 0
  /// The document is still in the results and has new content.
  case modified = 1
  /// The document is no longer in the results.
  case removed = 2
}

/// The change of one document between two snapshots of a query.
///
/// Apply changes in the order in which they are listed. `oldIndex` is the document's index after the earlier
/// changes of the list have been applied, and `newIndex` is its index after this change.
public final class DocumentChange: NSObject, Sendable, EqualByValue {
  /// The kind of the change.
  public let type: DocumentChangeType
  /// The document after the change; for a removal, its last state.
  public let document: QueryDocumentSnapshot
  /// The index before the change; `UInt(NSNotFound)` for an addition.
  public let oldIndex: UInt
  /// The index after the change; `UInt(NSNotFound)` for a removal.
  public let newIndex: UInt

  init(_ type: DocumentChangeType, _ document: QueryDocumentSnapshot, from oldIndex: Int?, to newIndex: Int?)
  {
    self.type = type
    self.document = document
    self.oldIndex = UInt(oldIndex ?? NSNotFound)
    self.newIndex = UInt(newIndex ?? NSNotFound)
  }

  var identity: [AnyHashable] { [type, document, oldIndex, newIndex] }

  public override func isEqual(_ object: Any?) -> Bool { isSame(as: object) }

  public override var hash: Int { identity.hashValue }
}
