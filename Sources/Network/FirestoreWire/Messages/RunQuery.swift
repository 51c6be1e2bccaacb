// The RPC RunQuery.

extension Wire {
  /// Asks for the results of a query.
  package struct RunQueryRequest: WireMessage {
    package var parent = ""
    package var structuredQuery: StructuredQuery?
    package var consistencySelector: ConsistencySelector?
    package var explainOptions: ExplainOptions?
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "parent", in: &parent)
      try visitor.message(2, "structured_query", in: &structuredQuery)
      try visitor.bytes(5, "transaction", of: &consistencySelector, as: ConsistencySelector.transaction) {
        $0.transaction
      }
      try visitor.message(
        6, "new_transaction", of: &consistencySelector, as: ConsistencySelector.newTransaction
      ) { $0.newTransaction }
      try visitor.timestamp(7, "read_time", of: &consistencySelector, as: ConsistencySelector.readTime) {
        $0.readTime
      }
      try visitor.message(10, "explain_options", in: &explainOptions)
      try visitor.message(11, "request_options", in: &requestOptions)
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

  /// One result of a query, or its progress.
  package struct RunQueryResponse: WireMessage {
    package var document: Document?
    package var transaction: [UInt8] = []
    package var readTime: Timestamp?
    package var skippedResults: Int32 = 0
    package var done: Bool?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(1, "document", in: &document)
      try visitor.bytes(2, "transaction", in: &transaction)
      try visitor.timestamp(3, "read_time", in: &readTime)
      try visitor.int32(4, "skipped_results", in: &skippedResults)
      try visitor.bool(6, "done", in: &done)
    }
  }

  /// Asks for the plan of a query.
  package struct ExplainOptions: WireMessage {
    package var analyze = false

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.bool(1, "analyze", in: &analyze)
    }
  }
}
