// The RPC BatchGetDocuments.

extension Wire {
  /// Asks for documents by name.
  package struct BatchGetDocumentsRequest: WireMessage {
    package var database = ""
    package var documents: [String] = []
    package var mask: DocumentMask?
    package var consistencySelector: ConsistencySelector?
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "database", in: &database)
      try visitor.strings(2, "documents", in: &documents)
      try visitor.message(3, "mask", in: &mask)
      try visitor.bytes(4, "transaction", of: &consistencySelector, as: ConsistencySelector.transaction) {
        $0.transaction
      }
      try visitor.message(
        5, "new_transaction", of: &consistencySelector, as: ConsistencySelector.newTransaction
      ) { $0.newTransaction }
      try visitor.timestamp(7, "read_time", of: &consistencySelector, as: ConsistencySelector.readTime) {
        $0.readTime
      }
      try visitor.message(8, "request_options", in: &requestOptions)
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

  /// One document, or the name of an absent one.
  package struct BatchGetDocumentsResponse: WireMessage {
    package var result: Result?
    package var transaction: [UInt8] = []
    package var readTime: Timestamp?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(1, "found", of: &result, as: Result.found) { $0.found }
      try visitor.string(2, "missing", of: &result, as: Result.missing) { $0.missing }
      try visitor.bytes(3, "transaction", in: &transaction)
      try visitor.timestamp(4, "read_time", in: &readTime)
    }

    package enum Result: Sendable, Equatable {
      case found(Document)
      case missing(String)

      package var found: Document? { if case .found(let content) = self { content } else { nil } }
      package var missing: String? { if case .missing(let content) = self { content } else { nil } }
    }
  }
}
