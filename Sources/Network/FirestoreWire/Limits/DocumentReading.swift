// How values and fields of documents are read.

package import DocumentStore

/// The rules that depend on where a value comes from. All other rules hold for all values.
package struct ValueRules: Hashable, Sendable {
  /// Whether an array may contain an array.
  var allowsNestedArrays = false
  /// Whether a vector may be empty, contain NaN, and be an element of an array.
  var allowsAnyVector = false

  /// The fields of a document that a client writes.
  package static let written = ValueRules()
  /// The fields of a document that an authority sends. It may have vectors that no client could have sent it,
  /// and one such document must not end a stream.
  package static let received = ValueRules(allowsAnyVector: true)

  /// The rules for operands of filters, values of cursors, and elements of array transforms.
  var forOperands: ValueRules { ValueRules(allowsNestedArrays: true, allowsAnyVector: allowsAnyVector) }
}

/// How the documents in a message are read: by which rules, and with the shapes of which store.
///
/// The fields of a document become a record with the shapes of the store, so the commit of the document
/// copies its bytes. Reading creates no shapes, because a request may still be refused. A map whose names
/// have no shape yet gets one in the commit.
package struct DocumentReading: Sendable {
  /// For requests, without a store.
  package static let standard = DocumentReading()

  package let rules: ValueRules
  package let encoder: FieldsEncoder

  /// `encoder` is the encoder of the store that the documents are written to.
  package init(_ rules: ValueRules = .written, encoder: FieldsEncoder = .withoutStore) {
    self.rules = rules
    self.encoder = encoder.withoutNewShapes
  }
}
