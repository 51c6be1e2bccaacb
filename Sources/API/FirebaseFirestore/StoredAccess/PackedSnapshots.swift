// Snapshots that a layer keeps in case somebody asks for them, in one piece of memory.

private import DocumentStore

/// Of one database, in the order in which they came.
package struct PackedSnapshots {
  private var firestore: Firestore?
  private var documents = PackedDocuments()
  private var metadata: [SnapshotMetadata] = []

  package init() {}

  package var count: Int { metadata.count }

  package var byteCount: Int { documents.byteCount }

  /// False, and nothing is done, for one of another database, a large one, and one that is not as it is stored: because
  /// there is no document, or it was decoded already, as those of listeners and most of those with writes that wait are.
  @discardableResult
  package mutating func append(_ snapshot: DocumentSnapshot) -> Bool {
    let firestore = snapshot.reference.firestore
    guard self.firestore == nil || self.firestore === firestore, let record = snapshot.stateRecord,
      documents.append(record)
    else { return false }
    self.firestore = firestore
    metadata.append(snapshot.metadata)
    return true
  }

  /// The same as those that were packed, made anew.
  package var snapshots: [DocumentSnapshot] {
    guard let firestore else { return [] }
    return zip(documents.documents, metadata).map { record, metadata in
      DocumentSnapshot(DocumentReference(firestore, record.path.segments), record, metadata)
    }
  }

  /// Its memory serves again.
  package mutating func removeAll() {
    firestore = nil
    documents.removeAll()
    metadata.removeAll(keepingCapacity: true)
  }
}
