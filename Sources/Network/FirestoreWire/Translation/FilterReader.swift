// Reads the filters of a query.

import DocumentStore
import OfflineSync

struct FilterReader {
  /// A tree of composite filters is at most as deep as a message may be.
  private static let depthMax = 100

  let database: DatabaseName

  func tree(_ filter: Wire.StructuredQuery.Filter) throws(RemoteError) -> FilterTree {
    try tree(filter, depth: 0, isAlternative: false)
  }

  private func tree(
    _ filter: Wire.StructuredQuery.Filter, depth: Int, isAlternative: Bool
  ) throws(RemoteError) -> FilterTree {
    guard depth <= Self.depthMax else { throw .invalid("Composite filters are nested too deep.") }
    switch filter.filterType {
    case nil: throw .invalid("Unknown Filter type.")
    case .compositeFilter(let composite):
      return try tree(composite, depth: depth, isAlternative: isAlternative)
    case .fieldFilter(let filter): return .field(try comparison(filter))
    case .unaryFilter(let filter): return .field(try test(filter))
    }
  }

  private func tree(
    _ composite: Wire.StructuredQuery.CompositeFilter, depth: Int, isAlternative: Bool
  ) throws(RemoteError) -> FilterTree {
    guard composite.op != .unspecified else { throw .invalid("Unsupported CompositeFilter operator.") }
    // An empty conjunction holds for every document. As an alternative, it would make the others void.
    guard !composite.filters.isEmpty || composite.op == .and && !isAlternative else {
      throw .invalid("Composite filter must have at least one sub-filter.")
    }
    var parts: [FilterTree] = []
    for filter in composite.filters {
      parts.append(
        try tree(filter, depth: depth + 1, isAlternative: isAlternative || composite.op == .or))
    }
    return composite.op == .and ? .all(parts) : .any(parts)
  }

  private func comparison(_ filter: Wire.StructuredQuery.FieldFilter) throws(RemoteError) -> FieldFilter {
    let field = try FieldPathText.parse(filter.field)
    if let value = filter.pipelineValues.first { throw value.refused(as: field) }
    guard let kind = filter.op.engine else { throw .invalid("Unknown FieldFilter operator.") }
    guard let operand = filter.value else {
      throw .invalid("Cannot convert firestore.v1.Value with type unset.")
    }
    try QueryRules.check(list: operand, kind, name: filter.op.wireName)
    if field == .documentID { try checkNames(in: operand, kind) }
    do throws(DocumentStoreError) {
      return try FieldFilter(checking: field, kind, operand: operand)
    } catch {
      throw RemoteError(error)
    }
  }

  private func test(_ filter: Wire.StructuredQuery.UnaryFilter) throws(RemoteError) -> FieldFilter {
    guard let reference = filter.field else {
      throw .invalid("Unsupported UnaryFilter operand type (non-FIELD).")
    }
    let field = try FieldPathText.parse(reference)
    guard filter.op != .unspecified else { throw .invalid("Unknown UnaryFilter operator.") }
    guard field != .documentID else { throw .invalid("__key__ filter value must be a Key") }
    switch filter.op {
    case .unspecified, .isNull: return FieldFilter(field, .equal, .null)
    case .isNaN: return FieldFilter(field, .equal, .double(.nan))
    case .isNotNull: return FieldFilter(field, .notEqual, .null)
    case .isNotNaN: return FieldFilter(field, .notEqual, .double(.nan))
    }
  }

  /// Checks that an operand on `__name__` names documents of this database.
  private func checkNames(in operand: StoredValue, _ kind: FieldFilter.Operator) throws(RemoteError) {
    guard kind != .arrayContains, kind != .arrayContainsAny else {
      throw .invalid("the name __key__ is reserved")
    }
    var names = [operand]
    if kind.takesList, case .array(let elements) = operand { names = elements }
    for name in names {
      guard case .reference(let reference) = name else {
        throw .invalid("__key__ filter value must be a Key")
      }
      guard database.contains(reference) else {
        throw database.foreign(reference.projectID, reference.databaseID)
      }
    }
  }
}

extension Wire.StructuredQuery.Filter {
  /// The number of comparisons, which is counted before they are read.
  var fieldFilterCount: Int {
    switch filterType {
    case nil: 0
    case .fieldFilter, .unaryFilter: 1
    case .compositeFilter(let composite): composite.filters.reduce(0) { $0 + $1.fieldFilterCount }
    }
  }
}

extension Wire.StructuredQuery.FieldFilter.Operator {
  /// The operator of the engine; nil for the unspecified one.
  var engine: FieldFilter.Operator? {
    switch self {
    case .unspecified: nil
    case .lessThan: .lessThan
    case .lessThanOrEqual: .lessThanOrEqual
    case .greaterThan: .greaterThan
    case .greaterThanOrEqual: .greaterThanOrEqual
    case .equal: .equal
    case .notEqual: .notEqual
    case .arrayContains: .arrayContains
    case .in: .isIn
    case .arrayContainsAny: .arrayContainsAny
    case .notIn: .notIn
    }
  }

  init(_ kind: FieldFilter.Operator) {
    switch kind {
    case .lessThan: self = .lessThan
    case .lessThanOrEqual: self = .lessThanOrEqual
    case .equal: self = .equal
    case .notEqual: self = .notEqual
    case .greaterThanOrEqual: self = .greaterThanOrEqual
    case .greaterThan: self = .greaterThan
    case .arrayContains: self = .arrayContains
    case .arrayContainsAny: self = .arrayContainsAny
    case .isIn: self = .in
    case .notIn: self = .notIn
    }
  }

  /// The name in messages.
  var wireName: String {
    Self.allCases.firstIndex(of: self).map { Self.names[$0] } ?? Self.names[0]
  }
}

extension DocumentPath {
  /// Filters that only the documents below this one satisfy. In the order of names, they follow this
  /// document, and precede every other document that follows it.
  var descendantFilters: [FilterTree] {
    // No id lies between an id and the same id with a zero byte. Numeric ids are in the order of their
    // numbers, and before all others.
    var next = segments
    next[next.count - 1] = successor(of: id)
    return [
      .field(.documentID, .greaterThan, .documentName(self)),
      .field(.documentID, .lessThan, .documentName(DocumentPath(unchecked: next))),
    ]
  }

  private func successor(of id: String) -> String {
    guard id.hasPrefix("__id"), id.hasSuffix("__"), let number = Int64(id.dropFirst(4).dropLast(2)),
      id == "__id\(number)__"
    else { return id + "\0" }
    return number < .max ? "__id\(number + 1)__" : "\0"
  }
}
