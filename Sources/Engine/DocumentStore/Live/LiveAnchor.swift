// The conditions by which the matcher finds a view when a document changes.
//
// A query is normalized to alternatives (a disjunction of conjunctions), and one condition is chosen from
// each alternative. A document can change the result only if it satisfies one of the chosen conditions before
// or after the change. Equalities are preferred to ranges. Of several equalities, the one with the fewest
// views is chosen, because a condition that all listeners share excludes none of them.
//
// An alternative may have no condition that can be chosen. Then a view with a limit is found by changes to
// documents that sort no later than the last document in its window. Any other view is found by every change
// in its collection.

/// A field that is compared by ranges, and how documents that lack the field are treated.
struct LiveRangeField: Hashable, Sendable {
  var path: StoredFieldPath
  var missing = OrderBy.Missing.excluded

  /// True if every document has a value: the field is the document id, or a missing field counts as null.
  var alwaysHasValue: Bool { missing == .asNull || path == .documentID }

  func value(in document: StoredDocument) -> StoredValue? {
    document.value(of: path) ?? (missing == .asNull ? .null : nil)
  }
}

enum LiveAnchor: Sendable {
  case name([UInt8])
  case equal(StoredFieldPath, [UInt8])
  case element(StoredFieldPath, [UInt8])
  case range(LiveRangeField, [ByteRange])
  /// Several conditions that must all hold; any one of them is sufficient as an anchor.
  case either([LiveAnchor])

  var isRange: Bool { if case .range = self { true } else { false } }

  /// Intersects the range with the view's window, if both apply to the same field.
  func narrowed(by window: LiveAnchor) -> LiveAnchor {
    guard case .range(let field, let ranges) = self, case .range(field, let seen) = window else {
      return self
    }
    return .range(field, ranges.intersection(seen))
  }

  /// The anchors of a query. Nil if any document in the scope may change the result.
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

  /// An anchor for the documents that sort no later than `last` by the first order. Documents after `last`
  /// cannot change the window.
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

  /// An anchor for the documents that lie between the query's cursors by the first order.
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
