// A query turned so that the names of its documents ascend, and the filters of one alternative, as keys see
// them.

/// The query to run, and the same with every order the other way round if it was for descending names. A class, since
/// what is planned from it refers to it often.
final class OrientedQuery: Sendable {
  let run: StructuredQuery
  let isBackward: Bool
  /// Up to the document's name, and without it.
  let orders: [OrderBy]
  /// Fields of orders behind the document's name: they order nothing, but a document has to have them.
  let hasOrdersBehindName: Bool
  let start: Cursor?
  let end: Cursor?

  init(_ run: StructuredQuery) {
    self.run = run
    let nameIndex = run.orders.firstIndex { $0.field == .documentID } ?? run.orders.count
    isBackward = nameIndex < run.orders.count && run.orders[nameIndex].direction == .descending
    let orders = run.orders[..<nameIndex]
    self.orders = isBackward ? orders.map(\.reversed) : Array(orders)
    hasOrdersBehindName = nameIndex + 1 < run.orders.count
    start = isBackward ? run.end?.reversed : run.start
    end = isBackward ? run.start?.reversed : run.end
  }

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

  /// All documents of the scope.
  var names: QueryPlan.Access {
    QueryPlan.Access(source: .names, prefixBytes: namePrefix.count, ranges: [.prefix(namePrefix)])
  }

  func prefix(of definition: IndexDefinition) -> [UInt8] {
    if case .collection(let collection) = run.scope { definition.prefix(collection) } else { [] }
  }

  // MARK: Names

  /// The gap beside a name, in names as the keys of this scope have them at their end.
  func cut(_ side: Cursor.Side, _ path: DocumentPath) -> ValueCut {
    guard case .collection(let collection) = run.scope else {
      var bytes: [UInt8] = []
      DocumentKey.append(path, to: &bytes)
      return side == .before ? .before(bytes) : .after(bytes)
    }
    let depth = collection.segments.count
    guard path.segments.prefix(depth).elementsEqual(collection.segments, by: { $0.isSameUTF8(as: $1) }),
      path.segments.count > depth
    else {
      // Of a document elsewhere: before all of these, or behind them.
      return Self.precedes(path.segments, collection.segments) ? .before([]) : .after([])
    }
    var bytes: [UInt8] = []
    DocumentKey.append(path.segments[depth], to: &bytes)
    // What lies below a document comes after it.
    return side == .after || path.segments.count > depth + 1 ? .after(bytes) : .before(bytes)
  }

  private static func precedes(_ left: [String], _ right: [String]) -> Bool {
    var keys: [[UInt8]] = [[], []]
    for segment in left { DocumentKey.append(segment, to: &keys[0]) }
    for segment in right { DocumentKey.append(segment, to: &keys[1]) }
    return keys[0].precedes(keys[1])
  }

  /// The names that satisfy a filter on the document's name.
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
    var lower = ValueCut.before([])
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

/// Filters that hold together.
struct Conjunction {
  /// An equality, or an element that an array has to have.
  struct Front {
    var field: IndexDefinition.Field
    var value: StoredValue
  }

  let query: OrientedQuery
  /// In the order of their fields.
  private(set) var fronts: [Front] = []
  /// The document's name, if the filters say it.
  private(set) var name: DocumentPath?
  /// Those of the query that the keys need behind the fronts. What an equality decides is the same in all
  /// documents: it orders nothing here, and among several conjunctions it does so as `endPrefix`.
  private(set) var orders: [OrderBy] = []
  private(set) var endPrefix: [UInt8] = []
  /// By their places among those of the query: a field may be there more than once.
  private var dropped: Set<Int> = []
  /// On the first order, or on the name if there are none.
  private var bounds: [[ValueInterval]] = []
  private var rest: [FieldFilter] = []
  /// No filter is left that keys do not decide.
  private(set) var isDecidedByKeys: Bool

  /// Nil if no document can satisfy all of them.
  init?(_ filters: [FieldFilter], _ query: OrientedQuery) {
    self.query = query
    isDecidedByKeys = !query.hasOrdersBehindName
    var rest: [FieldFilter] = []
    for filter in filters {
      switch filter.operator {
      case .equal where filter.field == .documentID:
        // One without segments has its place in the order, and is no document's.
        guard let path = filter.operand.documentName, !path.segments.isEmpty, name.map({ $0 == path }) ?? true
        else { return nil }
        name = path
      case .equal:
        let field = IndexDefinition.Field(filter.field)
        guard let other = fronts.first(where: { $0.field == field }) else {
          fronts.append(Front(field: field, value: filter.operand))
          continue
        }
        guard ValueOrder.areEqual(other.value, filter.operand) else { return nil }
      case .arrayContains:
        if fronts.contains(where: { $0.field.part == .element }) {
          isDecidedByKeys = false
        } else {
          fronts.append(
            Front(field: IndexDefinition.Field(filter.field, .element), value: filter.operand))
        }
      default:
        rest.append(filter)
      }
    }
    fronts.sort { ($0.field.path, $0.field.isElement ? 1 : 0) < ($1.field.path, $1.field.isElement ? 1 : 0) }
    self.rest = rest
    orders = query.orders
    if let cursor = query.start, hasValuesBehindName(cursor) { isDecidedByKeys = false }
    if let cursor = query.end, hasValuesBehindName(cursor) { isDecidedByKeys = false }
  }

  /// What equalities say a field is.
  func value(of field: StoredFieldPath) -> StoredValue? {
    fronts.first { !$0.field.isElement && $0.field.path == field }?.value
  }

  /// Finds out which orders the keys need. `others` are the conjunctions that this one is merged with; itself may be among
  /// them.
  mutating func settle(with others: [Conjunction]) {
    orders = []
    for (place, order) in query.orders.enumerated() {
      guard let value = value(of: order.field) else {
        orders.append(order)
        continue
      }
      let isAgreed = others.allSatisfy { other in
        other.value(of: order.field).map { ValueOrder.areEqual($0, value) } ?? false
      }
      if isAgreed {
        dropped.insert(place)
      } else if orders.isEmpty {
        dropped.insert(place)
        IndexKey.append(value, order.direction, to: &endPrefix)
      } else {
        orders.append(order)
      }
    }
    for filter in rest { add(filter) }
  }

  private mutating func add(_ filter: FieldFilter) {
    if let first = orders.first {
      // Where missing fields count as null, a bound that includes null would include them.
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

  /// The index that has just the keys it takes.
  var ideal: IndexDefinition {
    IndexDefinition(
      unchecked: query.collectionID, query.scope, fronts.map(\.field) + orders.map(\.indexField))
  }

  /// Whether an index has its documents in order: all equalities, or with others some of them, and then the
  /// orders.
  func isServed(by definition: IndexDefinition, whole: Bool) -> Bool {
    // Asked of every index by every query: nothing is allocated here.
    let frontCount = definition.fields.count - orders.count
    guard definition.scope == query.scope, frontCount >= 0,
      whole ? frontCount == fronts.count : frontCount <= fronts.count,
      zip(definition.fields.dropFirst(frontCount), orders).allSatisfy({ $0 == $1.indexField })
    else { return false }
    return (0..<frontCount).allSatisfy { place in
      let field = definition.fields[place].asFront
      return fronts.contains { $0.field == field }
        && !definition.fields[..<place].contains { $0.asFront == field }
    }
  }

  /// All that the equalities leave, where the index begins with some of them.
  func partialAccess(_ definition: IndexDefinition) -> QueryPlan.Access? {
    // One that leaves out documents without some field has not all of them.
    guard definition.scope == query.scope,
      definition.fields.allSatisfy({ field in fronts.contains { $0.field == field.asFront } })
    else { return nil }
    let prefix = prefix(definition, fields: definition.fields[...])
    return QueryPlan.Access(source: .index(definition), prefixBytes: prefix.count, ranges: [.prefix(prefix)])
  }

  func access(_ definition: IndexDefinition) -> QueryPlan.Access {
    access(.index(definition), prefix(definition, fields: definition.fields.dropLast(orders.count)))
  }

  /// The names between its bounds; for one without other orders.
  var names: QueryPlan.Access {
    orders.isEmpty ? access(.names, query.namePrefix) : query.names
  }

  private func prefix(
    _ definition: IndexDefinition, fields: ArraySlice<IndexDefinition.Field>
  ) -> [UInt8] {
    var prefix = query.prefix(of: definition)
    for field in fields {
      guard let front = fronts.first(where: { $0.field == field.asFront }) else { continue }
      IndexKey.append(front.value, field.part.direction ?? .ascending, to: &prefix)
    }
    return prefix
  }

  private func access(_ source: QueryPlan.Access.Source, _ prefix: [UInt8]) -> QueryPlan.Access {
    var ranges = [ByteRange.prefix(prefix)]
    for intervals in bounds {
      ranges = ranges.intersection(intervals.compactMap { $0.range(behind: prefix) })
    }
    if query.start != nil || query.end != nil {
      let between = ValueInterval(
        lower: query.start.map(cut) ?? .before([]), upper: query.end.map(cut) ?? .after([]))
      ranges = ranges.intersection(between.range(behind: prefix).map { [$0] } ?? [])
    }
    return QueryPlan.Access(
      source: source, prefixBytes: prefix.count, ranges: ranges, endPrefix: endPrefix)
  }

  // MARK: Cursors

  private func hasValuesBehindName(_ cursor: Cursor) -> Bool {
    cursor.values.count > query.orders.count + 1
  }

  /// The gap of a cursor, among what the keys have behind the equalities.
  private func cut(_ cursor: Cursor) -> ValueCut {
    var bytes: [UInt8] = []
    var values = cursor.values[...]
    for (place, order) in query.orders.enumerated() {
      guard let value = values.popFirst() else { return gap(cursor.side, bytes) }
      if dropped.contains(place), let decided = self.value(of: order.field) {
        switch order.compare(decided, value) {
        case .same: continue
        // All that it finds is on one side.
        case .after: return .before(bytes)
        case .before: return .after(bytes)
        }
      }
      IndexKey.append(value, order.direction, to: &bytes)
    }
    guard let name = values.popFirst()?.documentName else { return gap(cursor.side, bytes) }
    // Values behind the name decide whether the document itself is in; it is looked at.
    let side = values.isEmpty ? cursor.side : (isStart(cursor) ? .before : .after)
    switch query.cut(side, name) {
    case .before(let end): return .before(bytes + end)
    case .after(let end): return .after(bytes + end)
    }
  }

  private func isStart(_ cursor: Cursor) -> Bool { query.start == cursor }

  private func gap(_ side: Cursor.Side, _ bytes: [UInt8]) -> ValueCut {
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

  /// What it is to an equality: of values that are all the same, the direction tells nothing.
  var asFront: IndexDefinition.Field {
    if case .value = part { IndexDefinition.Field(path) } else { self }
  }
}
