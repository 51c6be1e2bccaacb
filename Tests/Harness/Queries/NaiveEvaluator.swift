// A naive query evaluator: it examines every document and implements each rule as the contract states it.
//
// It uses no code of the engine's own evaluation.

package import DocumentStore

package struct NaiveEvaluator {
  /// The rules to apply where Firestore's emulator differs from the contract.
  package enum Dialect: Sendable {
    case contract
    /// The rules of the emulator. A range never contains null or NaN, and a cursor with such a value has no
    /// order. No filter finds null or NaN in an array. `not-in` keeps documents with NaN, whatever its list
    /// contains.
    case emulator
  }

  private let query: StructuredQuery
  private let dialect: Dialect
  /// The explicit orders, followed by the inequality fields that have no explicit order, sorted by path, and
  /// then by the name.
  private let fullOrder: [OrderBy]

  package init(_ query: StructuredQuery, _ dialect: Dialect = .contract) {
    self.query = query
    self.dialect = dialect
    fullOrder = Self.fullOrder(query, dialect)
  }

  package func answer(from documents: [StoredDocument]) -> [StoredDocument] {
    let found = documents.filter(isInScope).filter(hasEveryOrderedField).filter(satisfiesFilters)
    let sorted = found.sorted { compare($0, $1) < 0 }.filter(isAfterStart).filter(isBeforeEnd)
    switch query.limit {
    case nil: return sorted
    case .first(let count): return Array(sorted.prefix(count))
    case .last(let count): return Array(sorted.suffix(count))
    }
  }

  /// Whether the result contains the document, if the limit is ignored.
  package func matches(_ document: StoredDocument) -> Bool {
    isInScope(document) && hasEveryOrderedField(document) && satisfiesFilters(document)
      && isAfterStart(document) && isBeforeEnd(document)
  }

  // MARK: Scope and fields

  private func isInScope(_ document: StoredDocument) -> Bool {
    let segments = document.path.segments
    switch query.scope {
    case .collection(let collection):
      return Self.areSame(segments.dropLast(), collection.segments)
    case .collectionGroup(let id):
      return Self.areSame([segments[segments.count - 2]], [id])
    case .document(let path):
      return Self.areSame(segments, path.segments)
    }
  }

  /// Returns whether two lists of names are equal, comparing the names by their bytes.
  private static func areSame(_ names: some Collection<String>, _ others: some Collection<String>) -> Bool {
    names.count == others.count && zip(names, others).allSatisfy { $0.utf8.elementsEqual($1.utf8) }
  }

  private func value(_ field: StoredFieldPath, _ document: StoredDocument) -> StoredValue? {
    if field.names.count == 1, field.names[0] == "__name__" {
      return .reference(StoredReference(projectID: "", databaseID: "", path: document.path))
    }
    var value: StoredValue? = .map(document.fields)
    for name in field.names {
      guard case .map(let map)? = value else { return nil }
      value = map.entries.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }
    return value
  }

  private func hasEveryOrderedField(_ document: StoredDocument) -> Bool {
    !fullOrder.contains { $0.missing == .excluded && value($0.field, document) == nil }
  }

  // MARK: Filters

  private func satisfiesFilters(_ document: StoredDocument) -> Bool {
    !query.filters.contains { !satisfies($0, document) }
  }

  private func satisfies(_ tree: FilterTree, _ document: StoredDocument) -> Bool {
    switch tree {
    case .all(let parts): parts.filter { satisfies($0, document) }.count == parts.count
    case .any(let parts): parts.filter { satisfies($0, document) }.count > 0
    case .field(let filter): satisfies(filter, document)
    }
  }

  private func satisfies(_ filter: FieldFilter, _ document: StoredDocument) -> Bool {
    guard let value = value(filter.field, document) else { return false }
    let operand = filter.operand
    let order = NaiveOrder.compare(value, operand)
    let isOneKind = NaiveOrder.kind(of: value) == NaiveOrder.kind(of: operand)
    let list = elements(operand)
    if dialect == .emulator, isUnsupportedByEmulator(filter.operator, value, operand) { return false }
    switch filter.operator {
    case .equal: return isOneKind && order == 0
    case .lessThan: return isOneKind && order < 0
    case .lessThanOrEqual: return isOneKind && order <= 0
    case .greaterThan: return isOneKind && order > 0
    case .greaterThanOrEqual: return isOneKind && order >= 0
    case .notEqual: return !isNull(value) && order != 0
    case .isIn: return isAmong(list.filter(canBeFound), value)
    case .notIn:
      let listed = dialect == .emulator ? list.filter { !NaiveOrder.isNaN($0) } : list
      return !isNull(value) && !list.contains(where: isNull) && !isAmong(listed, value)
    case .arrayContains: return isAmong(elements(value), operand)
    case .arrayContainsAny:
      return elements(value).contains { isAmong(list.filter(canBeFound), $0) }
    }
  }

  private func isUnsupportedByEmulator(
    _ kind: FieldFilter.Operator, _ value: StoredValue, _ operand: StoredValue
  ) -> Bool {
    switch kind {
    case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
      !canBeFound(value) || !canBeFound(operand)
    case .arrayContains: !canBeFound(operand)
    case .equal, .notEqual, .isIn, .notIn, .arrayContainsAny: false
    }
  }

  /// Returns whether the filter is an empty range that the emulator drops. If such a filter is one of several
  /// alternatives, documents that match another alternative do not need the filter's field. The emulator does
  /// not drop the filter if the query has a cursor or a limit from the end, because these require an explicit
  /// order on the field.
  private static func isDroppedByEmulator(
    _ filter: FieldFilter, _ query: StructuredQuery, _ dialect: Dialect
  ) -> Bool {
    guard dialect == .emulator, query.start == nil, query.end == nil else { return false }
    if case .last = query.limit { return false }
    switch filter.operator {
    case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual: return !canBeFound(filter.operand)
    default: return false
    }
  }

  private func isAmong(_ list: [StoredValue], _ value: StoredValue) -> Bool {
    list.contains { NaiveOrder.compare($0, value) == 0 }
  }

  private func canBeFound(_ value: StoredValue) -> Bool { Self.canBeFound(value) }

  private static func canBeFound(_ value: StoredValue) -> Bool {
    NaiveOrder.kind(of: value) != 0 && !NaiveOrder.isNaN(value)
  }

  private func isNull(_ value: StoredValue) -> Bool { NaiveOrder.kind(of: value) == 0 }

  private func elements(_ value: StoredValue) -> [StoredValue] {
    if case .array(let elements) = value { elements } else { [] }
  }

  // MARK: Order

  private static func fullOrder(_ query: StructuredQuery, _ dialect: Dialect) -> [OrderBy] {
    var full = query.explicitOrders
    let direction = full.last?.direction ?? .ascending
    var fields: [StoredFieldPath] = []
    for filter in leaves(.all(query.filters)) {
      switch filter.operator {
      case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notEqual, .notIn:
        if isDroppedByEmulator(filter, query, dialect) { continue }
        if filter.field.names != ["__name__"] { fields.append(filter.field) }
      case .equal, .isIn, .arrayContains, .arrayContainsAny:
        continue
      }
    }
    fields.sort { NaiveOrder.compare($0, $1) < 0 }
    for field in fields + [.documentID] {
      if full.contains(where: { NaiveOrder.compare($0.field, field) == 0 }) { continue }
      full.append(OrderBy(field, direction))
    }
    return full
  }

  private static func leaves(_ tree: FilterTree) -> [FieldFilter] {
    switch tree {
    case .field(let filter): [filter]
    case .all(let parts), .any(let parts): parts.flatMap(leaves)
    }
  }

  package func compare(_ left: StoredDocument, _ right: StoredDocument) -> Int {
    for order in fullOrder {
      let (first, second) = (value(order.field, left) ?? .null, value(order.field, right) ?? .null)
      let difference = NaiveOrder.compare(first, second) * (order.direction == .ascending ? 1 : -1)
      if difference != 0 { return difference }
    }
    return 0
  }

  // MARK: Cursors

  private func isAfterStart(_ document: StoredDocument) -> Bool {
    guard let start = query.start else { return true }
    let order = compare(document, start)
    return start.side == .before ? order >= 0 : order > 0
  }

  private func isBeforeEnd(_ document: StoredDocument) -> Bool {
    guard let end = query.end else { return true }
    let order = compare(document, end)
    return end.side == .after ? order <= 0 : order < 0
  }

  private func compare(_ document: StoredDocument, _ cursor: Cursor) -> Int {
    for (order, limit) in zip(fullOrder, cursor.values) {
      let found = value(order.field, document) ?? .null
      let difference = NaiveOrder.compare(found, limit) * (order.direction == .ascending ? 1 : -1)
      if difference != 0 { return difference }
    }
    return 0
  }
}

// MARK: Aggregates

extension NaiveEvaluator {
  package func results(of aggregates: [Aggregate], over documents: [StoredDocument]) -> [StoredValue] {
    let fields = aggregates.compactMap { aggregate -> StoredFieldPath? in
      switch aggregate {
      case .count: nil
      case .sum(let field), .average(let field): field
      }
    }
    let counted = answer(from: documents).filter { document in
      fields.allSatisfy { value($0, document) != nil }
    }
    return aggregates.map { aggregate in
      switch aggregate {
      case .count: return .integer(Int64(counted.count))
      case .sum(let field): return sum(numbers(counted, field))
      case .average(let field):
        let numbers = numbers(counted, field)
        if numbers.isEmpty { return .null }
        return .double(NaiveSum.double(numbers) / Double(numbers.count))
      }
    }
  }

  private func numbers(_ documents: [StoredDocument], _ field: StoredFieldPath) -> [StoredValue] {
    documents.compactMap { value(field, $0) }.filter { NaiveOrder.kind(of: $0) == 2 }
  }

  private func sum(_ numbers: [StoredValue]) -> StoredValue {
    let integers = numbers.compactMap { if case .integer(let number) = $0 { Int128(number) } else { nil } }
    let total = integers.reduce(0, +)
    guard integers.count == numbers.count, total >= Int64.min, total <= Int64.max else {
      return .double(NaiveSum.double(numbers))
    }
    return .integer(Int64(total))
  }
}
