// What the layers above ask of a place.

private import DocumentStore
private import OfflineSync

extension DocumentReference {
  /// The document as it is published now: waits for no write that is under way. Nil if it cannot be read, and once
  /// the instance is terminated.
  package func publishedSnapshot() -> DocumentSnapshot? {
    guard let client = try? firestore.livingClient(), let path = try? storedPath else { return nil }
    let viewed = try? client.readNow(after: 0) { view throws(DocumentStoreError) in
      try view.document(at: path)
    }
    return viewed.map { DocumentSnapshot(self, $0) }
  }
}
