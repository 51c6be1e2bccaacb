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
    /// So many conditions, more or nested deeper than any query may have: they are not kept.
    case tooLarge(Int)

    /// The largest number of conditions that is told from others. Sums of two cannot overflow.
    static let leavesMax = 1 << 40
    /// Composites of more conditions are not kept. Filters can share parts, so that a few steps make a nest that takes
    /// hours to walk through.
    static let leavesKeptMax = 1 << 16
  }

  /// Each level of a nest has two conditions or more, so that one as deep as this has more than a query may have.
  private static var depthMax: Int { QueryLimits().partsMax }

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
  ///
  /// Filters nested more than 100 deep have more conditions than a query may have: one with them fails when it is run.
  public class func andFilter(_ filters: [Filter]) -> Filter {
    Filter(joined(filters.map(\.condition)) { .all($0) })
  }

  /// One of them must hold. None at all is no condition.
  ///
  /// Filters nested more than 100 deep have more conditions than a query may have: one with them fails when it is run.
  public class func orFilter(_ filters: [Filter]) -> Filter {
    Filter(joined(filters.map(\.condition)) { .any($0) })
  }

  /// A composite without empty parts; one of a single part is that part. A composite that is nested too deep cannot even
  /// be walked through, or released: both take a stack.
  static func joined(_ parts: [Condition], by join: ([Condition]) -> Condition) -> Condition {
    let parts = parts.filter { $0.leafCount > 0 }
    if parts.count == 1 { return parts[0] }
    let depth = 1 + (parts.map(\.depth).max() ?? 0)
    let leaves = parts.reduce(0) { min($0 + $1.leafCount, Condition.leavesMax) }
    return depth > depthMax || leaves > Condition.leavesKeptMax ? .tooLarge(leaves) : join(parts)
  }

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
  var leafCount: Int {
    switch self {
    case .field: 1
    case .all(let parts), .any(let parts): parts.reduce(0) { $0 + $1.leafCount }
    case .tooLarge(let count): count
    }
  }

  /// A nest around one that is too large is so, too.
  fileprivate var depth: Int {
    switch self {
    case .field: 0
    case .all(let parts), .any(let parts): 1 + (parts.map(\.depth).max() ?? 0)
    case .tooLarge: QueryLimits().partsMax
    }
  }

  /// As a query of `firestore` has it.
  func tree(in firestore: Firestore) throws(UserDataError) -> FilterTree {
    switch self {
    case .all(let parts): return .all(try parts.trees(in: firestore))
    case .any(let parts): return .any(try parts.trees(in: firestore))
    case .tooLarge: preconditionFailure("what was not kept is no part of a query")
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
