// A query as a value: what it asks for, which documents match, and in which order they come.
//
//   answer = the first `limit` of { d in scope | d has every field of `orders`, satisfies every filter,
//            and lies between `start` and `end` }, sorted by `orders`
//
// A limit on the last documents is the same with everything mirrored, and the answer turned round.

/// A query of documents. It is built step by step; each step makes a new query.
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
  /// Which documents are asked.
  public enum Scope: Hashable, Sendable {
    /// The documents that lie directly in the collection.
    case collection(CollectionPath)
    /// The documents of all collections with this id, wherever they are.
    case collectionGroup(String)
    /// One document.
    case document(DocumentPath)
  }

  /// How many results there are at most.
  public enum Limit: Hashable, Sendable {
    /// The first ones.
    case first(Int)
    /// The last ones.
    case last(Int)
  }

  /// Which documents are asked.
  public let scope: Scope
  /// All of them must hold. Simplified, and with operands on document ids resolved.
  public internal(set) var filters: [FilterTree] = [] { didSet { completeOrders() } }
  /// Those that were asked for.
  public internal(set) var explicitOrders: [OrderBy] = [] { didSet { completeOrders() } }
  /// Those that were asked for, then one for each field of an inequality, then the document's name:
  /// no two documents are the same to them.
  public private(set) var orders = [OrderBy(.documentID)]
  /// Results come after this gap. At most one value for each of `orders`; what stands for the document's
  /// name is a `documentName`.
  public package(set) var start: Cursor?
  /// Results come before this gap.
  public package(set) var end: Cursor?
  /// How many at most; nil for all.
  public internal(set) var limit: Limit?

  /// All documents of the scope, in the order of their names.
  public init(_ scope: Scope) { self.scope = scope }

  /// Whether the document is in the answer, as long as no limit cuts it off.
  public func matches(_ document: StoredDocument) -> Bool {
    scope.contains(document.path) && position(ifMatching: document.value) != nil
  }

  /// What a document of the scope has in the fields of `orders`, if it is in the answer as long as no limit cuts
  /// it off. `value` gives what it has in a field.
  func position(ifMatching value: (StoredFieldPath) -> StoredValue?) -> [StoredValue]? {
    guard filters.allSatisfy({ $0.matches(value) }), let position = position(value),
      isBetweenCursors(position)
    else { return nil }
    return position
  }

  /// The order of two documents that match.
  package func compare(_ left: StoredDocument, _ right: StoredDocument) -> Ordering {
    for order in orders {
      let (left, right) = (order.value(in: left) ?? .null, order.value(in: right) ?? .null)
      let ordering = order.compare(left, right)
      if ordering != .same { return ordering }
    }
    return .same
  }

  /// The answer, found by looking at every document.
  package func answer(from documents: some Sequence<StoredDocument>) -> [StoredDocument] {
    let run = asRun
    let sorted = documents.filter(run.matches).sorted { run.compare($0, $1) == .before }
    guard let limit else { return sorted }
    switch limit {
    case .first(let count): return Array(sorted.prefix(count))
    case .last(let count): return sorted.prefix(count).reversed()
    }
  }

  // MARK: Orders

  private mutating func completeOrders() {
    orders = explicitOrders
    let direction = explicitOrders.last?.direction ?? .ascending
    let inequalities = filters.flatMap(\.leaves).filter(\.operator.isInequality).map(\.field)
    let implicit = Set(inequalities).subtracting([.documentID]).sorted() + [.documentID]
    for field in implicit where !explicitOrders.contains(where: { $0.field == field }) {
      orders.append(OrderBy(field, direction))
    }
  }

  /// The query that runs in place of this one: itself, or for a limit on the last documents its mirror
  /// image, whose answer has to be turned round.
  package var asRun: StructuredQuery {
    guard case .last(let count) = limit else { return self }
    var mirrored = self
    mirrored.explicitOrders = orders.map(\.reversed)
    mirrored.start = end?.reversed
    mirrored.end = start?.reversed
    mirrored.limit = .first(count)
    return mirrored
  }

  // MARK: Positions

  /// What the document has in the fields of `orders`, or nil if it lacks one of them.
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

  /// On which side of the gap the position lies.
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
  var collectionID: String {
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
