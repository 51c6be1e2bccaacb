// Writes an object. Each write is a batch with a single write. The batch keeps the data and the path, but not
// the object.

public import FirebaseFirestore

extension DataRepresentable where Self: Object {
  private var batch: Batch { Batch(firestore: documentReference.firestore) }

  /// Writes the whole model, with `createdAt` and `updatedAt`. Calls `completion` on the callback queue when
  /// the write is durable, or with an error if nothing was written. The write does not keep this object
  /// alive.
  public func save(completion: (((any Error)?) -> Void)? = nil) {
    save(reference: nil, completion: completion)
  }

  /// Writes every field of the model and `updatedAt` to the document. Fails if the document does not exist.
  public func update(completion: (((any Error)?) -> Void)? = nil) {
    update(reference: nil, completion: completion)
  }

  /// Deletes the document. Calls `completion` when the deletion is on stable storage.
  public func delete(completion: (((any Error)?) -> Void)? = nil) {
    delete(reference: nil, completion: completion)
  }

  // MARK: Elsewhere

  /// Writes the model to `reference`. The object keeps its own document.
  public func save(reference: DocumentReference? = nil, completion: (((any Error)?) -> Void)? = nil) {
    batch.save(self, reference: reference).commit(completion)
  }

  /// Writes every field of the model to the document, or to the document at `reference`. Fails if that
  /// document does not exist.
  public func update(reference: DocumentReference? = nil, completion: (((any Error)?) -> Void)? = nil) {
    batch.update(self, reference: reference).commit(completion)
  }

  /// Deletes the document, or the document at `reference`. Calls `completion` when the deletion is on stable
  /// storage.
  public func delete(reference: DocumentReference? = nil, completion: (((any Error)?) -> Void)? = nil) {
    batch.delete(self, reference: reference).commit(completion)
  }

  /// Sets these fields and keeps the other fields of the document. Does not set the times, and does not
  /// change `data`.
  public func merge(
    reference: DocumentReference? = nil, data: [String: Any], completion: (((any Error)?) -> Void)? = nil
  ) {
    batch.set(data, reference: reference ?? documentReference).commit(completion)
  }

  // MARK: Async

  /// Writes the whole model, with `createdAt` and `updatedAt`. Returns when the write is durable.
  nonisolated(nonsending) public func save(reference: DocumentReference? = nil) async throws {
    try await batch.save(self, reference: reference).commit()
  }

  /// Writes every field of the model to the document, or to the document at `reference`. Throws if that
  /// document does not exist.
  nonisolated(nonsending) public func update(reference: DocumentReference? = nil) async throws {
    try await batch.update(self, reference: reference).commit()
  }

  /// Deletes the document, or the document at `reference`. Returns when the deletion is on stable storage.
  nonisolated(nonsending) public func delete(reference: DocumentReference? = nil) async throws {
    try await batch.delete(self, reference: reference).commit()
  }

  /// Sets these fields in the document, or in the document at `reference`. Keeps the other fields of that
  /// document.
  nonisolated(nonsending) public func merge(
    reference: DocumentReference? = nil, data: [String: Any]
  ) async throws {
    try await batch.set(data, reference: reference ?? documentReference).commit()
  }
}
