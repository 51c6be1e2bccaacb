// Masks and preconditions of documents.

extension Wire {
  /// The paths of the fields that are read or written.
  package struct DocumentMask: WireMessage {
    package var fieldPaths: [String] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.strings(1, "field_paths", in: &fieldPaths)
    }
  }

  /// A condition on the current document.
  package struct Precondition: WireMessage {
    package var conditionType: ConditionType?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.bool(1, "exists", of: &conditionType, as: ConditionType.exists) { $0.exists }
      try visitor.timestamp(2, "update_time", of: &conditionType, as: ConditionType.updateTime) {
        $0.updateTime
      }
    }

    package enum ConditionType: Sendable, Equatable {
      case exists(Bool)
      case updateTime(Timestamp)

      package var exists: Bool? { if case .exists(let content) = self { content } else { nil } }
      package var updateTime: Timestamp? { if case .updateTime(let content) = self { content } else { nil } }
    }
  }
}
