// One step from a query's results to the next.

public import Foundation

/// What happened to a document of the results.
public enum DocumentChangeType: Int, Sendable {
  /// It is in the results now.
  case added = 0
  /// It stayed in them with other content.
  case modified = 1
  /// It is not in them any more.
  case removed = 2
}

/// What became of a document between two snapshots of a query.
///
/// Changes are to be applied in the order of their list: `oldIndex` is where the document was when the
/// changes before this one had been applied, `newIndex` where it is now.
public final class DocumentChange: NSObject, Sendable, EqualByValue {
  /// What happened to it.
  public let type: DocumentChangeType
  /// As it is now, or for a removal as it was last.
  public let document: QueryDocumentSnapshot
  /// `UInt(NSNotFound)` for an addition.
  public let oldIndex: UInt
  /// `UInt(NSNotFound)` for a removal.
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
