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
  // Unchecked, because coded values can contain objects. The objects in a condition never change.
  indirect enum Condition {
    case field(StoredFieldPath, FieldFilter.Operator, CodedValue)
    case all([Condition])
    case any([Condition])
    /// A composite that has more conditions, or is nested more deeply, than a query allows. Only the number
    /// of conditions is kept.
    case tooLarge(Int)

    /// The maximum count of conditions. Larger counts are clamped to this value, so that the sum of two
    /// counts cannot overflow.
    static let leavesMax = 1 << 40
    /// The maximum number of conditions that a composite can have to be kept as a tree. There is a limit
    /// because filters can share parts, so that a few steps can build a tree that takes hours to walk.
    static let leavesKeptMax = 1 << 16
  }

  /// The maximum depth. Each composite has at least two parts, so a tree that is deeper than this has more
  /// conditions than a query may have.
  private static var depthMax: Int { QueryLimits().partsMax }

  let condition: Condition

  init(_ condition: Condition) { self.condition = condition }

  /// Creates a condition. Reports an operand that a field cannot hold.
  convenience init(_ field: StoredFieldPath, _ operator: FieldFilter.Operator, operand: Any) {
    self.init(Self.condition(field, `operator`, operand: operand))
  }

  private static func condition(
    _ field: StoredFieldPath, _ operator: FieldFilter.Operator, operand: Any
  ) -> Condition {
    // After a misuse, the operand may be a placeholder.
    guard ProgrammerError.reported == nil else { return placeholder }
    if field == .documentID, let problem = problem(ofDocumentID: operand, `operator`) {
      ProgrammerError.report(problem)
      return placeholder
    }
    do throws(UserDataError) {
      return .field(field, `operator`, try UserData.coded(operand))
    } catch {
      ProgrammerError.report(error.message)
      return placeholder
    }
  }

  /// The condition for an invalid one in a validation. A query with this condition fails when it is run.
  static var placeholder: Condition { .field(FieldPath.placeholder, .equal, .stored(.null)) }

  /// Returns a filter that requires all of these filters to hold. An empty list is no condition.
  ///
  /// Filters nested more than 100 deep have more conditions than a query may have. A query with such a filter
  /// fails when it is run.
  public class func andFilter(_ filters: [Filter]) -> Filter {
    Filter(joined(filters.map(\.condition)) { .all($0) })
  }

  /// Returns a filter that requires at least one of these filters to hold. An empty list is no condition.
  ///
  /// Filters nested more than 100 deep have more conditions than a query may have. A query with such a filter
  /// fails when it is run.
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

  /// Returns the reason why an operand is neither the ID of a document nor a document reference; nil if it is
  /// valid. A list of operands must consist of IDs and references.
  private static func problem(ofDocumentID operand: Any, _ operator: FieldFilter.Operator) -> String? {
    guard ![.arrayContains, .arrayContainsAny].contains(`operator`) else { return nil }
    let operands = `operator`.takesList ? operand as? [Any] ?? [] : [operand]
    return operands.first { !($0 is String || $0 is DocumentReference) }.map { operand in
      "Invalid query. When querying by document ID you must provide a valid string or "
        + "DocumentReference, but it was of type: \(type(of: operand))"
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

  /// The depth of nesting. `tooLarge` has the maximum depth, so a composite that contains it is too large as
  /// well.
  fileprivate var depth: Int {
    switch self {
    case .field: 0
    case .all(let parts), .any(let parts): 1 + (parts.map(\.depth).max() ?? 0)
    case .tooLarge: QueryLimits().partsMax
    }
  }

  /// Returns the condition in the form that a query of `firestore` uses.
  func tree(in firestore: Firestore) throws(UserDataError) -> FilterTree {
    switch self {
    case .all(let parts): return .all(try parts.trees(in: firestore))
    case .any(let parts): return .any(try parts.trees(in: firestore))
    case .tooLarge: preconditionFailure("a filter that is too large is not part of a query")
    case .field(let field, let `operator`, let operand):
      // For these two operators, the operand is a list of operands. Each element may itself be an array,
      // because the whole field is compared with it.
      let nests = `operator` == .isIn || `operator` == .notIn
      return .field(
        field, `operator`,
        try UserData.stored(from: operand, place: nests ? .inList : .single, in: firestore))
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
