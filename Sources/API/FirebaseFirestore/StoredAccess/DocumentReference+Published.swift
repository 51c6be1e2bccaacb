// What the layers above ask of a place.

private import DocumentStore
private import OfflineSync

extension DocumentReference {
  /// The document as it is published now: waits for no write that is under way. Nil if it cannot be read, before the
  /// first call that opens the store, and once the instance is terminated.
  package func publishedSnapshot() -> DocumentSnapshot? {
    // Never opens the store: whoever is told of a commit may be what its end waits for.
    guard let view = try? firestore.livingClient().openView, let path = try? storedPath else { return nil }
    return (try? view.record(at: path)).map { DocumentSnapshot(self, $0) }
  }
}

extension Firestore {
  /// Whether what is committed here may be rejected elsewhere.
  package var hasRemote: Bool { (try? livingClient())?.remote != nil }
}
