// Writes single values.

package import DocumentStore

/// Writes `google.firestore.v1.Value`.
package enum ValueWriter {
  /// Writes a value as a field of a message.
  package static func write(
    _ value: StoredValue, as number: Int32, to writer: inout ProtobufWriter
  ) throws(WireError) {
    var values = ProtobufFieldsWriter()
    values.prepend(value)
    let content = values.finish()
    content.withBytes { writer.field(number, span: $0) }
  }

  /// Writes a value of JSON.
  package static func write(_ value: StoredValue, to writer: inout JSONWriter) throws(WireError) {
    JSONFieldsWriter.write(value, to: &writer)
  }
}
