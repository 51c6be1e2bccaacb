// The hot path of documents, for benchmarks outside this package.

public import DocumentStore

/// Documents between messages and the records of one store.
///
/// An interface for benchmarks; not for users, and subject to change.
@_spi(Measure)
public struct MeasuredDocuments: Sendable {
  private let store: DocumentStore
  private let limits: WireLimits

  /// Uses the shapes of the store.
  public init(_ store: DocumentStore) {
    self.store = store
    var limits = WireLimits()
    limits.documents = DocumentReading(encoder: store.fieldsEncoder)
    self.limits = limits
  }

  /// The fields of a stored document as a server reads them, which is without decoding them. Nil if there is
  /// no document.
  public func fields(at path: DocumentPath) throws -> StoredMap? {
    try store.storedRecord(at: path)?.encodedDocument.fields
  }

  /// The fields of a document message.
  public func fields(protobuf message: [UInt8]) throws -> StoredMap {
    try Wire.Document(protobuf: message, limits: limits).fields
  }

  /// The fields of a document in JSON.
  public func fields(json text: [UInt8]) throws -> StoredMap {
    try Wire.Document(json: text, limits: limits).fields
  }

  /// The message for a document.
  public func protobuf(_ fields: StoredMap, name: String) throws -> [UInt8] {
    try Wire.Document(name: name, fields: fields).protobuf()
  }

  /// The JSON of a document.
  public func json(_ fields: StoredMap, name: String) throws -> [UInt8] {
    try Wire.Document(name: name, fields: fields).json()
  }
}
