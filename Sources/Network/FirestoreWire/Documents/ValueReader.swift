// Reads single values: operands of filters, values of cursors, elements of array transforms.

package import DocumentStore

/// Reads `google.firestore.v1.Value` as a tree.
package enum ValueReader {
  /// Reads the length and the content of a value.
  package static func read(_ reader: inout ProtobufReader) throws(WireError) -> StoredValue {
    let rules = reader.documents.rules.forOperands
    let span = try reader.span()
    var values = ProtobufValueReader(span, rules)
    return try values.value()
  }

  /// Reads a value of JSON.
  package static func read(_ reader: inout JSONReader) throws(WireError) -> StoredValue {
    var values = JSONValueReader(reader.documents.rules.forOperands)
    return try values.value(&reader, isElement: false, depth: 0)
  }
}
