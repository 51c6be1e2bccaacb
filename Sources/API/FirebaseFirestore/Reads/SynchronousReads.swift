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
  ///
  /// With a remote it answers from what is here: `unavailable` if nothing is known of the document, and for `.server`.
  public func read(source: FirestoreSource = .default) throws -> DocumentSnapshot {
    let client = firestore.client()
    return DocumentSnapshot(
      self,
      try client.documentNow(at: try storedPath, source: source.readSource, after: client.lastIssuedWrite))
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
  ///
  /// With a remote it answers from what is here, and throws `unavailable` for `.server`.
  public func read(source: FirestoreSource = .default) throws -> QuerySnapshot {
    let client = firestore.client()
    return QuerySnapshot(
      self,
      try client.documentsNow(try runnable, source: source.readSource, after: client.lastIssuedWrite))
  }
}
