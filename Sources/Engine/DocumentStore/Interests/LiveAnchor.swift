// By what a view is found when a document changes.
//
// A query is taken as alternatives, each of them conditions that hold together. Of each one condition is chosen: a
// document changes the answer only if it satisfies it before or after. Equalities come before ranges, and of several
// the one by which fewest views are found: what ten thousand listeners have in common tells none of them. Where an
// alternative has no such condition, a view of a limit is found by what does not lie behind its last document, and
// another one by every change in its collection.

/// A field whose values lie in ranges, and what a document counts as that lacks it.
struct LiveRangeField: Hashable, Sendable {
  var path: StoredFieldPath
  var missing = OrderBy.Missing.excluded

  /// Every document has one: it is its name, or null where there is no field.
  var isNeverWithoutValue: Bool { missing == .asNull || path == .documentID }

  func value(in document: StoredDocument) -> StoredValue? {
    document.value(of: path) ?? (missing == .asNull ? .null : nil)
  }
}

enum LiveAnchor: Sendable {
  case name([UInt8])
  case equal(StoredFieldPath, [UInt8])
  case element(StoredFieldPath, [UInt8])
  case range(LiveRangeField, [ByteRange])
  /// Of conditions that hold together, each would do.
  case either([LiveAnchor])

  var isRange: Bool { if case .range = self { true } else { false } }

  /// What concerns a view lies in the range of its window, too, if it is one of the same field.
  func narrowed(by window: LiveAnchor) -> LiveAnchor {
    guard case .range(let field, let ranges) = self, case .range(field, let seen) = window else {
      return self
    }
    return .range(field, ranges.intersection(seen))
  }

  /// Nil if every document of the scope may be concerned.
  static func anchors(of query: StructuredQuery) -> [LiveAnchor]? {
    let filter = FilterTree.all(query.filters)
    guard filter.alternativesCount <= QueryLimits().partsMax else { return nil }
    var anchors: [LiveAnchor] = []
    for alternative in filter.alternatives {
      guard let anchor = anchor(alternative) ?? between(query) else { return nil }
      anchors.append(anchor)
    }
    return anchors
  }

  /// What does not lie behind a document, by the first order: the rest concerns nobody who sees no further.
  static func through(_ last: StoredDocument, of query: StructuredQuery) -> LiveAnchor? {
    guard let order = query.orders.first, let value = order.value(in: last) else { return nil }
    var interval = ValueInterval.all
    switch order.direction {
    case .ascending: interval.upper = .after(value.indexKey)
    case .descending: interval.lower = .before(value.indexKey)
    }
    return interval.range(behind: []).map {
      .range(LiveRangeField(path: order.field, missing: order.missing), [$0])
    }
  }

  private static func anchor(_ filters: [FieldFilter]) -> LiveAnchor? {
    for filter in filters where filter.operator == .equal && filter.field == .documentID {
      if let path = filter.operand.documentName { return .name(DocumentKey.encode(path)) }
    }
    let values = filters.compactMap(value)
    if let only = values.first { return values.count == 1 ? only : .either(values) }
    for filter in filters where filter.operator.isInequality {
      let same = filters.filter { $0.field == filter.field && $0.operator.isInequality }
      var ranges = [ByteRange([], nil)]
      for intervals in same.compactMap(\.intervals) {
        ranges = ranges.intersection(intervals.compactMap { $0.range(behind: []) })
      }
      return .range(LiveRangeField(path: filter.field), ranges)
    }
    return nil
  }

  private static func value(_ filter: FieldFilter) -> LiveAnchor? {
    switch filter.operator {
    case .equal where filter.field != .documentID: .equal(filter.field, filter.operand.indexKey)
    case .arrayContains: .element(filter.field, filter.operand.indexKey)
    default: nil
    }
  }

  /// What lies between the cursors, by the first order.
  private static func between(_ query: StructuredQuery) -> LiveAnchor? {
    guard query.start != nil || query.end != nil, let order = query.orders.first else { return nil }
    var interval = ValueInterval.all
    if let value = query.start?.values.first { interval.lower = .before(value.indexKey(order.direction)) }
    if let value = query.end?.values.first { interval.upper = .after(value.indexKey(order.direction)) }
    let field = LiveRangeField(path: order.field, missing: order.missing)
    return .range(field, interval.directed(order.direction).range(behind: []).map { [$0] } ?? [])
  }
}

extension StoredValue {
  fileprivate func indexKey(_ direction: OrderBy.Direction) -> [UInt8] {
    var key: [UInt8] = []
    IndexKey.append(self, direction, to: &key)
    return key
  }
}
