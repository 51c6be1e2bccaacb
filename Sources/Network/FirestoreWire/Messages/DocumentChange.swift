// Changes of documents on a watch stream.

extension Wire {
  /// A document that is new or changed in the answers of targets.
  package struct DocumentChange: WireMessage {
    package var document: Document?
    package var targetIds: [Int32] = []
    package var removedTargetIds: [Int32] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(1, "document", in: &document)
      try visitor.int32s(5, "target_ids", in: &targetIds)
      try visitor.int32s(6, "removed_target_ids", in: &removedTargetIds)
    }
  }

  /// A document that no longer exists.
  package struct DocumentDelete: WireMessage {
    package var document = ""
    package var readTime: Timestamp?
    package var removedTargetIds: [Int32] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "document", in: &document)
      try visitor.timestamp(4, "read_time", in: &readTime)
      try visitor.int32s(6, "removed_target_ids", in: &removedTargetIds)
    }
  }

  /// A document that no longer matches targets, and may exist.
  package struct DocumentRemove: WireMessage {
    package var document = ""
    package var removedTargetIds: [Int32] = []
    package var readTime: Timestamp?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "document", in: &document)
      try visitor.int32s(2, "removed_target_ids", in: &removedTargetIds)
      try visitor.timestamp(4, "read_time", in: &readTime)
    }
  }
}
