// The RPC PartitionQuery.

extension Wire {
  /// Asks for cursors that split a query.
  package struct PartitionQueryRequest: WireMessage {
    package var parent = ""
    package var structuredQuery: StructuredQuery?
    package var partitionCount: Int64 = 0
    package var pageToken = ""
    package var pageSize: Int32 = 0
    package var readTime: Timestamp?
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "parent", in: &parent)
      try visitor.message(2, "structured_query", in: &structuredQuery)
      try visitor.int64(3, "partition_count", in: &partitionCount)
      try visitor.string(4, "page_token", in: &pageToken)
      try visitor.int32(5, "page_size", in: &pageSize)
      try visitor.timestamp(6, "read_time", in: &readTime)
      try visitor.message(7, "request_options", in: &requestOptions)
    }
  }

  /// A page of cursors.
  package struct PartitionQueryResponse: WireMessage {
    package var partitions: [Cursor] = []
    package var nextPageToken = ""

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.messages(1, "partitions", in: &partitions)
      try visitor.string(2, "next_page_token", in: &nextPageToken)
    }
  }
}
