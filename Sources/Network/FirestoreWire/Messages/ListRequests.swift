// Requests for pages of documents and collections.

extension Wire {
  /// Asks for a page of the documents in a collection.
  package struct ListDocumentsRequest: WireMessage {
    package var parent = ""
    package var collectionId = ""
    package var pageSize: Int32 = 0
    package var pageToken = ""
    package var orderBy = ""
    package var mask: DocumentMask?
    package var consistencySelector: ConsistencySelector?
    package var showMissing = false
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "parent", in: &parent)
      try visitor.string(2, "collection_id", in: &collectionId)
      try visitor.int32(3, "page_size", in: &pageSize)
      try visitor.string(4, "page_token", in: &pageToken)
      try visitor.string(6, "order_by", in: &orderBy)
      try visitor.message(7, "mask", in: &mask)
      try visitor.bytes(8, "transaction", of: &consistencySelector, as: ConsistencySelector.transaction) {
        $0.transaction
      }
      try visitor.timestamp(10, "read_time", of: &consistencySelector, as: ConsistencySelector.readTime) {
        $0.readTime
      }
      try visitor.bool(12, "show_missing", in: &showMissing)
      try visitor.message(13, "request_options", in: &requestOptions)
    }

    package enum ConsistencySelector: Sendable, Equatable {
      case transaction([UInt8])
      case readTime(Timestamp)

      package var transaction: [UInt8]? { if case .transaction(let content) = self { content } else { nil } }
      package var readTime: Timestamp? { if case .readTime(let content) = self { content } else { nil } }
    }
  }

  /// A page of documents.
  package struct ListDocumentsResponse: WireMessage {
    package var documents: [Document] = []
    package var nextPageToken = ""

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.messages(1, "documents", in: &documents)
      try visitor.string(2, "next_page_token", in: &nextPageToken)
    }
  }

  /// Asks for a page of the collections below a document.
  package struct ListCollectionIdsRequest: WireMessage {
    package var parent = ""
    package var pageSize: Int32 = 0
    package var pageToken = ""
    package var readTime: Timestamp?
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "parent", in: &parent)
      try visitor.int32(2, "page_size", in: &pageSize)
      try visitor.string(3, "page_token", in: &pageToken)
      try visitor.timestamp(4, "read_time", in: &readTime)
      try visitor.message(5, "request_options", in: &requestOptions)
    }
  }

  /// A page of collection ids.
  package struct ListCollectionIdsResponse: WireMessage {
    package var collectionIds: [String] = []
    package var nextPageToken = ""

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.strings(1, "collection_ids", in: &collectionIds)
      try visitor.string(2, "next_page_token", in: &nextPageToken)
    }
  }
}
