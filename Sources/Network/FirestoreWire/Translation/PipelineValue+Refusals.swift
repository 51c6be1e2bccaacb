// Refuses values of pipelines that would have to be stored or compared.

import DocumentStore
import OfflineSync

extension Wire.Document {
  /// Throws INVALID_ARGUMENT if the mask lists a field with a value of a pipeline. Without a mask, all fields
  /// are stored.
  func checkStored(_ mask: FieldMask? = nil) throws(RemoteError) {
    guard !pipelineValues.isEmpty else { return }
    let listed = mask.map { Set($0.paths) }
    for value in pipelineValues {
      // A path has at least one name, because no value of a document is without one.
      let field = StoredFieldPath(unchecked: value.names)
      let isStored = listed.map { listed in
        (1...field.names.count).contains { count in
          listed.contains(StoredFieldPath(unchecked: Array(field.names.prefix(count))))
        }
      }
      guard isStored ?? true else { continue }
      throw value.refused(as: field)
    }
  }
}

extension PipelineValue {
  /// The error for a value that would have to be stored in a field or compared with it.
  func refused(as field: StoredFieldPath) -> RemoteError {
    RemoteError(Self.refused(type, field: FieldPathText.text(field)))
  }
}
