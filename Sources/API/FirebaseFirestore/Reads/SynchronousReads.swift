// Blocking reads for servers, tools and tests.

private import DocumentStore
private import Foundation
private import OfflineSync

extension DocumentReference {
  /// Reads the document on the calling thread, after the writes that this instance issued before this call.
  ///
  /// ```swift
  /// let city = try Firestore.firestore().document("cities/tokyo").read()
  /// ```
  ///
  /// The call may block on the disk. Do not use it on a thread that must not block, such as the thread of a
  /// user interface.
  ///
  /// With a remote, the read uses the local cache. Throws `unavailable` if the cache has no information about
  /// the document, and always for the source `.server`.
  public func read(source: FirestoreSource = .default) throws -> DocumentSnapshot {
    DocumentSnapshot(self, try readNow(source))
  }

  private func readNow(_ source: FirestoreSource) throws -> ViewedDocument {
    try firestore.client().documentNow(at: try storedPath, source: source.readSource)
  }

  /// Reads the document on the calling thread and decodes it as `type`.
  public func read<T: Decodable>(
    as type: T.Type, decoder: Firestore.Decoder = Firestore.Decoder(), source: FirestoreSource = .default
  ) throws -> T {
    // Decodes the record directly, because a snapshot would only be created to be freed again.
    let viewed = try readNow(source)
    return try decoder.decodeRecord(type, viewed.record, reference: self, times: .none)
  }
}

extension Query {
  /// Runs the query on the calling thread, after the writes that this instance issued before this call. The
  /// call may block on the disk, and it blocks while an index that the query needs is created.
  ///
  /// With a remote, the query uses the local cache. Throws `unavailable` for the source `.server`.
  public func read(source: FirestoreSource = .default) throws -> QuerySnapshot {
    QuerySnapshot(self, try firestore.client().documentsNow(try runnable, source: source.readSource))
  }
}
