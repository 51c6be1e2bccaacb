// Stores snapshots in contiguous memory, for a higher layer that rarely reads them again.

private import DocumentStore

/// Snapshots of one database, in arrival order.
package struct PackedSnapshots {
  private var firestore: Firestore?
  private var documents = PackedDocuments()
  private var metadata: [SnapshotMetadata] = []

  package init() {}

  package var count: Int { metadata.count }

  package var byteCount: Int { documents.byteCount }

  /// Appends a snapshot. Returns false and does nothing for a snapshot of another database, a large document,
  /// or a snapshot whose stored bytes are not available. Stored bytes are not available if the document does
  /// not exist or has been decoded. Listeners decode documents, and so do most pending writes.
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

  /// New snapshot objects, equal to the packed ones.
  package var snapshots: [DocumentSnapshot] {
    guard let firestore else { return [] }
    return zip(documents.documents, metadata).map { record, metadata in
      DocumentSnapshot(DocumentReference(firestore, record.path.segments), record, metadata: metadata)
    }
  }

  /// Removes all snapshots, but keeps the memory for new ones.
  package mutating func removeAll() {
    firestore = nil
    documents.removeAll()
    metadata.removeAll(keepingCapacity: true)
  }
}
