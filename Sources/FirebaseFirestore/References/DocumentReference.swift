// A document's place: reading and writing it.

package import DocumentStore
public import Foundation
private import OfflineSync

/// Refers to a document, whether it exists or not. Equal if database and path are.
public final class DocumentReference: NSObject, Codable, Sendable {
  public let firestore: Firestore
  package let segments: [String]

  package init(_ firestore: Firestore, _ segments: [String]) {
    self.firestore = firestore
    self.segments = segments
  }

  public var documentID: String { segments[segments.count - 1] }

  public var path: String { segments.joined(separator: "/") }

  public var parent: CollectionReference { CollectionReference(firestore, Array(segments.dropLast())) }

  /// The collection at a path relative to this document.
  public func collection(_ collectionPath: String) -> CollectionReference {
    CollectionReference(firestore, PathText.collection(collectionPath, below: segments))
  }

  // MARK: Writing

  /// Makes the document consist of these fields.
  public func setData(_ documentData: [String: Any]) {
    firestore.batch().setData(documentData, forDocument: self).commit()
  }

  /// `completion` runs once the document is durable, or with what went wrong.
  public func setData(_ documentData: [String: Any], completion: (((any Error)?) -> Void)?) {
    firestore.batch().setData(documentData, forDocument: self).commit(completion: completion)
  }

  nonisolated(nonsending) public func setData(_ documentData: [String: Any]) async throws {
    try await firestore.batch().setData(documentData, forDocument: self).commit()
  }

  /// Makes the document consist of the fields of `value`; throws if `value` cannot be encoded.
  public func setData<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws {
    try firestore.batch().setData(from: value, forDocument: self, encoder: encoder)
      .commit(completion: completion)
  }

  /// Removes the document; fine if there is none.
  public func delete() { firestore.batch().deleteDocument(self).commit() }

  public func delete(completion: (((any Error)?) -> Void)?) {
    firestore.batch().deleteDocument(self).commit(completion: completion)
  }

  nonisolated(nonsending) public func delete() async throws {
    try await firestore.batch().deleteDocument(self).commit()
  }

  // MARK: Reading

  public func getDocument(completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void) {
    getDocument(source: .default, completion: completion)
  }

  public func getDocument(
    source: FirestoreSource, completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void
  ) {
    let callback = Callback<(DocumentSnapshot?, (any Error)?)> { completion($0.0, $0.1) }
    let queue = firestore.callbackQueue
    // Taken here, so that the read sees the writes that were issued before this call.
    let read = Result { try startReading(source) }
    Task {
      let result: (DocumentSnapshot?, (any Error)?)
      do {
        result = (try await read.get().snapshot(), nil)
      } catch {
        result = (nil, error)
      }
      let delivery = Delivery(value: result)
      queue.async { callback(delivery.value) }
    }
  }

  /// Reads on the caller's thread, unless writes that were issued earlier are still under way.
  nonisolated(nonsending)
    public func getDocument(source: FirestoreSource = .default) async throws -> DocumentSnapshot
  {
    try await startReading(source).snapshot()
  }

  /// A read that sees the writes issued before it, and waits for no other.
  private struct Read: Sendable {
    var reference: DocumentReference
    var client: FirestoreClient
    var path: DocumentPath
    var source: ReadSource
    var lastWrite: UInt64

    nonisolated(nonsending) func snapshot() async throws -> DocumentSnapshot {
      DocumentSnapshot(reference, try await client.document(at: path, source: source, after: lastWrite))
    }
  }

  private func startReading(_ source: FirestoreSource) throws -> Read {
    let client = firestore.client()
    return Read(
      reference: self, client: client, path: try storedPath, source: source.readSource,
      lastWrite: client.lastIssuedWrite)
  }

  // MARK: The engine's names

  /// The path with every rule for names checked.
  package var storedPath: DocumentPath {
    get throws {
      do throws(PathError) {
        return try DocumentPath(segments)
      } catch {
        throw FirestoreErrors.translate(error)
      }
    }
  }

  /// This reference as a value of a document; its names are checked when it is written.
  package var stored: StoredReference {
    StoredReference(
      projectID: firestore.app.projectID, databaseID: firestore.databaseID,
      path: DocumentPath(unchecked: segments))
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? DocumentReference else { return false }
    return firestore === other.firestore && segments.areSameUTF8(as: other.segments)
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(ObjectIdentifier(firestore))
    segments.hashUTF8(into: &hasher)
    return hasher.finalize()
  }
}
