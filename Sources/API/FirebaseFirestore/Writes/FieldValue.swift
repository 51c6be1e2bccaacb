// Values that stand for what is computed at the commit.

import DocumentStore
public import Foundation

/// Stands in a field's place for a value that the commit computes.
///
/// ```swift
/// let article = Firestore.firestore().document("articles/one")
/// try await article.updateData(["views": FieldValue.increment(1), "seen": FieldValue.serverTimestamp()])
/// ```
public class FieldValue: NSObject, Encodable, @unchecked Sendable {
  // Unchecked, because the class is not final, as in the original, and because elements can be objects; all
  // that it has are constants.

  /// The cases bear the names of the methods that make them.
  enum Kind {
    case delete
    case serverTimestamp
    case increment(StoredNumber)
    case minimum(StoredNumber)
    case maximum(StoredNumber)
    case arrayUnion([Any])
    case arrayRemove([Any])
  }

  let kind: Kind

  init(_ kind: Kind) { self.kind = kind }

  /// Removes the field: for `updateData`, and for `setData` with merging.
  public class func delete() -> FieldValue { FieldValue(.delete) }

  /// The time of the commit.
  public class func serverTimestamp() -> FieldValue { FieldValue(.serverTimestamp) }

  /// The field's array, and those of the elements behind it that are not in it. 1 and 1.0 are the same here.
  public class func arrayUnion(_ elements: [Any]) -> FieldValue { FieldValue(.arrayUnion(elements)) }

  /// The field's array without these elements.
  public class func arrayRemove(_ elements: [Any]) -> FieldValue { FieldValue(.arrayRemove(elements)) }

  /// The field's number and this one, added. What is no number counts as 0.
  // `increment(1)` means an integer.
  @_disfavoredOverload
  public class func increment(_ d: Double) -> FieldValue { FieldValue(.increment(.double(d))) }

  /// The field's number and this one, added. Integers stop at the ends of their range.
  public class func increment(_ l: Int64) -> FieldValue { FieldValue(.increment(.integer(l))) }

  /// The smaller of the field's number and this one; this one if the field is no number.
  @_disfavoredOverload
  public class func minimum(_ d: Double) -> FieldValue { FieldValue(.minimum(.double(d))) }

  /// The lesser of what is stored and this number.
  public class func minimum(_ l: Int64) -> FieldValue { FieldValue(.minimum(.integer(l))) }

  /// The larger of the field's number and this one; this one if the field is no number.
  @_disfavoredOverload
  public class func maximum(_ d: Double) -> FieldValue { FieldValue(.maximum(.double(d))) }

  /// The greater of what is stored and this number.
  public class func maximum(_ l: Int64) -> FieldValue { FieldValue(.maximum(.integer(l))) }

  /// A vector to be written as it is.
  public static func vector(_ array: [Double]) -> VectorValue { VectorValue(array) }

  /// A vector of these numbers.
  public static func vector(_ array: [Float]) -> VectorValue { VectorValue(array.map(Double.init)) }

  /// Equal means the same kind and the same numbers or elements.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FieldValue else { return false }
    return switch (kind, other.kind) {
    case (.delete, .delete), (.serverTimestamp, .serverTimestamp): true
    case (.increment(let left), .increment(let right)), (.minimum(let left), .minimum(let right)),
      (.maximum(let left), .maximum(let right)):
      left == right
    case (.arrayUnion(let left), .arrayUnion(let right)),
      (.arrayRemove(let left), .arrayRemove(let right)):
      NSArray(array: left).isEqual(to: right)
    default: false
    }
  }

  public override var hash: Int { methodName.hashValue }
}

extension FieldValue {
  /// What the commit is to do; nil for a deletion.
  func operation(in firestore: Firestore?) throws(UserDataError) -> FieldTransform.Operation? {
    switch kind {
    case .delete: nil
    case .serverTimestamp: .serverTimestamp
    case .increment(let number): .increment(number)
    case .minimum(let number): .minimum(number)
    case .maximum(let number): .maximum(number)
    case .arrayUnion(let elements): .arrayUnion(try Self.stored(elements, in: firestore))
    case .arrayRemove(let elements): .arrayRemove(try Self.stored(elements, in: firestore))
    }
  }

  private static func stored(
    _ elements: [Any], in firestore: Firestore?
  ) throws(UserDataError) -> [StoredValue] {
    var stored: [StoredValue] = []
    for element in elements {
      stored.append(try UserData.stored(from: element, place: .inArray, in: firestore))
    }
    return stored
  }

  var isDeletion: Bool { if case .delete = kind { true } else { false } }
}
