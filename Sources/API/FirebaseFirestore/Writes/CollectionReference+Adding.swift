// Creates documents with random IDs.

private import Foundation

extension CollectionReference {
  /// Creates a document with a random ID.
  @discardableResult
  public func addDocument(data: [String: Any]) -> DocumentReference {
    addDocument(data: data, completion: nil)
  }

  /// Creates a document with a random ID. `completion` runs on the callback queue when the document is
  /// durable or the write has failed.
  @discardableResult
  public func addDocument(
    data: [String: Any], completion: (((any Error)?) -> Void)?
  ) -> DocumentReference {
    let document = document()
    document.setData(data, completion: completion)
    return document
  }

  /// Creates a document with a random ID. Returns when it is on stable storage.
  @discardableResult
  nonisolated(nonsending)
    public func addDocument(data: [String: Any]) async throws -> DocumentReference
  {
    let document = document()
    try await document.setData(data)
    return document
  }

  /// Creates a document with a random ID and the fields of `value`. Throws if `value` cannot be encoded.
  @discardableResult
  public func addDocument<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws -> DocumentReference {
    let document = document()
    try document.setData(from: value, encoder: encoder, completion: completion)
    return document
  }

  /// Creates a document with a random ID and the fields of `value`. Returns when it is on stable storage.
  /// Throws `EncodingError` if `value` cannot be encoded, and `invalidArgument` if no document can hold its
  /// fields.
  // Disfavored, so that an app that has its own extension with these labels still calls its own extension.
  @_disfavoredOverload
  @discardableResult
  nonisolated(nonsending) public func addDocument<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws -> DocumentReference {
    let document = document()
    try await document.setData(from: value, encoder: encoder)
    return document
  }
}
