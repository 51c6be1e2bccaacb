// Conditions that can be combined before a query uses them.

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
  // Unchecked, because coded values can contain objects. They never change once they are here.
  indirect enum Condition {
    case field(StoredFieldPath, FieldFilter.Operator, CodedValue)
    case all([Condition])
    case any([Condition])
    /// A composite with more conditions, or a deeper nesting, than a query may have. Only the number of
    /// conditions is kept.
    case tooLarge(Int)

    /// The maximum count of conditions; larger counts are clamped to it. The sum of two counts cannot
    /// overflow.
    static let leavesMax = 1 << 40
    /// Composites with more conditions are not kept. Filters can share parts, so a few steps can build a
    /// tree that takes hours to walk.
    static let leavesKeptMax = 1 << 16
  }

  /// The maximum depth. Each level has at least two conditions, so a tree of this depth exceeds the limit
  /// of a query.
  private static var depthMax: Int { QueryLimits().partsMax }

  let condition: Condition

  init(_ condition: Condition) { self.condition = condition }

  /// Creates a condition. Traps if a field cannot hold the operand.
  convenience init(_ field: StoredFieldPath, _ operator: FieldFilter.Operator, _ operand: Any) {
    if field == .documentID { Self.checkDocumentID(`operator`, operand) }
    do throws(UserDataError) {
      self.init(.field(field, `operator`, try UserData.coded(operand)))
    } catch {
      ProgrammerError.trap(error.message)
    }
  }

  /// All of these filters must hold. An empty list is no condition.
  ///
  /// Filters nested more than 100 deep have more conditions than a query may have. A query with such a
  /// filter fails when it is run.
  public class func andFilter(_ filters: [Filter]) -> Filter {
    Filter(joined(filters.map(\.condition)) { .all($0) })
  }

  /// At least one of these filters must hold. An empty list is no condition.
  ///
  /// Filters nested more than 100 deep have more conditions than a query may have. A query with such a
  /// filter fails when it is run.
  public class func orFilter(_ filters: [Filter]) -> Filter {
    Filter(joined(filters.map(\.condition)) { .any($0) })
  }

  /// Returns a composite without empty parts, or the part itself if only one remains. A composite that is
  /// nested too deep is replaced by `tooLarge`, because walking or releasing it would overflow the stack.
  static func joined(_ parts: [Condition], by join: ([Condition]) -> Condition) -> Condition {
    let parts = parts.filter { $0.leafCount > 0 }
    if parts.count == 1 { return parts[0] }
    let depth = 1 + (parts.map(\.depth).max() ?? 0)
    let leaves = parts.reduce(0) { min($0 + $1.leafCount, Condition.leavesMax) }
    return depth > depthMax || leaves > Condition.leavesKeptMax ? .tooLarge(leaves) : join(parts)
  }

  /// Checks that each operand is the ID of a document or its reference.
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

  /// The depth of nesting. A composite that contains a part that is too large is too large itself.
  fileprivate var depth: Int {
    switch self {
    case .field: 0
    case .all(let parts), .any(let parts): 1 + (parts.map(\.depth).max() ?? 0)
    case .tooLarge: QueryLimits().partsMax
    }
  }

  /// Returns the condition as a query of `firestore` uses it.
  func tree(in firestore: Firestore) throws(UserDataError) -> FilterTree {
    switch self {
    case .all(let parts): return .all(try parts.trees(in: firestore))
    case .any(let parts): return .any(try parts.trees(in: firestore))
    case .tooLarge: preconditionFailure("what was not kept is no part of a query")
    case .field(let field, let `operator`, let operand):
      // The list contains operands. An operand may itself be an array if the whole field is compared with
      // it.
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
