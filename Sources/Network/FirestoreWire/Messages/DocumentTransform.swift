// Transforms of fields.

package import DocumentStore

extension Wire {
  /// Transforms of the fields of one document.
  package struct DocumentTransform: WireMessage {
    package var document = ""
    package var fieldTransforms: [FieldTransform] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "document", in: &document)
      try visitor.messages(2, "field_transforms", in: &fieldTransforms)
    }

    /// A transform of one field.
    package struct FieldTransform: WireMessage {
      package var fieldPath = ""
      package var transformType: TransformType?
      /// The values of pipelines in the operand, which has null in their places.
      package var pipelineValues: [PipelineValue] = []

      package init() {}

      package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
        try visitor.string(1, "field_path", in: &fieldPath)
        try visitor.enumeration(
          2, "set_to_server_value", of: &transformType, as: TransformType.setToServerValue
        ) { $0.setToServerValue }
        try visitor.value(3, "increment", of: &transformType, as: TransformType.increment) { $0.increment }
        try visitor.value(4, "maximum", of: &transformType, as: TransformType.maximum) { $0.maximum }
        try visitor.value(5, "minimum", of: &transformType, as: TransformType.minimum) { $0.minimum }
        try visitor.message(
          6, "append_missing_elements", of: &transformType, as: TransformType.appendMissingElements
        ) { $0.appendMissingElements }
        try visitor.message(
          7, "remove_all_from_array", of: &transformType, as: TransformType.removeAllFromArray
        ) { $0.removeAllFromArray }
        try visitor.notes(of: &pipelineValues)
      }

      package enum TransformType: Sendable, Equatable {
        case setToServerValue(ServerValue)
        case increment(StoredValue)
        case maximum(StoredValue)
        case minimum(StoredValue)
        case appendMissingElements(ArrayValue)
        case removeAllFromArray(ArrayValue)

        package var setToServerValue: ServerValue? {
          if case .setToServerValue(let content) = self { content } else { nil }
        }
        package var increment: StoredValue? {
          if case .increment(let content) = self { content } else { nil }
        }
        package var maximum: StoredValue? { if case .maximum(let content) = self { content } else { nil } }
        package var minimum: StoredValue? { if case .minimum(let content) = self { content } else { nil } }
        package var appendMissingElements: ArrayValue? {
          if case .appendMissingElements(let content) = self { content } else { nil }
        }
        package var removeAllFromArray: ArrayValue? {
          if case .removeAllFromArray(let content) = self { content } else { nil }
        }
      }

      package enum ServerValue: Int32, WireEnum {
        case unspecified = 0, requestTime

        package static let names = [
          "SERVER_VALUE_UNSPECIFIED", "REQUEST_TIME",
        ]
      }
    }
  }
}
