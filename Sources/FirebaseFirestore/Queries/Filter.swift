// Conditions that are combined before a query takes them up.

import DocumentStore
private import FirebaseCore
public import Foundation

/// A condition on the fields of a document.
///
/// ```swift
/// let isOpen = Filter.orFilter([
///   .whereField("state", isEqualTo: "open"), .whereField("reopened", isGreaterThan: 0),
/// ])
/// let query = Firestore.firestore().collection("cases").whereFilter(isOpen)
/// ```
public final class Filter: NSObject, @unchecked Sendable {
  // Unchecked, because coded values are objects in part; nobody changes them once they are in here.
  indirect enum Condition {
    case field(StoredFieldPath, FieldFilter.Operator, CodedValue)
    case all([Condition])
    case any([Condition])
  }

  let condition: Condition

  init(_ condition: Condition) { self.condition = condition }

  /// Traps if the operand is nothing that a field can hold.
  convenience init(_ field: StoredFieldPath, _ operator: FieldFilter.Operator, _ operand: Any) {
    if field == .documentID { Self.checkDocumentID(`operator`, operand) }
    do throws(UserDataError) {
      self.init(.field(field, `operator`, try UserData.coded(operand)))
    } catch {
      ProgrammerError.trap(error.message)
    }
  }

  /// All of them must hold. None at all is no condition.
  public class func andFilter(_ filters: [Filter]) -> Filter { Filter(.all(filters.map(\.condition))) }

  /// One of them must hold. None at all is no condition.
  public class func orFilter(_ filters: [Filter]) -> Filter { Filter(.any(filters.map(\.condition))) }

  /// The operand, or each operand of a list, is the id of a document or its reference.
  private static func checkDocumentID(_ operator: FieldFilter.Operator, _ operand: Any) {
    guard ![.arrayContains, .arrayContainsAny].contains(`operator`) else { return }
    let operands = `operator`.takesList ? operand as? [Any] ?? [] : [operand]
    for operand in operands where !(operand is String || operand is DocumentReference) {
      ProgrammerError.trap(
        "Invalid query. When querying by document ID you must provide a valid string or "
          + "DocumentReference, but it was of type: \(type(of: operand))")
    }
  }
}

extension Filter.Condition {
  /// As a query of `firestore` has it.
  func tree(in firestore: Firestore) throws(UserDataError) -> FilterTree {
    switch self {
    case .all(let parts): return .all(try parts.trees(in: firestore))
    case .any(let parts): return .any(try parts.trees(in: firestore))
    case .field(let field, let `operator`, let operand):
      // Lists hold operands, which may be arrays themselves where a whole field is compared with each.
      let nests = `operator` == .isIn || `operator` == .notIn
      return .field(
        field, `operator`,
        try UserData.stored(from: operand, place: nests ? .inList : .alone, in: firestore))
    }
  }
}

extension [Filter.Condition] {
  fileprivate func trees(in firestore: Firestore) throws(UserDataError) -> [FilterTree] {
    var trees: [FilterTree] = []
    for part in self { trees.append(try part.tree(in: firestore)) }
    return trees
  }
}
