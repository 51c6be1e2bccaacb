// Field values that the commit computes.

import DocumentStore
public import Foundation

/// A field value that the commit computes.
///
/// ```swift
/// let article = Firestore.firestore().document("articles/one")
/// try await article.updateData(["views": FieldValue.increment(1), "seen": FieldValue.serverTimestamp()])
/// ```
public class FieldValue: NSObject, Encodable, @unchecked Sendable {
  // The conformance is unchecked because the class is not final, as in Firebase's SDK, and because elements
  // can be objects. All its properties are constants.

  /// The kinds of values. Each case has the name of the method that creates it.
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

  /// The sentinel that a user passed as a field's value; nil for other values. A cast of an array or of a
  /// dictionary would first turn everything in it into objects, at any depth.
  static func sentinel(_ any: Any) -> FieldValue? {
    let type = type(of: any)
    return type is FieldValue.Type || type == FieldValue?.self ? any as? FieldValue : nil
  }

  /// Deletes the field. Allowed in `updateData`, and in `setData` if it merges.
  public class func delete() -> FieldValue { FieldValue(.delete) }

  /// Sets the field to the time of the commit.
  public class func serverTimestamp() -> FieldValue { FieldValue(.serverTimestamp) }

  /// Appends those elements that the field's array does not contain yet. 1 and 1.0 count as equal.
  public class func arrayUnion(_ elements: [Any]) -> FieldValue { FieldValue(.arrayUnion(elements)) }

  /// Removes these elements from the field's array.
  public class func arrayRemove(_ elements: [Any]) -> FieldValue { FieldValue(.arrayRemove(elements)) }

  /// Adds this number to the field's number. A field that is not a number counts as 0.
  // Disfavored, so that `increment(1)` calls the overload for integers.
  @_disfavoredOverload
  public class func increment(_ d: Double) -> FieldValue { FieldValue(.increment(.double(d))) }

  /// Adds this number to the field's number. An integer result is clamped to the range of `Int64`.
  public class func increment(_ l: Int64) -> FieldValue { FieldValue(.increment(.integer(l))) }

  /// Sets the field to the smaller of its number and this one, or to this one if the field is not a number.
  @_disfavoredOverload
  public class func minimum(_ d: Double) -> FieldValue { FieldValue(.minimum(.double(d))) }

  /// Sets the field to the smaller of its number and this one.
  public class func minimum(_ l: Int64) -> FieldValue { FieldValue(.minimum(.integer(l))) }

  /// Sets the field to the larger of its number and this one, or to this one if the field is not a number.
  @_disfavoredOverload
  public class func maximum(_ d: Double) -> FieldValue { FieldValue(.maximum(.double(d))) }

  /// Sets the field to the larger of its number and this one.
  public class func maximum(_ l: Int64) -> FieldValue { FieldValue(.maximum(.integer(l))) }

  /// Returns a vector with these numbers. The vector is written unchanged.
  public static func vector(_ array: [Double]) -> VectorValue { VectorValue(array) }

  /// Returns a vector with these numbers, converted to `Double`.
  public static func vector(_ array: [Float]) -> VectorValue { VectorValue(array.map(Double.init)) }

  /// Two values are equal if they have the same kind and the same numbers or elements.
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
