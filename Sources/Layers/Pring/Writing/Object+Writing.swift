// Saving, updating and deleting an object.
//
//   1. its files are uploaded, and those of what is written with it
//   2. all of it is packed into one batch, and that is committed
//   3. the objects learn how it went (Packing), and files that nothing leads to any more are deleted

public import FirebaseFirestore
public import FirebaseStorage
import LayerKit

extension Object {
  // MARK: Saving

  /// Writes a new document with everything that belongs to it: the files first, then all documents together.
  /// `block` gets the reference and no error once all of it is durable. The tasks are those of the uploads,
  /// by the names of the properties.
  ///
  /// An object that is saved is to be updated. To save it is a mistake: it traps in debug builds and is an
  /// error in others.
  @discardableResult
  public func save(
    _ block: ((DocumentReference?, (any Error)?) -> Void)? = nil
  ) -> [String: StorageUploadTask] {
    save(nil, block: block)
  }

  /// The same with the writes of a batch, which is committed.
  @discardableResult
  public func save(
    _ batch: WriteBatch? = nil, block: ((DocumentReference?, (any Error)?) -> Void)? = nil
  ) -> [String: StorageUploadTask] {
    if let error = refusal {
      block?(reference, error)
      return [:]
    }
    return write(.save, batch) { [self] stage, error in
      switch (stage, error) {
      case (.uploads, let error?): block?(reference, error)
      case (.commit, let error?): block?(nil, error)
      case (_, nil): block?(reference, nil)
      }
    }
  }

  /// Of a save; nil if there is none. Applications rely on the difference, so that nothing is updated in
  /// silence.
  private var refusal: DocumentError? {
    guard isSaved else { return nil }
    let error = DocumentError(
      kind: .alreadySaved,
      description: "\(path) is saved already: call update() to write what has changed.")
    assertionFailure(error.description)
    return error
  }

  // MARK: Updating

  /// Writes what has changed, or all of an object that is not saved. Nothing is written if nothing has
  /// changed, apart from what belongs to this object.
  @discardableResult
  public func update(_ block: (((any Error)?) -> Void)? = nil) -> [String: StorageUploadTask] {
    update(nil, block: block)
  }

  /// The same with the writes of a batch, which is committed.
  @discardableResult
  public func update(
    _ batch: WriteBatch? = nil, block: (((any Error)?) -> Void)? = nil
  ) -> [String: StorageUploadTask] {
    write(.update, batch) { _, error in block?(error) }
  }

  // MARK: Deleting

  /// Deletes the files of the properties, and then the document. Documents below it stay.
  public func delete(_ block: (((any Error)?) -> Void)? = nil) { delete(nil, block: block) }

  /// The same with the writes of a batch, which is committed.
  public func delete(_ batch: WriteBatch? = nil, block: (((any Error)?) -> Void)? = nil) {
    let batch = batch ?? reference.firestore.batch()
    deleteFiles(id, container: nil) { [self] _ in
      batch.deleteDocument(reference)
      commitLate(batch) { [self] error in
        if error == nil { forgetStored() }
        block?(error)
      }
    }
  }

  private func forgetStored() {
    isSaved = false
    // Their bytes are gone: a later save uploads them again.
    for file in pringFiles { file.downloadURL = nil }
    pringRemember()
  }

  // MARK: The steps

  private enum Stage {
    case uploads
    case commit
  }

  private func write(
    _ type: BatchType, _ batch: WriteBatch?, _ done: @escaping (Stage, (any Error)?) -> Void
  ) -> [String: StorageUploadTask] {
    let firestore = reference.firestore
    let batch = batch ?? firestore.batch()
    guard shouldUploadFiles(id) else {
      pack(type, batch: batch).commit { done(.commit, $0) }
      return [:]
    }
    return saveFiles(id, container: nil) { [self] error in
      if let error { return done(.uploads, error) }
      if isAlive(firestore) { pack(type, batch: batch) }
      commitLate(batch) { done(.commit, $0) }
    }
  }

  /// Behind transfers: the user may have ended the database meanwhile, and made no mistake. Then nothing is
  /// written, and whoever is in the batch learns it.
  private func commitLate(_ batch: WriteBatch, _ done: @escaping ((any Error)?) -> Void) {
    batch.commitOrFail { error in
      if let error { (batch.companion as? Packing)?.tell(error) }
      done(error)
    }
  }

  /// Of one that is not, no object can be packed: those without a place would be given one of another
  /// database.
  private func isAlive(_ firestore: Firestore) -> Bool { (try? firestore.checkLiving()) != nil }

  // MARK: Async
  //
  // Without a way over the callback queue, apart from uploads: objects learn how it went where they are
  // awaited.

  /// Returns once everything is durable.
  @discardableResult
  nonisolated(nonsending) public func save() async throws -> DocumentReference {
    if let refusal { throw refusal }
    try await write(.save)
    return reference
  }

  /// Writes what has changed; returns when it is on stable storage.
  nonisolated(nonsending) public func update() async throws { try await write(.update) }

  nonisolated(nonsending) private func write(_ type: BatchType) async throws {
    let firestore = reference.firestore
    let batch = firestore.batch()
    if shouldUploadFiles(id) {
      try await awaitCompletion { done in saveFiles(id, container: nil) { done((), $0) } }
    }
    if isAlive(firestore) { pack(type, batch: batch) }
    let packing = Packing.of(batch)
    batch.companion = nil
    do {
      try await batch.commitOrFail()
    } catch {
      packing.tell(error)
      throw error
    }
    packing.tell(nil)
    await packing.removeFiles()
  }

  /// Deletes the object; returns when that is on stable storage.
  nonisolated(nonsending) public func delete() async throws {
    let batch = reference.firestore.batch()
    let deletions = DeleteContainer()
    deleteFiles(id, container: deletions, block: nil)
    await withCheckedContinuation { done in deletions.begin(on: nil) { _ in done.resume() } }
    try await batch.deleteDocument(reference).commitOrFail()
    forgetStored()
  }
}
