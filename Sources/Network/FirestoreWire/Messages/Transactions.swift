// RPCs of transactions.

extension Wire {
  /// Begins a transaction.
  package struct BeginTransactionRequest: WireMessage {
    package var database = ""
    package var options: TransactionOptions?
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "database", in: &database)
      try visitor.message(2, "options", in: &options)
      try visitor.message(3, "request_options", in: &requestOptions)
    }
  }

  /// The id of a new transaction.
  package struct BeginTransactionResponse: WireMessage {
    package var transaction: [UInt8] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.bytes(1, "transaction", in: &transaction)
    }
  }

  /// Commits writes, of a transaction or alone.
  package struct CommitRequest: WireMessage {
    package var database = ""
    package var writes: [Write] = []
    package var transaction: [UInt8] = []
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "database", in: &database)
      try visitor.messages(2, "writes", in: &writes)
      try visitor.bytes(3, "transaction", in: &transaction)
      try visitor.message(4, "request_options", in: &requestOptions)
    }
  }

  /// The results of a commit.
  package struct CommitResponse: WireMessage {
    package var writeResults: [WriteResult] = []
    package var commitTime: Timestamp?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.messages(1, "write_results", in: &writeResults)
      try visitor.timestamp(2, "commit_time", in: &commitTime)
    }
  }

  /// Ends a transaction without its writes.
  package struct RollbackRequest: WireMessage {
    package var database = ""
    package var transaction: [UInt8] = []
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "database", in: &database)
      try visitor.bytes(2, "transaction", in: &transaction)
      try visitor.message(3, "request_options", in: &requestOptions)
    }
  }
}
