// Reads single values: operands of filters, values of cursors, elements of array transforms.

package import DocumentStore

/// Reads `google.firestore.v1.Value` as a tree.
package enum ValueReader {
  /// Reads the length and the content of a value.
  package static func read(
    _ reader: inout ProtobufReader, noting pipelineValues: inout [PipelineValue]
  ) throws(WireError) -> StoredValue {
    let rules = reader.documents.rules.forOperands
    let span = try reader.span()
    var values = ProtobufValueReader(span, rules)
    let value = try values.value()
    pipelineValues += values.notes.values
    return value
  }

  /// Reads a value of JSON.
  package static func read(
    _ reader: inout JSONReader, noting pipelineValues: inout [PipelineValue]
  ) throws(WireError) -> StoredValue {
    var values = JSONValueReader(reader.documents.rules.forOperands)
    let value = try values.value(&reader, isElement: false, depth: 0)
    pipelineValues += values.notes.values
    return value
  }
}
