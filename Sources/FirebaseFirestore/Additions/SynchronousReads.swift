// Reads that return what they found: for servers, tools and tests, whose threads may wait.

private import DocumentStore
private import Foundation
private import OfflineSync

extension DocumentReference {
  /// Reads the document on this thread, once the writes that this instance issued before are done.
  ///
  /// ```swift
  /// let city = try Firestore.firestore().document("cities/tokyo").read()
  /// ```
  ///
  /// It may wait for the disk. Not for a thread that must not wait, such as that of a user interface.
  public func read(source: FirestoreSource = .default) throws -> DocumentSnapshot {
    let client = firestore.client()
    let (path, source) = (try storedPath, client.synchronous(source))
    return DocumentSnapshot(
      self,
      try client.readNow(after: client.lastIssuedWrite) { view throws(DocumentStoreError) in
        try view.document(at: path, source: source)
      })
  }

  /// The same as a value of `type`.
  public func read<T: Decodable>(
    as type: T.Type, decoder: Firestore.Decoder = Firestore.Decoder(), source: FirestoreSource = .default
  ) throws -> T {
    try read(source: source).data(as: type, decoder: decoder)
  }
}

extension Query {
  /// Answers the query on this thread, once the writes that this instance issued before are done. It may wait for
  /// the disk, and for an index that the query needs and that is not there.
  public func read(source: FirestoreSource = .default) throws -> QuerySnapshot {
    let client = firestore.client()
    let (query, source) = (try runnable, client.synchronous(source))
    return QuerySnapshot(
      self,
      try client.readNow(after: client.lastIssuedWrite) { view throws(DocumentStoreError) in
        try view.documents(query, source: source)
      })
  }
}

extension FirestoreClient {
  /// With a remote, what is here: nobody waits on a thread for the remote.
  fileprivate func synchronous(_ source: FirestoreSource) -> ReadSource {
    remote == nil ? source.readSource : .cache
  }
}
