// Messages of a write stream.

extension Wire {
  /// A message of a client on a write stream.
  package struct WriteRequest: WireMessage {
    package var database = ""
    package var streamId = ""
    package var writes: [Write] = []
    package var streamToken: [UInt8] = []
    package var labels = Labels()
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "database", in: &database)
      try visitor.string(2, "stream_id", in: &streamId)
      try visitor.messages(3, "writes", in: &writes)
      try visitor.bytes(4, "stream_token", in: &streamToken)
      try visitor.labels(5, "labels", in: &labels)
      try visitor.message(6, "request_options", in: &requestOptions)
    }
  }

  /// An answer on a write stream.
  package struct WriteResponse: WireMessage {
    package var streamId = ""
    package var streamToken: [UInt8] = []
    package var writeResults: [WriteResult] = []
    package var commitTime: Timestamp?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "stream_id", in: &streamId)
      try visitor.bytes(2, "stream_token", in: &streamToken)
      try visitor.messages(3, "write_results", in: &writeResults)
      try visitor.timestamp(4, "commit_time", in: &commitTime)
    }
  }
}
