// Writes and their results.

package import DocumentStore

extension Wire {
  /// A write of one document.
  package struct Write: WireMessage {
    package var operation: Operation?
    package var updateMask: DocumentMask?
    package var currentDocument: Precondition?
    package var updateTransforms: [DocumentTransform.FieldTransform] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(1, "update", of: &operation, as: Operation.update) { $0.update }
      try visitor.string(2, "delete", of: &operation, as: Operation.delete) { $0.delete }
      try visitor.message(3, "update_mask", in: &updateMask)
      try visitor.message(4, "current_document", in: &currentDocument)
      try visitor.string(5, "verify", of: &operation, as: Operation.verify) { $0.verify }
      try visitor.message(6, "transform", of: &operation, as: Operation.transform) { $0.transform }
      try visitor.messages(7, "update_transforms", in: &updateTransforms)
    }

    package enum Operation: Sendable, Equatable {
      case update(Document)
      case delete(String)
      case verify(String)
      case transform(DocumentTransform)

      package var update: Document? { if case .update(let content) = self { content } else { nil } }
      package var delete: String? { if case .delete(let content) = self { content } else { nil } }
      package var verify: String? { if case .verify(let content) = self { content } else { nil } }
      package var transform: DocumentTransform? {
        if case .transform(let content) = self { content } else { nil }
      }
    }
  }

  /// The result of one write.
  package struct WriteResult: WireMessage {
    package var updateTime: Timestamp?
    package var transformResults: [StoredValue] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.timestamp(1, "update_time", in: &updateTime)
      try visitor.values(2, "transform_results", in: &transformResults)
    }
  }
}
