// The explanation of a query, and the answers that have one. Only servers write them.

extension Wire {
  /// The plan of a query, and the work that it took.
  package struct ExplainMetrics: WireMessage {
    package var planSummary: PlanSummary?
    /// Nil if the query was not run.
    package var executionStats: ExecutionStats?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(1, "plan_summary", in: &planSummary)
      try visitor.message(2, "execution_stats", in: &executionStats)
    }
  }

  package struct PlanSummary: WireMessage {
    /// Properties of each index, such as its fields.
    package var indexesUsed: [Labels] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.structs(1, "indexes_used", in: &indexesUsed)
    }
  }

  package struct ExecutionStats: WireMessage {
    package var resultsReturned: Int64 = 0
    package var executionDuration: Duration?
    package var readOperations: Int64 = 0

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.int64(1, "results_returned", in: &resultsReturned)
      try visitor.duration(3, "execution_duration", in: &executionDuration)
      try visitor.int64(4, "read_operations", in: &readOperations)
    }
  }

  /// An answer of `RunQuery` with an explanation. A reader of `RunQueryResponse` skips it.
  package struct ExplainedQueryResponse: WireMessage {
    package var response = RunQueryResponse()
    package var explainMetrics: ExplainMetrics?

    package init() {}

    package init(_ response: RunQueryResponse) { self.response = response }

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try response.visit(&visitor)
      try visitor.message(11, "explain_metrics", in: &explainMetrics)
    }
  }

  /// An answer of `RunAggregationQuery` with an explanation.
  package struct ExplainedAggregationResponse: WireMessage {
    package var response = RunAggregationQueryResponse()
    package var explainMetrics: ExplainMetrics?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try response.visit(&visitor)
      try visitor.message(10, "explain_metrics", in: &explainMetrics)
    }
  }
}
