// Queries as values, and their semantics.
//
//   answer = the first `limit` behind the first `offset` of { d in scope | d has every field of `orders`,
//            satisfies every filter, and lies between `start` and `end` }, sorted by `orders`
//
// A limit on the last documents is defined by the mirrored query, with its result reversed.

/// A query of documents. Each building step returns a new query.
///
/// ```swift
/// let store = try DocumentStore.open("shop-data")
/// let age = try StoredFieldPath(dotted: "age")
/// let query = try StructuredQuery(.collection(CollectionPath(["users"])))
///   .filtered(by: .field(age, .greaterThanOrEqual, .integer(18)))
///   .ordered(by: OrderBy(age, .descending)).limited(to: .first(20))
/// print(try store.documents(query).map(\.path.id), try store.explain(query))
/// ```
public struct StructuredQuery: Sendable, Equatable {
  /// The set of documents that a query searches.
  public enum Scope: Hashable, Sendable {
    /// The documents directly in a collection.
    case collection(CollectionPath)
    /// The documents in all collections with this id, at any depth.
    case collectionGroup(String)
    /// A single document.
    case document(DocumentPath)
  }

  /// A limit on the number of results.
  public enum Limit: Hashable, Sendable {
    /// The first documents.
    case first(Int)
    /// The last documents.
    case last(Int)
  }

  /// The set of documents that the query searches.
  public let scope: Scope
  /// The filters, which must all hold. They are simplified, and operands on document ids are resolved to
  /// document names.
  public internal(set) var filters: [FilterTree] = [] { didSet { completeOrdersOfNewFilters() } }
  /// The explicitly added orders.
  public internal(set) var explicitOrders: [OrderBy] = [] { didSet { completeOrders() } }
  /// The explicit orders, then one order for each other field with an inequality, and finally the document's
  /// name. Together, they are a total order.
  public private(set) var orders = [OrderBy(.documentID)]
  /// The result starts after this cursor. The cursor has at most one value per order. A document's name in it
  /// is a `documentName`.
  public package(set) var start: Cursor?
  /// The result ends before this cursor.
  public package(set) var end: Cursor?
  /// The maximum number of results; nil for no limit.
  public internal(set) var limit: Limit?

  /// The number of results that are skipped before the limit counts. If the limit selects the last documents,
  /// the skipped ones are at the end, too.
  package internal(set) var offset = 0

  /// Creates a query for all documents of the scope, ordered by name.
  public init(_ scope: Scope) { self.scope = scope }

  /// Copies a query with other cursors. The fields are copied once; a changed copy would be copied again.
  init(_ query: borrowing StructuredQuery, from start: Cursor?, to end: Cursor?) {
    scope = query.scope
    filters = query.filters
    explicitOrders = query.explicitOrders
    orders = query.orders
    self.start = start
    self.end = end
    limit = query.limit
    offset = query.offset
  }

  /// Whether the document matches, ignoring the limit and the offset.
  public func matches(_ document: StoredDocument) -> Bool {
    scope.contains(document.path) && position(ifMatching: document.value) != nil
  }

  /// Returns the values of `orders` if the document matches; otherwise nil. The document must be in the
  /// query's scope, and the limit is ignored. `value` returns the document's value of a field.
  func position(ifMatching value: (StoredFieldPath) -> StoredValue?) -> [StoredValue]? {
    guard filters.allSatisfy({ $0.matches(value) }), let position = position(value),
      isBetweenCursors(position)
    else { return nil }
    return position
  }

  /// Compares two matching documents by the query's orders.
  package func compare(_ left: StoredDocument, _ right: StoredDocument) -> Ordering {
    for order in orders {
      let (left, right) = (order.value(in: left) ?? .null, order.value(in: right) ?? .null)
      let ordering = order.compare(left, right)
      if ordering != .same { return ordering }
    }
    return .same
  }

  /// Computes the result by brute force, by checking every document.
  package func answer(from documents: some Sequence<StoredDocument>) -> [StoredDocument] {
    let run = executableForm
    let sorted = documents.filter(run.matches).sorted { run.compare($0, $1) == .before }.dropFirst(offset)
    guard let limit else { return Array(sorted) }
    switch limit {
    case .first(let count): return Array(sorted.prefix(count))
    case .last(let count): return sorted.prefix(count).reversed()
    }
  }

  // MARK: Orders

  /// Filters without inequalities add no orders. If there were none before, the orders stay as they are.
  private mutating func completeOrdersOfNewFilters() {
    let hasName = explicitOrders.contains { $0.field == .documentID }
    guard orders.count > explicitOrders.count + (hasName ? 0 : 1) || filters.contains(where: \.hasInequality)
    else { return }
    completeOrders()
  }

  private mutating func completeOrders() {
    orders = explicitOrders
    let direction = explicitOrders.last?.direction ?? .ascending
    let inequalities = filters.flatMap(\.leaves).filter(\.operator.isInequality).map(\.field)
    let implicit = Set(inequalities).subtracting([.documentID]).sorted() + [.documentID]
    for field in implicit where !explicitOrders.contains(where: { $0.field == field }) {
      orders.append(OrderBy(field, direction))
    }
  }

  /// The query to execute. For a limit on the last documents, this is the mirror image of the query, whose
  /// result must be reversed. Otherwise, it is the query itself.
  package var executableForm: StructuredQuery {
    guard case .last(let count) = limit else { return self }
    var mirrored = self
    mirrored.explicitOrders = orders.map(\.reversed)
    mirrored.start = end?.reversed
    mirrored.end = start?.reversed
    mirrored.limit = .first(count)
    return mirrored
  }

  /// The number of matching documents that decide the result: the skipped ones and those within the limit.
  /// Nil if there is no limit.
  var reach: Int? {
    switch limit {
    case .first(let count), .last(let count):
      let (reach, overflow) = count.addingReportingOverflow(offset)
      return overflow ? .max : reach
    case nil: return nil
    }
  }

  /// The query for the documents that decide the result. This is the query itself if it has no offset.
  var withoutOffset: StructuredQuery {
    guard offset > 0 else { return self }
    var query = self
    query.offset = 0
    switch limit {
    case .first: query.limit = reach.map { .first($0) }
    case .last: query.limit = reach.map { .last($0) }
    case nil: break
    }
    return query
  }

  // MARK: Positions

  /// The document's values of `orders`, or nil if the document lacks one of the fields.
  package func position(of document: StoredDocument) -> [StoredValue]? { position(document.value) }

  private func position(_ value: (StoredFieldPath) -> StoredValue?) -> [StoredValue]? {
    var values: [StoredValue] = []
    values.reserveCapacity(orders.count)
    for order in orders {
      guard let value = order.value(in: value) else { return nil }
      values.append(value)
    }
    return values
  }

  package func isBetweenCursors(_ position: [StoredValue]) -> Bool {
    if let start, side(of: position, from: start) == .before { return false }
    if let end, side(of: position, from: end) == .after { return false }
    return true
  }

  /// The side of the cursor on which the position lies.
  private func side(of position: [StoredValue], from cursor: Cursor) -> Cursor.Side {
    for (order, (value, limit)) in zip(orders, zip(position, cursor.values)) {
      switch order.compare(value, limit) {
      case .before: return .before
      case .after: return .after
      case .same: continue
      }
    }
    return cursor.side.reversed
  }
}

extension StructuredQuery.Scope {
  package var collectionID: String {
    switch self {
    case .collection(let collection): collection.id
    case .collectionGroup(let id): id
    case .document(let path): path.collectionID
    }
  }

  package func contains(_ path: DocumentPath) -> Bool {
    let segments = path.segments
    return switch self {
    case .collection(let collection):
      segments.dropLast().elementsEqual(collection.segments) { $0.isSameUTF8(as: $1) }
    case .collectionGroup(let id): segments[segments.count - 2].isSameUTF8(as: id)
    case .document(let document): path == document
    }
  }
}
