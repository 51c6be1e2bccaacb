// A plan without values, for all queries of one form.

/// The choice that the planner made for a query of a form: one index, or the names, and how the values of a
/// query become ranges of keys.
///
/// Only plans whose choice depends on the form and on the existing indexes alone have a template. For such
/// plans, the planner never estimates keys. The values decide only the ranges, and whether keys decide the
/// result. The code for both is the same with and without a template: `Conjunction`, or `ByteRange.between`
/// if only cursors bound the keys.
final class PlanTemplate: Sendable {
  /// A filter whose operand is part of the common prefix of the keys.
  private struct PrefixPart: Sendable {
    let filter: Int
    let direction: OrderBy.Direction
  }

  private let orientation: QueryOrientation
  private let conjunction: Conjunction.Form
  private let source: QueryPlan.Access.Source
  /// The keys with the prefix before the operands.
  private let keys: ByteRange
  private let prefixParts: [PrefixPart]
  /// Whether cursors alone bound the keys with the prefix.
  private let isBoundedByCursors: Bool

  /// Nil if values or estimates take part in the choice of the access. `conjunction` has all filters of the
  /// query, and `branch` is the exact branch that the planner chose for it.
  init?(_ conjunction: Conjunction, _ branch: QueryPlan.Branch) {
    guard let form = conjunction.form, branch.accesses.count == 1 else { return nil }
    switch branch.accesses[0].source {
    case .names:
      keys = .prefix(conjunction.query.namePrefix)
      prefixParts = []
    case .index(let definition):
      guard conjunction.isServed(by: definition, whole: true) else { return nil }
      keys = .prefix(conjunction.query.prefix(of: definition))
      prefixParts = definition.fields.dropLast(conjunction.orders.count).compactMap { field in
        conjunction.equalityFields.first { $0.field == field.asEquality }
          .map { PrefixPart(filter: $0.place, direction: field.part.direction ?? .ascending) }
      }
    }
    self.conjunction = form
    isBoundedByCursors = form.isBoundedByCursors(of: conjunction.query)
    orientation = conjunction.query.orientation
    source = branch.accesses[0].source
  }

  /// The place of the template's index in a view; nil for the names.
  func indexPlace(in view: IndexView) -> Int? {
    if case .index(let definition) = source { view.place(of: definition) } else { nil }
  }

  /// The plan for a query of the template's form. `indexPlace` is the place of the template's index in the
  /// view of the query.
  func plan(for run: StructuredQuery, at indexPlace: Int?) -> QueryPlan {
    let keys = prefixParts.isEmpty ? keys : .prefix(prefix(of: run))
    let prefix = keys.lower
    guard isBoundedByCursors else {
      let conjunction = Conjunction(conjunction, OrientedQuery(run, orientation))
      return QueryPlan(
        run, isBackward: orientation.isBackward, inOrderOf: conjunction.access(source, prefix),
        at: indexPlace, isExact: conjunction.isDecidedByKeys)
    }
    let start = orientation.start(of: run).map { KeyBound($0, orientation.orders, behind: prefix) }
    let end = orientation.end(of: run).map { KeyBound($0, orientation.orders, behind: prefix) }
    let range = keys.between(start, end)
    return QueryPlan(
      run, isBackward: orientation.isBackward,
      inOrderOf: QueryPlan.Access(
        source: source, prefixBytes: prefix.count, ranges: range.map { [$0] } ?? []),
      at: indexPlace, isExact: conjunction.isDecidedByKeys)
  }

  private func prefix(of run: StructuredQuery) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(keys.lower.count + KeyBound.valueBytes * prefixParts.count)
    bytes.append(contentsOf: keys.lower)
    for part in prefixParts {
      if let operand = run.filters[part.filter].operand {
        IndexKey.append(operand, part.direction, to: &bytes)
      }
    }
    return bytes
  }
}
