// Filters of queries.

package import DocumentStore

extension Wire.StructuredQuery {
  /// A condition on documents.
  package struct Filter: WireMessage {
    package var filterType: FilterType?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(1, "composite_filter", of: &filterType, as: FilterType.compositeFilter) {
        $0.compositeFilter
      }
      try visitor.message(2, "field_filter", of: &filterType, as: FilterType.fieldFilter) { $0.fieldFilter }
      try visitor.message(3, "unary_filter", of: &filterType, as: FilterType.unaryFilter) { $0.unaryFilter }
    }

    package enum FilterType: Sendable, Equatable {
      case compositeFilter(CompositeFilter)
      case fieldFilter(FieldFilter)
      case unaryFilter(UnaryFilter)

      package var compositeFilter: CompositeFilter? {
        if case .compositeFilter(let content) = self { content } else { nil }
      }
      package var fieldFilter: FieldFilter? {
        if case .fieldFilter(let content) = self { content } else { nil }
      }
      package var unaryFilter: UnaryFilter? {
        if case .unaryFilter(let content) = self { content } else { nil }
      }
    }
  }

  /// Filters, all or any of which must hold.
  package struct CompositeFilter: WireMessage {
    package var op: Operator = .unspecified
    package var filters: [Filter] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.enumeration(1, "op", in: &op)
      try visitor.messages(2, "filters", in: &filters)
    }

    package enum Operator: Int32, WireEnum {
      case unspecified = 0, and, or

      package static let names = [
        "OPERATOR_UNSPECIFIED", "AND", "OR",
      ]
    }
  }

  /// A comparison of a field with a value.
  package struct FieldFilter: WireMessage {
    package var field: FieldReference?
    package var op: Operator = .unspecified
    package var value: StoredValue?
    /// The values of pipelines in the operand, which has null in their places.
    package var pipelineValues: [PipelineValue] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(1, "field", in: &field)
      try visitor.enumeration(2, "op", in: &op)
      try visitor.value(3, "value", in: &value)
      try visitor.notes(of: &pipelineValues)
    }

    package enum Operator: Int32, WireEnum {
      case unspecified = 0, lessThan, lessThanOrEqual, greaterThan, greaterThanOrEqual, equal, notEqual,
        arrayContains, `in`, arrayContainsAny, notIn

      package static let names = [
        "OPERATOR_UNSPECIFIED", "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL",
        "EQUAL", "NOT_EQUAL", "ARRAY_CONTAINS", "IN", "ARRAY_CONTAINS_ANY", "NOT_IN",
      ]
    }
  }

  /// A test of a field without a value.
  package struct UnaryFilter: WireMessage {
    package var op: Operator = .unspecified
    package var field: FieldReference?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.enumeration(1, "op", in: &op)
      try visitor.message(2, "field", in: &field)
    }

    package enum Operator: Int32, WireEnum {
      case unspecified = 0, isNaN = 2, isNull, isNotNaN, isNotNull

      package static let names = [
        "OPERATOR_UNSPECIFIED", "IS_NAN", "IS_NULL", "IS_NOT_NAN", "IS_NOT_NULL",
      ]
    }
  }
}
