// Messages of a watch stream.

extension Wire {
  /// A message of a client on a watch stream.
  package struct ListenRequest: WireMessage {
    package var database = ""
    package var targetChange: TargetChange?
    package var labels = Labels()
    package var requestOptions: RequestOptions?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "database", in: &database)
      try visitor.message(2, "add_target", of: &targetChange, as: TargetChange.addTarget) { $0.addTarget }
      try visitor.int32(3, "remove_target", of: &targetChange, as: TargetChange.removeTarget) {
        $0.removeTarget
      }
      try visitor.labels(4, "labels", in: &labels)
      try visitor.message(5, "request_options", in: &requestOptions)
    }

    package enum TargetChange: Sendable, Equatable {
      case addTarget(Target)
      case removeTarget(Int32)

      package var addTarget: Target? { if case .addTarget(let content) = self { content } else { nil } }
      package var removeTarget: Int32? { if case .removeTarget(let content) = self { content } else { nil } }
    }
  }

  /// A message of the server on a watch stream.
  package struct ListenResponse: WireMessage {
    package var responseType: ResponseType?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(2, "target_change", of: &responseType, as: ResponseType.targetChange) {
        $0.targetChange
      }
      try visitor.message(3, "document_change", of: &responseType, as: ResponseType.documentChange) {
        $0.documentChange
      }
      try visitor.message(4, "document_delete", of: &responseType, as: ResponseType.documentDelete) {
        $0.documentDelete
      }
      try visitor.message(5, "filter", of: &responseType, as: ResponseType.filter) { $0.filter }
      try visitor.message(6, "document_remove", of: &responseType, as: ResponseType.documentRemove) {
        $0.documentRemove
      }
    }

    package enum ResponseType: Sendable, Equatable {
      case targetChange(TargetChange)
      case documentChange(DocumentChange)
      case documentDelete(DocumentDelete)
      case filter(ExistenceFilter)
      case documentRemove(DocumentRemove)

      package var targetChange: TargetChange? {
        if case .targetChange(let content) = self { content } else { nil }
      }
      package var documentChange: DocumentChange? {
        if case .documentChange(let content) = self { content } else { nil }
      }
      package var documentDelete: DocumentDelete? {
        if case .documentDelete(let content) = self { content } else { nil }
      }
      package var filter: ExistenceFilter? { if case .filter(let content) = self { content } else { nil } }
      package var documentRemove: DocumentRemove? {
        if case .documentRemove(let content) = self { content } else { nil }
      }
    }
  }
}
