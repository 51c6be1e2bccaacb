// Aggregates.

package import DocumentStore

extension Wire {
  /// Aggregates over the results of a query.
  package struct StructuredAggregationQuery: WireMessage {
    package var structuredQuery: StructuredQuery?
    package var aggregations: [Aggregation] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(1, "structured_query", in: &structuredQuery)
      try visitor.messages(3, "aggregations", in: &aggregations)
    }

    /// One aggregate.
    package struct Aggregation: WireMessage {
      package var `operator`: Operator?
      package var alias = ""

      package init() {}

      package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
        try visitor.message(1, "count", of: &`operator`, as: Operator.count) { $0.count }
        try visitor.message(2, "sum", of: &`operator`, as: Operator.sum) { $0.sum }
        try visitor.message(3, "avg", of: &`operator`, as: Operator.avg) { $0.avg }
        try visitor.string(7, "alias", in: &alias)
      }

      package enum Operator: Sendable, Equatable {
        case count(Count)
        case sum(Sum)
        case avg(Avg)

        package var count: Count? { if case .count(let content) = self { content } else { nil } }
        package var sum: Sum? { if case .sum(let content) = self { content } else { nil } }
        package var avg: Avg? { if case .avg(let content) = self { content } else { nil } }
      }

      /// The number of documents.
      package struct Count: WireMessage {
        package var upTo: Int64?

        package init() {}

        package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
          try visitor.int64Value(1, "up_to", in: &upTo)
        }
      }

      /// The sum of the numbers in a field.
      package struct Sum: WireMessage {
        package var field: StructuredQuery.FieldReference?

        package init() {}

        package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
          try visitor.message(1, "field", in: &field)
        }
      }

      /// The average of the numbers in a field.
      package struct Avg: WireMessage {
        package var field: StructuredQuery.FieldReference?

        package init() {}

        package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
          try visitor.message(1, "field", in: &field)
        }
      }
    }
  }

  /// The values of aggregates, under their aliases.
  package struct AggregationResult: WireMessage {
    package var aggregateFields = StoredMap()

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.fields(2, "aggregate_fields", in: &aggregateFields)
    }
  }
}
