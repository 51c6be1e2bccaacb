// Writes the filters of a query.

import DocumentStore

struct FilterWriter {
  let database: DatabaseName

  func filters(_ trees: [FilterTree]) -> [Wire.StructuredQuery.Filter] { trees.map(filter) }

  private func filter(_ tree: FilterTree) -> Wire.StructuredQuery.Filter {
    switch tree {
    case .all(let parts): Self.composite(.and, filters(parts))
    case .any(let parts): Self.composite(.or, filters(parts))
    case .field(let filter): self.filter(filter)
    }
  }

  static func composite(
    _ op: Wire.StructuredQuery.CompositeFilter.Operator, _ filters: [Wire.StructuredQuery.Filter]
  ) -> Wire.StructuredQuery.Filter {
    var composite = Wire.StructuredQuery.CompositeFilter()
    composite.op = op
    composite.filters = filters
    var filter = Wire.StructuredQuery.Filter()
    filter.filterType = .compositeFilter(composite)
    return filter
  }

  private func filter(_ filter: FieldFilter) -> Wire.StructuredQuery.Filter {
    var wire = Wire.StructuredQuery.Filter()
    if let op = test(filter) {
      var unary = Wire.StructuredQuery.UnaryFilter()
      unary.field = FieldPathText.reference(filter.field)
      unary.op = op
      wire.filterType = .unaryFilter(unary)
    } else {
      var comparison = Wire.StructuredQuery.FieldFilter()
      comparison.field = FieldPathText.reference(filter.field)
      comparison.op = Wire.StructuredQuery.FieldFilter.Operator(filter.operator)
      comparison.value = filter.field == .documentID ? database.named(filter.operand) : filter.operand
      wire.filterType = .fieldFilter(comparison)
    }
    return wire
  }

  /// Comparisons with null and NaN have operators of their own.
  private func test(_ filter: FieldFilter) -> Wire.StructuredQuery.UnaryFilter.Operator? {
    switch (filter.operator, filter.operand) {
    case (.equal, .null): .isNull
    case (.notEqual, .null): .isNotNull
    case (.equal, .double(let number)) where number.isNaN: .isNaN
    case (.notEqual, .double(let number)) where number.isNaN: .isNotNaN
    default: nil
    }
  }
}

extension DatabaseName {
  /// The names of documents in an operand or a cursor, which have no database in the engine, with this one.
  func named(_ value: StoredValue) -> StoredValue {
    switch value {
    case .reference(let reference): .reference(self.reference(to: reference.path))
    case .array(let elements): .array(elements.map(named))
    default: value
    }
  }
}
