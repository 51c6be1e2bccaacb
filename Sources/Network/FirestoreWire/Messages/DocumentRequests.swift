// Requests for one document.

extension Wire {
  /// Asks for one document.
  package struct GetDocumentRequest: WireMessage {
    package var name = ""
    package var mask: DocumentMask?
    package var consistencySelector: ConsistencySelector?
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "name", in: &name)
      try visitor.message(2, "mask", in: &mask)
      try visitor.bytes(3, "transaction", of: &consistencySelector, as: ConsistencySelector.transaction) {
        $0.transaction
      }
      try visitor.timestamp(5, "read_time", of: &consistencySelector, as: ConsistencySelector.readTime) {
        $0.readTime
      }
      try visitor.message(10, "request_options", in: &requestOptions)
    }

    package enum ConsistencySelector: Sendable, Equatable {
      case transaction([UInt8])
      case readTime(Timestamp)

      package var transaction: [UInt8]? { if case .transaction(let content) = self { content } else { nil } }
      package var readTime: Timestamp? { if case .readTime(let content) = self { content } else { nil } }
    }
  }

  /// Creates a document, which must not exist.
  package struct CreateDocumentRequest: WireMessage {
    package var parent = ""
    package var collectionId = ""
    package var documentId = ""
    package var document: Document?
    package var mask: DocumentMask?
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "parent", in: &parent)
      try visitor.string(2, "collection_id", in: &collectionId)
      try visitor.string(3, "document_id", in: &documentId)
      try visitor.message(4, "document", in: &document)
      try visitor.message(5, "mask", in: &mask)
      try visitor.message(6, "request_options", in: &requestOptions)
    }
  }

  /// Updates or inserts a document.
  package struct UpdateDocumentRequest: WireMessage {
    package var document: Document?
    package var updateMask: DocumentMask?
    package var mask: DocumentMask?
    package var currentDocument: Precondition?
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(1, "document", in: &document)
      try visitor.message(2, "update_mask", in: &updateMask)
      try visitor.message(3, "mask", in: &mask)
      try visitor.message(4, "current_document", in: &currentDocument)
      try visitor.message(5, "request_options", in: &requestOptions)
    }
  }

  /// Deletes a document.
  package struct DeleteDocumentRequest: WireMessage {
    package var name = ""
    package var currentDocument: Precondition?
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "name", in: &name)
      try visitor.message(2, "current_document", in: &currentDocument)
      try visitor.message(3, "request_options", in: &requestOptions)
    }
  }
}
