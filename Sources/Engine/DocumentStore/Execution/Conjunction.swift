// A conjunction of filters, mapped to index keys.

/// Filters that must all hold.
struct Conjunction {
  /// A condition that fixes a field at the front of the key: an equality, or an element that an array must
  /// contain.
  struct EqualityField {
    var field: IndexDefinition.Field
    var value: StoredValue
    /// The index of the filter in the conjunction.
    var place: Int
  }

  /// The parts of a conjunction that do not depend on the operands of its filters.
  struct Form: Sendable {
    /// The fields of the equality filters, with the index of each filter.
    fileprivate let equalities: [(field: IndexDefinition.Field, place: Int)]
    let orders: [OrderBy]
    fileprivate let dropped: Set<Int>
    /// The indexes of the other filters.
    fileprivate let rest: [Int]
    let isDecidedByKeys: Bool

    /// Whether cursors alone bound the keys with a prefix, and each of their values is that of an order.
    func isBoundedByCursors(of query: OrientedQuery) -> Bool {
      rest.isEmpty && dropped.isEmpty
        && max(query.start?.values.count ?? 0, query.end?.values.count ?? 0) <= orders.count
        && orders.count == query.orders.count
    }
  }

  let query: OrientedQuery
  /// Sorted by field.
  private(set) var equalityFields: [EqualityField] = []
  /// The document's name, if an equality filter gives it.
  private(set) var name: DocumentPath?
  /// The query's orders that the keys must contain after the equality fields. An equality makes its field
  /// constant, so an order by that field is not needed. If conjunctions with different constants are merged,
  /// the constant is appended to `endPrefix`, unless another order precedes it.
  private(set) var orders: [OrderBy] = []
  private(set) var endPrefix: [UInt8] = []
  /// Dropped orders, identified by their index in the query's orders, because several orders can have the
  /// same field.
  private var dropped: Set<Int> = []
  /// Bounds on the first order, or on the name if there are no orders.
  private var bounds: [[ValueInterval]] = []
  /// The other filters, with their indexes in the conjunction.
  private var rest: [(place: Int, filter: FieldFilter)] = []
  /// False if some filter must be checked on the documents.
  private(set) var isDecidedByKeys: Bool
  /// `isDecidedByKeys` before the filters in `rest` were considered.
  private var isDecidedWithoutRest = true
  /// True if two equality filters have the same field, so that their values decide whether both can hold.
  private var hasRepeatedField = false

  /// Nil if no document can satisfy all of the filters.
  init?(_ filters: [FieldFilter], _ query: OrientedQuery) {
    self.query = query
    isDecidedByKeys = !query.hasOrdersAfterName
    for (place, filter) in filters.enumerated() {
      switch filter.operator {
      case .equal where filter.field == .documentID:
        // A name without segments has a place in the sort order, but no document has such a name.
        guard let path = filter.operand.documentName, !path.segments.isEmpty, name.map({ $0 == path }) ?? true
        else { return nil }
        name = path
      case .equal:
        let field = IndexDefinition.Field(filter.field)
        guard let other = equalityFields.first(where: { $0.field == field }) else {
          equalityFields.append(EqualityField(field: field, value: filter.operand, place: place))
          continue
        }
        hasRepeatedField = true
        guard ValueOrder.areEqual(other.value, filter.operand) else { return nil }
      case .arrayContains:
        if equalityFields.contains(where: { $0.field.part == .element }) {
          isDecidedByKeys = false
        } else {
          equalityFields.append(
            EqualityField(
              field: IndexDefinition.Field(filter.field, .element), value: filter.operand, place: place))
        }
      default:
        rest.append((place, filter))
      }
    }
    equalityFields.sort {
      ($0.field.path, $0.field.isElement ? 1 : 0) < ($1.field.path, $1.field.isElement ? 1 : 0)
    }
    orders = query.orders
    if let cursor = query.start, hasValuesAfterName(cursor) { isDecidedByKeys = false }
    if let cursor = query.end, hasValuesAfterName(cursor) { isDecidedByKeys = false }
    isDecidedWithoutRest = isDecidedByKeys
  }

  /// The form, after `chooseOrders`; nil if the orders or the set of filters depend on operands.
  var form: Form? {
    guard name == nil, !hasRepeatedField, endPrefix.isEmpty else { return nil }
    return Form(
      equalities: equalityFields.map { ($0.field, $0.place) }, orders: orders, dropped: dropped,
      rest: rest.map(\.place), isDecidedByKeys: isDecidedWithoutRest)
  }

  /// Creates the conjunction of a query whose filters are comparisons, given its form. Only `access` with a
  /// prefix and `isDecidedByKeys` may be used: without dropped orders, the equality values are not copied.
  init(_ form: Form, _ query: OrientedQuery) {
    self.query = query
    orders = form.orders
    dropped = form.dropped
    isDecidedByKeys = form.isDecidedByKeys
    if !form.dropped.isEmpty {
      for (field, place) in form.equalities {
        guard let operand = query.run.filters[place].operand else { continue }
        equalityFields.append(EqualityField(field: field, value: operand, place: place))
      }
    }
    for place in form.rest {
      if case .field(let filter) = query.run.filters[place] { add(filter) }
    }
  }

  /// Returns the value that an equality filter requires of a field.
  func value(of field: StoredFieldPath) -> StoredValue? {
    equalityFields.first { !$0.field.isElement && $0.field.path == field }?.value
  }

  /// Determines which orders the keys must contain. `others` are the conjunctions with which this conjunction
  /// is merged, and they may include it.
  mutating func chooseOrders(with others: [Conjunction]) {
    orders = []
    for (place, order) in query.orders.enumerated() {
      guard let value = value(of: order.field) else {
        orders.append(order)
        continue
      }
      let isConstantInAll = others.allSatisfy { other in
        other.value(of: order.field).map { ValueOrder.areEqual($0, value) } ?? false
      }
      if isConstantInAll {
        dropped.insert(place)
      } else if orders.isEmpty {
        dropped.insert(place)
        IndexKey.append(value, order.direction, to: &endPrefix)
      } else {
        orders.append(order)
      }
    }
    for (_, filter) in rest { add(filter) }
  }

  private mutating func add(_ filter: FieldFilter) {
    if let first = orders.first {
      // If missing fields count as null, an interval that includes null would also include documents without
      // the field.
      guard filter.field == first.field, !(first.missing == .asNull && filter.operand == .null),
        let intervals = filter.intervals
      else { return isDecidedByKeys = false }
      let directed = intervals.map { $0.directed(first.direction) }
      bounds.append(first.direction == .ascending ? directed : directed.reversed())
    } else if filter.field == .documentID, let intervals = query.intervals(filter) {
      bounds.append(intervals)
    } else {
      isDecidedByKeys = false
    }
  }

  // MARK: Indexes

  /// The index whose keys decide as much of this conjunction as possible.
  var idealIndex: IndexDefinition {
    IndexDefinition(
      unchecked: query.collectionID, query.scope,
      fields: equalityFields.map(\.field) + orders.map(\.indexField))
  }

  /// Returns whether the index has the matching documents in query order. The index must have equality fields
  /// first, then the orders. If `whole` is true, it must have all equality fields of the conjunction;
  /// otherwise, some of them suffice.
  func isServed(by definition: IndexDefinition, whole: Bool) -> Bool {
    // Called for every index by every query, so it must not allocate.
    let equalityCount = definition.fields.count - orders.count
    guard definition.scope == query.scope, equalityCount >= 0,
      whole ? equalityCount == equalityFields.count : equalityCount <= equalityFields.count,
      zip(definition.fields.dropFirst(equalityCount), orders).allSatisfy({ $0 == $1.indexField })
    else { return false }
    return (0..<equalityCount).allSatisfy { place in
      let field = definition.fields[place].asEquality
      return equalityFields.contains { $0.field == field }
        && !definition.fields[..<place].contains { $0.asEquality == field }
    }
  }

  /// Returns access to all entries with the equality values. Returns nil if the index has a field other than
  /// the equality fields.
  func partialAccess(_ definition: IndexDefinition) -> QueryPlan.Access? {
    // An index omits documents that lack one of its fields, so an index with other fields would miss matches.
    guard definition.scope == query.scope,
      definition.fields.allSatisfy({ field in equalityFields.contains { $0.field == field.asEquality } })
    else { return nil }
    let prefix = prefix(definition, fields: definition.fields[...])
    return QueryPlan.Access(source: .index(definition), prefixBytes: prefix.count, ranges: [.prefix(prefix)])
  }

  func access(_ definition: IndexDefinition) -> QueryPlan.Access {
    access(.index(definition), prefix(definition, fields: definition.fields.dropLast(orders.count)))
  }

  /// Access to the document names: to those within the bounds if no orders come before the name, otherwise to
  /// all names of the scope.
  var names: QueryPlan.Access {
    orders.isEmpty ? access(.names, query.namePrefix) : query.names
  }

  private func prefix(
    _ definition: IndexDefinition, fields: ArraySlice<IndexDefinition.Field>
  ) -> [UInt8] {
    var prefix = query.prefix(of: definition)
    for field in fields {
      guard let front = equalityFields.first(where: { $0.field == field.asEquality }) else { continue }
      IndexKey.append(front.value, field.part.direction ?? .ascending, to: &prefix)
    }
    return prefix
  }

  /// Access to the keys within the bounds and cursors that begin with `prefix`.
  func access(_ source: QueryPlan.Access.Source, _ prefix: [UInt8]) -> QueryPlan.Access {
    var ranges = rangeBetweenCursors(behind: prefix).map { [$0] } ?? []
    for intervals in bounds {
      ranges = ranges.intersection(intervals.compactMap { $0.range(behind: prefix) })
    }
    return QueryPlan.Access(
      source: source, prefixBytes: prefix.count, ranges: ranges, endPrefix: endPrefix)
  }

  /// Returns the keys with this prefix that lie between the cursors; nil if there are none.
  private func rangeBetweenCursors(behind prefix: [UInt8]) -> ByteRange? {
    let start = query.start.map { cut($0, behind: prefix) }
    return ByteRange.prefix(prefix).between(start, query.end.map { cut($0, behind: prefix) })
  }

  // MARK: Cursors

  private func hasValuesAfterName(_ cursor: Cursor) -> Bool {
    cursor.values.count > query.orders.count + 1
  }

  /// Returns the bound that a cursor sets on keys that begin with `prefix`.
  private func cut(_ cursor: Cursor, behind prefix: [UInt8]) -> KeyBound {
    if dropped.isEmpty, cursor.values.count <= query.orders.count {
      return KeyBound(cursor, query.orders, behind: prefix)
    }
    var bytes = prefix
    var values = cursor.values[...]
    for (place, order) in query.orders.enumerated() {
      guard let value = values.popFirst() else { return gap(cursor.side, bytes) }
      if dropped.contains(place), let decided = self.value(of: order.field) {
        switch order.compare(decided, value) {
        case .same: continue
        // All matches are on one side of the cursor.
        case .after: return .before(bytes)
        case .before: return .after(bytes)
        }
      }
      IndexKey.append(value, order.direction, to: &bytes)
    }
    guard let name = values.popFirst()?.documentName else { return gap(cursor.side, bytes) }
    // Cursor values after the name decide whether the cursor's document is part of the result. The bound
    // includes that document, and its fields are checked later.
    let side = values.isEmpty ? cursor.side : (isStart(cursor) ? .before : .after)
    switch query.cut(side, name) {
    case .before(let end): return .before(bytes + end)
    case .after(let end): return .after(bytes + end)
    }
  }

  private func isStart(_ cursor: Cursor) -> Bool { query.start == cursor }

  private func gap(_ side: Cursor.Side, _ bytes: [UInt8]) -> KeyBound {
    side == .before ? .before(bytes) : .after(bytes)
  }
}

extension OrderBy {
  fileprivate var indexField: IndexDefinition.Field {
    IndexDefinition.Field(field, missing == .asNull ? .valueOrNull(direction) : .value(direction))
  }
}

extension IndexDefinition.Field {
  fileprivate var isElement: Bool { part == .element }

  /// The field as it appears in an equality. Its direction is irrelevant there, because the value is
  /// constant.
  var asEquality: IndexDefinition.Field {
    if case .value = part { IndexDefinition.Field(path) } else { self }
  }
}
