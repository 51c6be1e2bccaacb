// The RPC BatchWrite.

extension Wire {
  /// Writes documents, each on its own.
  package struct BatchWriteRequest: WireMessage {
    package var database = ""
    package var writes: [Write] = []
    package var labels = Labels()
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "database", in: &database)
      try visitor.messages(2, "writes", in: &writes)
      try visitor.labels(3, "labels", in: &labels)
      try visitor.message(4, "request_options", in: &requestOptions)
    }
  }

  /// The result and the status of each write.
  package struct BatchWriteResponse: WireMessage {
    package var writeResults: [WriteResult] = []
    package var status: [Status] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.messages(1, "write_results", in: &writeResults)
      try visitor.messages(2, "status", in: &status)
    }
  }
}
