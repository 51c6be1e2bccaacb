// Targets of a watch stream.

extension Wire {
  /// A set of documents that a stream watches.
  package struct Target: WireMessage {
    package var targetType: TargetType?
    package var resumeType: ResumeType?
    package var targetId: Int32 = 0
    package var once = false
    package var expectedCount: Int32?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(2, "query", of: &targetType, as: TargetType.query) { $0.query }
      try visitor.message(3, "documents", of: &targetType, as: TargetType.documents) { $0.documents }
      try visitor.bytes(4, "resume_token", of: &resumeType, as: ResumeType.resumeToken) { $0.resumeToken }
      try visitor.int32(5, "target_id", in: &targetId)
      try visitor.bool(6, "once", in: &once)
      try visitor.timestamp(11, "read_time", of: &resumeType, as: ResumeType.readTime) { $0.readTime }
      try visitor.int32Value(12, "expected_count", in: &expectedCount)
    }

    package enum TargetType: Sendable, Equatable {
      case query(QueryTarget)
      case documents(DocumentsTarget)

      package var query: QueryTarget? { if case .query(let content) = self { content } else { nil } }
      package var documents: DocumentsTarget? {
        if case .documents(let content) = self { content } else { nil }
      }
    }

    package enum ResumeType: Sendable, Equatable {
      case resumeToken([UInt8])
      case readTime(Timestamp)

      package var resumeToken: [UInt8]? { if case .resumeToken(let content) = self { content } else { nil } }
      package var readTime: Timestamp? { if case .readTime(let content) = self { content } else { nil } }
    }

    /// Documents by name.
    package struct DocumentsTarget: WireMessage {
      package var documents: [String] = []

      package init() {}

      package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
        try visitor.strings(2, "documents", in: &documents)
      }
    }

    /// The results of a query.
    package struct QueryTarget: WireMessage {
      package var parent = ""
      package var structuredQuery: StructuredQuery?

      package init() {}

      package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
        try visitor.string(1, "parent", in: &parent)
        try visitor.message(2, "structured_query", in: &structuredQuery)
      }
    }
  }

  /// A change of the state of targets.
  package struct TargetChange: WireMessage {
    package var targetChangeType: TargetChangeType = .unspecified
    package var targetIds: [Int32] = []
    package var cause: Status?
    package var resumeToken: [UInt8] = []
    package var readTime: Timestamp?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.enumeration(1, "target_change_type", in: &targetChangeType)
      try visitor.int32s(2, "target_ids", in: &targetIds)
      try visitor.message(3, "cause", in: &cause)
      try visitor.bytes(4, "resume_token", in: &resumeToken)
      try visitor.timestamp(6, "read_time", in: &readTime)
    }

    package enum TargetChangeType: Int32, WireEnum {
      case noChange = 0, add, remove, current, reset

      package static var unspecified: Self { .noChange }

      package static let names = [
        "NO_CHANGE", "ADD", "REMOVE", "CURRENT", "RESET",
      ]
    }
  }
}
