// Filters and orders of a query beyond the limit that every query has.
//
//   - A query of more parts than the limit cannot run, whatever is asked of it next. It can be built: the original's
//     server refuses it, and not the client.
//   - Its structured query has one part more than the limit, so that the engine refuses it everywhere.
//   - Each further step costs the same, however many came before: the steps of queries that were built one from the other
//     lie in one array, and each query has the first `count` of them.

import DocumentStore
import FirebaseCore

struct QueryExcess: Sendable {
  private enum Step: Sendable, Equatable {
    case filter(FilterTree)
    /// A filter too large to be kept, with so many conditions.
    case largeFilter(Int)
    case order(OrderBy)
    case cursor(CursorStep)
  }

  /// A start or an end beside values. The structured query has as many of these as it has orders.
  struct CursorStep: Sendable, Equatable {
    var isStart: Bool
    var side: Cursor.Side
    var values: [StoredValue]
  }

  /// With one filter of each operator that was used: what it does not take, the query could not take either.
  private var probe: StructuredQuery
  private var operators: Set<FieldFilter.Operator> = []
  private var steps: Steps
  private var count = 0
  /// Filters and orders, those of the structured query too.
  private(set) var partCount: Int
  private(set) var orderCount: Int

  /// Begins at the query that is full.
  init(beyond query: StructuredQuery) throws(DocumentStoreError) {
    probe = StructuredQuery(query.scope)
    steps = Steps()
    partCount = query.partCount
    orderCount = query.explicitOrders.count
    for filter in query.filters.flatMap(\.leaves) { try note(filter.operator) }
  }

  private init(_ other: QueryExcess, adding step: Step, parts: Int) {
    self = other
    // A filter that is too large to be kept counts as 2^40 conditions at most.
    partCount = min(partCount + parts, Filter.Condition.leavesMax)
    count += 1
    steps = other.steps.appended(step, to: other.count)
  }

  // MARK: Steps

  func adding(_ filter: FilterTree) throws(DocumentStoreError) -> QueryExcess {
    let leaves = filter.leaves
    var excess = QueryExcess(self, adding: .filter(filter), parts: leaves.count)
    for leaf in leaves {
      _ = try excess.probe.filtered(by: .field(leaf))
      try excess.note(leaf.operator)
    }
    return excess
  }

  func addingLargeFilter(conditions: Int) -> QueryExcess {
    QueryExcess(self, adding: .largeFilter(conditions), parts: conditions)
  }

  func adding(_ order: OrderBy) -> QueryExcess {
    var excess = QueryExcess(self, adding: .order(order), parts: 1)
    excess.orderCount += 1
    return excess
  }

  func setting(_ cursor: CursorStep) -> QueryExcess {
    QueryExcess(self, adding: .cursor(cursor), parts: 0)
  }

  private mutating func note(_ operator: FieldFilter.Operator) throws(DocumentStoreError) {
    guard operators.insert(`operator`).inserted else { return }
    probe = try probe.filtered(
      by: .field(
        StoredFieldPath(unchecked: ["any"]), `operator`, `operator`.takesList ? .array([.null]) : .null))
  }

  // MARK: Shared steps

  private final class Steps: Sendable {
    private let all: Guarded<[Step]>

    init(_ steps: [Step] = []) { all = Guarded(steps) }

    /// The first `count` of these and `step`: here, unless another query has gone on from there.
    func appended(_ step: Step, to count: Int) -> Steps {
      let isHere = all.withLock { steps in
        guard steps.count == count else { return false }
        steps.append(step)
        return true
      }
      return isHere ? self : Steps(prefix(count) + [step])
    }

    func prefix(_ count: Int) -> [Step] { all.withLock { Array($0.prefix(count)) } }
  }
}

extension QueryExcess: Equatable {
  static func == (left: QueryExcess, right: QueryExcess) -> Bool {
    guard left.count == right.count, left.partCount == right.partCount else { return false }
    return left.steps === right.steps || left.steps.prefix(left.count) == right.steps.prefix(right.count)
  }
}

extension StructuredQuery {
  /// Filters and orders that count towards the limit.
  var partCount: Int { filters.reduce(explicitOrders.count) { $0 + $1.leaves.count } }

  /// Names that lead to the collection, which count towards the limit too.
  var parentNameCount: Int {
    switch scope {
    case .collection(let collection): collection.segments.count - 1
    case .collectionGroup: 0
    case .document(let path): path.segments.count
    }
  }

  /// The query with as many of `leaves` as make it one too large to run.
  func filled(with leaves: [FieldFilter]) throws(DocumentStoreError) -> StructuredQuery {
    let room = QueryLimits().partsMax + 1 - partCount
    guard room > 0 else { return self }
    return try filtered(by: .all(leaves.prefix(room).map { .field($0) }))
  }
}
