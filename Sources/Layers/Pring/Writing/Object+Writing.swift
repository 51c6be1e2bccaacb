// Saves, updates and deletes an object.
//
//   1. The files of the object, and of all objects that are written with it, are uploaded.
//   2. The writes of all documents are added to one batch, and the batch is committed.
//   3. The objects receive the result of the commit (Packing). Files that no document references any more are
//      deleted.

private import FirebaseCore
public import FirebaseFirestore
public import FirebaseStorage
import LayerKit

extension Object {
  // MARK: Saving

  /// Writes a new document and everything that is saved with it. The files are uploaded first, and then all
  /// documents are committed together. `block` receives the reference and no error once all writes are
  /// durable. Returns the upload tasks, by property name.
  ///
  /// Saving an object that is already saved is a programming error; call `update` instead. The error traps in
  /// debug builds. In other builds, `block` receives an error and nothing is written.
  @discardableResult
  public func save(
    _ block: ((DocumentReference?, (any Error)?) -> Void)? = nil
  ) -> [String: StorageUploadTask] {
    save(nil, block: block)
  }

  /// Adds the save to the batch, and commits the batch. Without a batch, a new one is used. Otherwise works
  /// like the call without the `batch` parameter.
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

  /// The error for saving an object that is already saved; nil if the object is not saved. Applications rely
  /// on the difference between `save` and `update`, so a save never becomes an update silently.
  private var refusal: DocumentError? {
    guard isSaved else { return nil }
    let error = DocumentError(
      kind: .alreadySaved,
      description: "\(path) is saved already: call update() to write the changes.")
    assertionFailure(error.description)
    return error
  }

  // MARK: Updating

  /// Writes the changes, or the whole object if it is not saved. If the object itself has not changed, only
  /// its children are written.
  @discardableResult
  public func update(_ block: (((any Error)?) -> Void)? = nil) -> [String: StorageUploadTask] {
    update(nil, block: block)
  }

  /// Adds the update to the batch, and commits the batch. Without a batch, a new one is used. Otherwise works
  /// like the call without the `batch` parameter.
  @discardableResult
  public func update(
    _ batch: WriteBatch? = nil, block: (((any Error)?) -> Void)? = nil
  ) -> [String: StorageUploadTask] {
    write(.update, batch) { _, error in block?(error) }
  }

  // MARK: Deleting

  /// Deletes the files of the properties and then the document. Documents in the collections below the
  /// document are not deleted.
  public func delete(_ block: (((any Error)?) -> Void)? = nil) { delete(nil, block: block) }

  /// Adds the deletion to the batch, and commits the batch. Without a batch, a new one is used. Otherwise
  /// works like the call without the `batch` parameter.
  public func delete(_ batch: WriteBatch? = nil, block: (((any Error)?) -> Void)? = nil) {
    guard isAlive(reference.firestore) else {
      return reportTermination(of: reference.firestore, batch) { block?($0) }
    }
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
    // The stored files are deleted, so a later save must upload them again.
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
    guard isAlive(firestore) else {
      reportTermination(of: firestore, batch) { done(.commit, $0) }
      return [:]
    }
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

  /// Commits a batch after uploads or file deletions. The app may have terminated the database in the
  /// meantime, which is not a programming error. In this case nothing is written, and the objects in the
  /// batch receive the error.
  private func commitLate(_ batch: WriteBatch, _ done: @escaping ((any Error)?) -> Void) {
    batch.commitOrFail { error in
      if let error { (batch.companion as? Packing)?.notifyCompletions(error) }
      done(error)
    }
  }

  /// Reports that the database was terminated before the call. The objects in the app's batch receive the
  /// error, too. The commit of an empty batch delivers the error on the callback queue.
  private func reportTermination(
    of firestore: Firestore, _ batch: WriteBatch?, _ done: @escaping ((any Error)?) -> Void
  ) {
    firestore.batch().commit { error in
      if let error { (batch?.companion as? Packing)?.notifyCompletions(error) }
      done(error)
    }
  }

  /// Whether the database is still open. After its termination, objects must not be added to a batch: a new
  /// object without a reference would get a reference in another database.
  private func isAlive(_ firestore: Firestore) -> Bool { (try? firestore.checkLiving()) != nil }

  // MARK: Async
  //
  // Only uploads use the callback queue. The objects receive the result in the task that awaits the call.

  /// Saves the object, and returns when all writes are durable. If the object is already saved, traps in
  /// debug builds and throws in other builds.
  @discardableResult
  nonisolated(nonsending) public func save() async throws -> DocumentReference {
    if let refusal { throw refusal }
    try await write(.save)
    return reference
  }

  /// Writes the changes, and returns when they are durable.
  nonisolated(nonsending) public func update() async throws { try await write(.update) }

  nonisolated(nonsending) private func write(_ type: BatchType) async throws {
    let firestore = reference.firestore
    try firestore.checkLiving()
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
      packing.notifyCompletions(error)
      throw error
    }
    packing.notifyCompletions(nil)
    await packing.removeFiles()
  }

  /// Deletes the files and then the document, and returns when the deletion is durable.
  nonisolated(nonsending) public func delete() async throws {
    try reference.firestore.checkLiving()
    let batch = reference.firestore.batch()
    let deletions = DeleteContainer()
    deleteFiles(id, container: deletions, block: nil)
    await awaitValue { done in deletions.begin(on: nil) { _ in done(()) } }
    try await batch.deleteDocument(reference).commitOrFail()
    forgetStored()
  }
}
