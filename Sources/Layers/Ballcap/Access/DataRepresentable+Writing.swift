// Writing an object: each a batch of one, which keeps its data and its path, and not the object.

public import FirebaseFirestore

extension DataRepresentable where Self: Object {
  private var batch: Batch { Batch(firestore: documentReference.firestore) }

  /// Writes the whole model, with `createdAt` and `updatedAt`. `completion` runs on the callback queue once
  /// it is durable, or with what went wrong: then nothing was written. The write does not keep this object.
  public func save(completion: (((any Error)?) -> Void)? = nil) {
    save(reference: nil, completion: completion)
  }

  /// Writes every field of the model to the document, which has to be there, with `updatedAt`.
  public func update(completion: (((any Error)?) -> Void)? = nil) {
    update(reference: nil, completion: completion)
  }

  /// Deletes the document; the completion is told when that is on stable storage.
  public func delete(completion: (((any Error)?) -> Void)? = nil) {
    delete(reference: nil, completion: completion)
  }

  // MARK: Elsewhere

  /// Writes to `reference`; the object still stands for its own document.
  public func save(reference: DocumentReference? = nil, completion: (((any Error)?) -> Void)? = nil) {
    batch.save(self, reference: reference).commit(completion)
  }

  /// Writes every field of the model to the document, or to the one at `reference`, which has to be there.
  public func update(reference: DocumentReference? = nil, completion: (((any Error)?) -> Void)? = nil) {
    batch.update(self, reference: reference).commit(completion)
  }

  /// Deletes the document, or the one at `reference`; the completion is told when that is on stable storage.
  public func delete(reference: DocumentReference? = nil, completion: (((any Error)?) -> Void)? = nil) {
    batch.delete(self, reference: reference).commit(completion)
  }

  /// Sets these fields and leaves the others; adds no times, and leaves `data` as it is.
  public func merge(
    reference: DocumentReference? = nil, data: [String: Any], completion: (((any Error)?) -> Void)? = nil
  ) {
    batch.set(data, reference: reference ?? documentReference).commit(completion)
  }

  // MARK: Async

  /// Returns once it is durable.
  nonisolated(nonsending) public func save(reference: DocumentReference? = nil) async throws {
    try await batch.save(self, reference: reference).commit()
  }

  /// Writes every field of the model to the document, or to the one at `reference`; throws if it is not
  /// there.
  nonisolated(nonsending) public func update(reference: DocumentReference? = nil) async throws {
    try await batch.update(self, reference: reference).commit()
  }

  /// Deletes the document, or the one at `reference`; returns when that is on stable storage.
  nonisolated(nonsending) public func delete(reference: DocumentReference? = nil) async throws {
    try await batch.delete(self, reference: reference).commit()
  }

  /// Merges these fields into the document, or into the one at `reference`.
  nonisolated(nonsending) public func merge(
    reference: DocumentReference? = nil, data: [String: Any]
  ) async throws {
    try await batch.set(data, reference: reference ?? documentReference).commit()
  }
}
