// The RPC RunAggregationQuery.

extension Wire {
  /// Asks for aggregates.
  package struct RunAggregationQueryRequest: WireMessage {
    package var parent = ""
    package var structuredAggregationQuery: StructuredAggregationQuery?
    package var consistencySelector: ConsistencySelector?
    package var explainOptions: ExplainOptions?
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "parent", in: &parent)
      try visitor.message(2, "structured_aggregation_query", in: &structuredAggregationQuery)
      try visitor.bytes(4, "transaction", of: &consistencySelector, as: ConsistencySelector.transaction) {
        $0.transaction
      }
      try visitor.message(
        5, "new_transaction", of: &consistencySelector, as: ConsistencySelector.newTransaction
      ) { $0.newTransaction }
      try visitor.timestamp(6, "read_time", of: &consistencySelector, as: ConsistencySelector.readTime) {
        $0.readTime
      }
      try visitor.message(8, "explain_options", in: &explainOptions)
      try visitor.message(9, "request_options", in: &requestOptions)
    }

    package enum ConsistencySelector: Sendable, Equatable {
      case transaction([UInt8])
      case newTransaction(TransactionOptions)
      case readTime(Timestamp)

      package var transaction: [UInt8]? { if case .transaction(let content) = self { content } else { nil } }
      package var newTransaction: TransactionOptions? {
        if case .newTransaction(let content) = self { content } else { nil }
      }
      package var readTime: Timestamp? { if case .readTime(let content) = self { content } else { nil } }
    }
  }

  /// Aggregates, or their progress.
  package struct RunAggregationQueryResponse: WireMessage {
    package var result: AggregationResult?
    package var transaction: [UInt8] = []
    package var readTime: Timestamp?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(1, "result", in: &result)
      try visitor.bytes(2, "transaction", in: &transaction)
      try visitor.timestamp(3, "read_time", in: &readTime)
    }
  }
}
