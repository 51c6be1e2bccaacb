// Queries over all collections below a parent.
//
// Such a query names no collection. Its filters, orders and cursors are about the names of documents, so it
// becomes ranges of names. Clients delete everything below a document with it.

package import DocumentStore
package import OfflineSync

/// A query over all collections, in the order of names.
package struct NameQueryRequest: Sendable, Equatable {
  package var scan: PathScan
  /// The fields that are sent; nil for all. An empty mask asks for the names of the documents only.
  package var mask: FieldMask?
  /// The number of results; nil for no limit.
  package var limit: Int?
  /// The number of documents before the first result.
  package var offset = 0
}

/// Aggregates over a query over all collections.
package struct NameAggregationRequest: Sendable, Equatable {
  package var query: NameQueryRequest
  package var list: AggregateList
}

extension DatabaseName {
  /// Reads a query over all collections below a parent. Returns nil if the query names a collection. Throws
  /// INVALID_ARGUMENT if it breaks a rule.
  package func nameQuery(
    _ wire: Wire.StructuredQuery, parent name: String
  ) throws(RemoteError) -> NameQueryRequest? {
    guard wire.from.count <= 1, wire.from.first?.collectionId.utf8.isEmpty ?? true else { return nil }
    let parent = try parent(of: name)
    guard wire.findNearest == nil else {
      throw RemoteError(.unimplemented, "Searches for the nearest vectors are not supported.")
    }
    // The rules for the number of parts are those of a query without names of ancestors.
    var orders = try OrderReader(
      .collectionGroup(""), filters: wire.where?.fieldFilterCount ?? 0, orders: wire.orderBy.count)
    for order in wire.orderBy { try orders.add(order) }
    let filter = try wire.where.flatMap { filter throws(RemoteError) in
      try FilterReader(database: self).tree(filter).simplified
    }
    if let filter { try QueryRules.check(filter) }
    let start = try cursor(wire.startAt, orders.orders)
    let end = try cursor(wire.endAt, orders.orders)
    guard wire.limit ?? 0 >= 0 else { throw .invalid("limit is negative") }
    guard wire.offset >= 0 else { throw .invalid("offset is negative") }
    let isRecursive = wire.from.first?.allDescendants ?? false
    try Self.checkNames(filter, orders.orders, refusesFields: isRecursive && parent != nil)
    var ranges = filter?.names ?? .all
    if let start { ranges = ranges.intersection(start.names(isStart: true)) }
    if let end { ranges = ranges.intersection(end.names(isStart: false)) }
    if excludesAll(wire.startAt, unlessBefore: true) || excludesAll(wire.endAt, unlessBefore: false) {
      ranges = .none
    }
    return NameQueryRequest(
      scan: PathScan(below: parent, isRecursive: isRecursive, in: ranges),
      mask: try wire.select.map { select throws(RemoteError) in try FieldMask(select) },
      limit: wire.limit.map { Int($0) }, offset: Int(wire.offset))
  }

  /// Reads aggregates over a query over all collections. Returns nil if the query names a collection.
  package func nameAggregation(
    _ wire: Wire.StructuredAggregationQuery, parent: String
  ) throws(RemoteError) -> NameAggregationRequest? {
    guard !wire.aggregations.isEmpty,
      let query = try nameQuery(wire.structuredQuery ?? Wire.StructuredQuery(), parent: parent)
    else { return nil }
    return NameAggregationRequest(query: query, list: try AggregateList(reading: wire.aggregations))
  }

  /// Throws if a query without a collection filters or orders by something other than names, ascending.
  private static func checkNames(
    _ filter: FilterTree?, _ orders: [OrderBy], refusesFields: Bool
  ) throws(RemoteError) {
    let other = filter?.leaves.first { $0.field != .documentID }
    let hasFields = other != nil || orders.contains { $0.field != .documentID }
    guard !refusesFields || !hasFields else {
      throw .invalid("collection group queries are only allowed at the root parent")
    }
    guard orders.allSatisfy({ $0.field == .documentID && $0.direction == .ascending }) else {
      throw .invalid("kind is required for all orders except __key__ ascending")
    }
    guard let other else { return }
    let isOfElements = other.operator == .arrayContains || other.operator == .arrayContainsAny
    let field = other.field.names.joined(separator: ".") + (isOfElements ? "[*]" : "")
    throw .invalid("kind is required for filter: \(shortened(field))")
  }
}

extension FilterTree {
  /// The names that satisfy filters on names.
  fileprivate var names: PathRanges {
    switch self {
    case .field(let filter): filter.names
    case .all(let parts): parts.reduce(.all) { $0.intersection($1.names) }
    case .any(let parts): parts.reduce(.none) { $0.union($1.names) }
    }
  }
}

extension FieldFilter {
  fileprivate var names: PathRanges {
    switch `operator` {
    case .lessThan: path.map(PathRanges.before) ?? .none
    case .lessThanOrEqual: path.map(PathRanges.through) ?? .none
    case .equal: path.map(PathRanges.only) ?? .none
    case .greaterThanOrEqual: path.map(PathRanges.from) ?? .none
    case .greaterThan: path.map(PathRanges.after) ?? .none
    case .notEqual: path.map { PathRanges.only($0).complement } ?? .none
    case .isIn: listed
    case .notIn: listed.complement
    case .arrayContains, .arrayContainsAny: .none
    }
  }

  private var path: DocumentPath? { operand.path }

  private var listed: PathRanges {
    (list ?? []).compactMap(\.path).map(PathRanges.only).reduce(.none) { $0.union($1) }
  }
}

extension Cursor {
  /// The names from a start on, or up to an end.
  fileprivate func names(isStart: Bool) -> PathRanges {
    guard let path = values.first?.path else { return .all }
    switch (isStart, side) {
    case (true, .before): return .from(path)
    case (true, .after): return .after(path)
    case (false, .before): return .before(path)
    case (false, .after): return .through(path)
    }
  }
}

extension StoredValue {
  fileprivate var path: DocumentPath? {
    if case .reference(let reference) = self { reference.path } else { nil }
  }
}
