// A plan without values, for all queries of one form.

/// The choice that the planner made for a query of a form: one index, or the names, and how the values of a
/// query become ranges of keys.
///
/// Only plans whose choice depends on the form and on the existing indexes alone have a template. For such
/// plans, the planner never estimates keys. The values decide only the ranges, and whether keys decide the
/// result. The code for both is the same with and without a template (`Conjunction`).
final class PlanTemplate: Sendable {
  /// A filter whose operand is part of the common prefix of the keys.
  private struct PrefixPart: Sendable {
    let filter: Int
    let direction: OrderBy.Direction
  }

  private let orientation: QueryOrientation
  private let conjunction: Conjunction.Form
  private let source: QueryPlan.Access.Source
  /// The prefix of the keys before the operands.
  private let prefix: [UInt8]
  private let prefixParts: [PrefixPart]

  /// Nil if values or estimates take part in the choice of the access. `conjunction` has all filters of the
  /// query, and `branch` is the exact branch that the planner chose for it.
  init?(_ conjunction: Conjunction, _ branch: QueryPlan.Branch) {
    guard let form = conjunction.form, branch.accesses.count == 1 else { return nil }
    switch branch.accesses[0].source {
    case .names:
      prefix = conjunction.query.namePrefix
      prefixParts = []
    case .index(let definition):
      guard conjunction.isServed(by: definition, whole: true) else { return nil }
      prefix = conjunction.query.prefix(of: definition)
      prefixParts = definition.fields.dropLast(conjunction.orders.count).compactMap { field in
        conjunction.equalityFields.first { $0.field == field.asEquality }
          .map { PrefixPart(filter: $0.place, direction: field.part.direction ?? .ascending) }
      }
    }
    self.conjunction = form
    orientation = conjunction.query.orientation
    source = branch.accesses[0].source
  }

  /// The plan for a query of the template's form.
  func plan(for run: StructuredQuery) -> QueryPlan {
    let query = OrientedQuery(run, orientation)
    let conjunction = Conjunction(conjunction, query)
    var prefix = prefix
    for part in prefixParts {
      if let operand = run.filters[part.filter].operand {
        IndexKey.append(operand, part.direction, to: &prefix)
      }
    }
    return QueryPlan(
      query, inOrderOf: conjunction.access(source, prefix), isExact: conjunction.isDecidedByKeys)
  }
}
