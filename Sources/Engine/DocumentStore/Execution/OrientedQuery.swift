// A query that is oriented so that document names ascend.

/// The direction in which a query reads, and its orders for ascending names. Queries of one form have the
/// same orientation.
struct QueryOrientation: Sendable {
  let isBackward: Bool
  /// The orders before the document's name.
  let orders: [OrderBy]
  /// True if orders follow the document's name. Such orders do not affect the sequence of the results, but a
  /// document must have their fields.
  let hasOrdersAfterName: Bool

  init(_ run: StructuredQuery) {
    let nameIndex = run.orders.firstIndex { $0.field == .documentID } ?? run.orders.count
    isBackward = nameIndex < run.orders.count && run.orders[nameIndex].direction == .descending
    let orders = run.orders[..<nameIndex]
    self.orders = isBackward ? orders.map(\.reversed) : Array(orders)
    hasOrdersAfterName = nameIndex + 1 < run.orders.count
  }

  /// The start of a query in the direction of ascending names.
  func start(of run: StructuredQuery) -> Cursor? { isBackward ? run.end?.reversed : run.start }

  /// The end of a query in the direction of ascending names.
  func end(of run: StructuredQuery) -> Cursor? { isBackward ? run.start?.reversed : run.end }
}

/// The query to run. If its document names descend, `orders` and the cursors are reversed, and the indexes
/// are read backward. This type is a class because every conjunction of the plan refers to it.
final class OrientedQuery: Sendable {
  let run: StructuredQuery
  let orientation: QueryOrientation
  let start: Cursor?
  let end: Cursor?

  convenience init(_ run: StructuredQuery) { self.init(run, QueryOrientation(run)) }

  /// Creates the query with its known orientation.
  init(_ run: StructuredQuery, _ orientation: QueryOrientation) {
    self.run = run
    self.orientation = orientation
    start = orientation.start(of: run)
    end = orientation.end(of: run)
  }

  var isBackward: Bool { orientation.isBackward }

  var orders: [OrderBy] { orientation.orders }

  var hasOrdersAfterName: Bool { orientation.hasOrdersAfterName }

  var scope: IndexDefinition.Scope {
    if case .collectionGroup = run.scope { .collectionGroup } else { .collection }
  }

  var collectionID: String { run.scope.collectionID }

  var namePrefix: [UInt8] {
    switch run.scope {
    case .collection(let collection): NameKey.prefix(collection)
    case .collectionGroup(let id): NameKey.prefix(group: id)
    case .document(let path): NameKey.prefix(path.parent)
    }
  }

  /// Access to all documents of the scope.
  var names: QueryPlan.Access {
    QueryPlan.Access(source: .names, prefixBytes: namePrefix.count, ranges: [.prefix(namePrefix)])
  }

  func prefix(of definition: IndexDefinition) -> [UInt8] {
    if case .collection(let collection) = run.scope { definition.prefix(collection) } else { [] }
  }

  // MARK: Names

  /// Returns the bound before or after a document's name. The bound is encoded like the document names at the
  /// end of this scope's keys.
  func cut(_ side: Cursor.Side, _ path: DocumentPath) -> KeyBound {
    guard case .collection(let collection) = run.scope else {
      var bytes: [UInt8] = []
      DocumentKey.append(path, to: &bytes)
      return side == .before ? .before(bytes) : .after(bytes)
    }
    let depth = collection.segments.count
    guard path.segments.prefix(depth).elementsEqual(collection.segments, by: { $0.isSameUTF8(as: $1) }),
      path.segments.count > depth
    else {
      // The document lies outside the collection: the cut is before or after all of the collection's
      // documents.
      return Self.precedes(path.segments, collection.segments) ? .before([]) : .after([])
    }
    var bytes: [UInt8] = []
    DocumentKey.append(path.segments[depth], to: &bytes)
    // Documents in the subcollections of a document sort after that document.
    return side == .after || path.segments.count > depth + 1 ? .after(bytes) : .before(bytes)
  }

  private static func precedes(_ left: [String], _ right: [String]) -> Bool {
    var keys: [[UInt8]] = [[], []]
    for segment in left { DocumentKey.append(segment, to: &keys[0]) }
    for segment in right { DocumentKey.append(segment, to: &keys[1]) }
    return keys[0].precedes(keys[1])
  }

  /// Returns the names that satisfy a filter on the document's name, as intervals. Nil if the filter does not
  /// correspond to intervals.
  func intervals(_ filter: FieldFilter) -> [ValueInterval]? {
    guard let path = filter.operand.documentName else {
      guard filter.operator == .notIn, let list = filter.list else { return nil }
      let names = list.compactMap(\.documentName)
      return names.count == list.count ? allBut(names) : nil
    }
    return switch filter.operator {
    case .equal: [ValueInterval(lower: cut(.before, path), upper: cut(.after, path))]
    case .lessThan: [ValueInterval(lower: .before([]), upper: cut(.before, path))]
    case .lessThanOrEqual: [ValueInterval(lower: .before([]), upper: cut(.after, path))]
    case .greaterThan: [ValueInterval(lower: cut(.after, path), upper: .after([]))]
    case .greaterThanOrEqual: [ValueInterval(lower: cut(.before, path), upper: .after([]))]
    case .notEqual: allBut([path])
    case .isIn, .notIn, .arrayContains, .arrayContainsAny: nil
    }
  }

  private func allBut(_ names: [DocumentPath]) -> [ValueInterval] {
    var intervals: [ValueInterval] = []
    var lower = KeyBound.before([])
    let sorted = names.sorted { DocumentKey.encode($0).precedes(DocumentKey.encode($1)) }
    for name in sorted {
      intervals.append(ValueInterval(lower: lower, upper: cut(.before, name)))
      lower = cut(.after, name)
    }
    return intervals + [ValueInterval(lower: lower, upper: .after([]))]
  }
}

extension StoredValue {
  var documentName: DocumentPath? { if case .reference(let reference) = self { reference.path } else { nil } }
}
