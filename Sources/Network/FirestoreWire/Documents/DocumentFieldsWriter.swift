// Writes the fields of documents: the hot path out of the store.
//
//   record ──▶ bytes     without decoding: names come from the shapes, values from the bytes of the record

package import DocumentStore
import OfflineSync

/// Writes `map<string, google.firestore.v1.Value>`.
package enum DocumentFieldsWriter {
  private static let damaged = WireError(.dataLoss, "The fields of a document are damaged.")

  /// Writes the entries as fields of a message.
  package static func write(
    _ fields: StoredMap, as number: Int32, to writer: inout ProtobufWriter
  ) throws(WireError) {
    var entries = ProtobufFieldsWriter()
    entries.prepend(fields, tag: ProtobufTag(number, .length).rawValue)
    guard entries.isWhole else { throw damaged }
    let content = entries.finish()
    content.withBytes { writer.append(encoded: $0) }
  }

  /// Writes an object of JSON.
  package static func write(_ fields: StoredMap, to writer: inout JSONWriter) throws(WireError) {
    guard JSONFieldsWriter.write(fields, to: &writer) else { throw damaged }
  }
}
