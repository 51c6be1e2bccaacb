// Options of transactions and requests.

extension Wire {
  /// The kind of a new transaction.
  package struct TransactionOptions: WireMessage {
    package var mode: Mode?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(2, "read_only", of: &mode, as: Mode.readOnly) { $0.readOnly }
      try visitor.message(3, "read_write", of: &mode, as: Mode.readWrite) { $0.readWrite }
    }

    package enum Mode: Sendable, Equatable {
      case readOnly(ReadOnly)
      case readWrite(ReadWrite)

      package var readOnly: ReadOnly? { if case .readOnly(let content) = self { content } else { nil } }
      package var readWrite: ReadWrite? { if case .readWrite(let content) = self { content } else { nil } }
    }

    package enum ConcurrencyMode: Int32, WireEnum {
      case unspecified = 0, optimistic, pessimistic

      package static let names = [
        "CONCURRENCY_MODE_UNSPECIFIED", "OPTIMISTIC", "PESSIMISTIC",
      ]
    }

    /// A transaction that can write.
    package struct ReadWrite: WireMessage {
      package var retryTransaction: [UInt8] = []
      package var concurrencyMode: ConcurrencyMode = .unspecified

      package init() {}

      package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
        try visitor.bytes(1, "retry_transaction", in: &retryTransaction)
        try visitor.enumeration(2, "concurrency_mode", in: &concurrencyMode)
      }
    }

    /// A transaction that reads at one time.
    package struct ReadOnly: WireMessage {
      package var readTime: Timestamp?

      package init() {}

      package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
        try visitor.timestamp(2, "read_time", in: &readTime)
      }
    }
  }

  /// Options of a request, which change nothing about its answer.
  package struct RequestOptions: WireMessage {
    package var requestTags: [String] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.strings(1, "request_tags", in: &requestTags)
    }
  }
}
