// A collection: where documents are made and found.

import DocumentStore
private import Foundation

/// A collection of documents. Refers to a place; whether anything is there is another question.
///
/// It is the query for all of its documents, too.
public final class CollectionReference: Query, @unchecked Sendable {
  package let segments: [String]

  init(_ firestore: Firestore, _ segments: [String]) {
    self.segments = segments
    super.init(firestore, StructuredQuery(.collection(CollectionPath(unchecked: segments))))
  }

  /// The last part of the path.
  public var collectionID: String { segments[segments.count - 1] }

  /// From the root of the database.
  public var path: String { segments.joined(separator: "/") }

  /// The document that this collection is below, nil at the root.
  public var parent: DocumentReference? {
    segments.count == 1 ? nil : DocumentReference(firestore, Array(segments.dropLast()))
  }

  /// A document with a new random id: 20 characters of A-Z, a-z and 0-9.
  public func document() -> DocumentReference {
    DocumentReference(firestore, segments + [Self.randomID()])
  }

  /// The document at a path relative to this collection.
  public func document(_ documentPath: String) -> DocumentReference {
    DocumentReference(firestore, PathText.document(documentPath, below: segments))
  }

  // MARK: Adding documents

  /// Writes a new document with a random id.
  @discardableResult
  public func addDocument(data: [String: Any]) -> DocumentReference {
    addDocument(data: data, completion: nil)
  }

  /// `completion` runs on the callback queue once the document is durable, or with what went wrong.
  @discardableResult
  public func addDocument(
    data: [String: Any], completion: (((any Error)?) -> Void)?
  ) -> DocumentReference {
    let document = document()
    document.setData(data, completion: completion)
    return document
  }

  /// Makes a document with a random id; returns when it is on stable storage.
  @discardableResult
  nonisolated(nonsending)
    public func addDocument(data: [String: Any]) async throws -> DocumentReference
  {
    let document = document()
    try await document.setData(data)
    return document
  }

  /// Writes a new document with the fields of `value`; throws if `value` cannot be encoded.
  @discardableResult
  public func addDocument<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws -> DocumentReference {
    let document = document()
    try document.setData(from: value, encoder: encoder, completion: completion)
    return document
  }

  /// Writes a new document with the fields of `value`; returns when it is on stable storage. Throws `EncodingError` if
  /// `value` cannot be encoded.
  // Disfavored, so that an app's own extension with these labels stays what the app calls.
  @_disfavoredOverload
  @discardableResult
  nonisolated(nonsending) public func addDocument<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws -> DocumentReference {
    let document = document()
    try await document.setData(from: value, encoder: encoder)
    return document
  }

  private static func randomID() -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    let characters = (0..<20).map { _ in alphabet[Int.random(in: 0..<alphabet.count)] }
    return String(decoding: characters, as: UTF8.self)
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CollectionReference else { return false }
    return firestore === other.firestore && segments.areSameUTF8(as: other.segments)
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(ObjectIdentifier(firestore))
    segments.hashUTF8(into: &hasher)
    return hasher.finalize()
  }
}
