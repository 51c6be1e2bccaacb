// Values that stand for what is computed at the commit.

public import Foundation

/// Stands in a field's place for a value that the commit computes.
public class FieldValue: NSObject, Encodable, @unchecked Sendable {
  // Sendable because `kind` never changes; unchecked because the class is not final, as in the original.
  package enum Kind: Hashable, Sendable {
    case serverTimestamp
  }

  package let kind: Kind

  package init(_ kind: Kind) { self.kind = kind }

  /// The time of the commit.
  public class func serverTimestamp() -> FieldValue { FieldValue(.serverTimestamp) }

  public override func isEqual(_ object: Any?) -> Bool { (object as? FieldValue)?.kind == kind }

  public override var hash: Int { kind.hashValue }
}
