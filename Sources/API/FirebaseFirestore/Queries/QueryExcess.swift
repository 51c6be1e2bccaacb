// The filters and orders by which a query exceeds the size limit.
//
//   - A query with more parts than the limit can be built, but it cannot be run, even after further steps. In
//     Firestore, too, such a query is rejected by the server and not by the client library.
//   - The structured query of such a query has one part more than the limit, so that the engine always
//     rejects it.
//   - The cost of a step does not depend on the number of earlier steps. Queries that were built from each
//     other share one array of steps, and each of them uses the first `count` steps.

import ByteStore
import DocumentStore

struct QueryExcess: Sendable {
  private enum Step: Sendable, Equatable {
    case filter(FilterTree)
    /// A filter that is too large to keep, represented by its number of conditions.
    case largeFilter(Int)
    case order(OrderBy)
    case cursor(CursorStep)
  }

  /// A start or an end with all its values. The structured query holds at most as many of the values as it
  /// has orders.
  struct CursorStep: Sendable, Equatable {
    var isStart: Bool
    var side: Cursor.Side
    var values: [StoredValue]
  }

  /// A small query with one filter for each operator in use. It is used to validate new steps: the full query
  /// would reject a step that this query rejects.
  private var probe: StructuredQuery
  private var operators: Set<FieldFilter.Operator> = []
  private var steps: Steps
  private var count = 0
  /// The number of filters and orders, including those of the structured query.
  private(set) var partCount: Int
  private(set) var orderCount: Int

  /// Creates an excess without steps, for a query that has reached the limit.
  init(beyond query: StructuredQuery) throws(DocumentStoreError) {
    probe = StructuredQuery(query.scope)
    steps = Steps()
    partCount = query.partCount
    orderCount = query.explicitOrders.count
    for filter in query.filters.flatMap(\.leaves) { try note(filter.operator) }
  }

  private init(_ other: QueryExcess, adding step: Step, parts: Int) {
    self = other
    // A filter that is too large to keep counts as at most 2^40 conditions.
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
    private let all: Locked<[Step]>

    init(_ steps: [Step] = []) { all = Locked(steps) }

    /// Returns a list with the first `count` steps and `step`. Appends to this object, unless another query
    /// has already appended to it.
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
  /// The number of filters and orders that count towards the limit.
  var partCount: Int { filters.reduce(explicitOrders.count) { $0 + $1.leaves.count } }

  /// The number of names in the path of the collection's parent, which count towards the limit too.
  var parentNameCount: Int {
    switch scope {
    case .collection(let collection): collection.segments.count - 1
    case .collectionGroup: 0
    case .document(let path): path.segments.count
    }
  }

  /// Returns the query with just enough of `leaves` to make it too large to run.
  func filled(with leaves: [FieldFilter]) throws(DocumentStoreError) -> StructuredQuery {
    let room = QueryLimits().partsMax + 1 - partCount
    guard room > 0 else { return self }
    return try filtered(by: .all(leaves.prefix(room).map { .field($0) }))
  }
}
