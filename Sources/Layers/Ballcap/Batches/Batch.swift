// Atomic writes of objects.
//
// 1. Each write is encoded when it is added. If a write does not encode, the commit fails and nothing is
//    written.
// 2. The commit sets the times of the objects to this machine's time, as an estimate.
// 3. When the commit is durable, the committed documents are put in the cache. Then, on the callback queue,
//    the objects get the times of the commit, and the completion is called.
// 4. If the commit failed, the cache does not change, and the objects get their earlier times back.
//
// A batch keeps data and paths, but no objects. If an object is released during the commit, its times are not
// set.

private import FirebaseCore
public import FirebaseFirestore
private import Foundation

/// Collects writes of objects for one commit. A batch is committed once, and may have any number of writes.
///
/// ```swift
/// Batch()
///   .save(user)
///   .update(room)
///   .delete(message)
///   .commit { error in print(error as Any) }
/// ```
public final class Batch {
  let firestore: Firestore
  private let batch: WriteBatch
  private var writes: [BatchWrite] = []

  /// Creates an empty batch for this database.
  public init(firestore: Firestore = Firestore.firestore()) {
    self.firestore = firestore
    batch = firestore.batch()
  }

  // MARK: Collecting

  /// Sets these fields and keeps the other fields of the document. Does not set the times.
  @discardableResult
  public func set(_ data: [String: Any], reference: DocumentReference) -> Self {
    add(BatchWrite(reference, nil)) {
      try UserData.patch(from: data, in: firestore)
    } as: {
      batch.setFields($0, forDocument: reference, merge: true)
    }
    return self
  }

  /// Writes the whole model, and both times if the object stores them. With `merge`, keeps the fields that
  /// the model does not have.
  @discardableResult
  public func save<T: Documentable>(
    _ document: T, reference: DocumentReference? = nil, merge: Bool = false
  ) -> Self where T: DataRepresentable {
    let place: DocumentReference = reference ?? document.documentReference
    add(BatchWrite(place, document, times: document.wantsTimes ? .both : .none)) {
      try fields(of: document, with: .both)
    } as: {
      batch.setFields($0, forDocument: place, merge: merge)
    }
    return self
  }

  /// Writes every field of the model, and the update time if the object stores times. The commit fails if the
  /// document does not exist. Maps are replaced as a whole. Fields that the model does not have stay
  /// unchanged.
  @discardableResult
  public func update<T: Documentable>(
    _ document: T, reference: DocumentReference? = nil
  ) -> Self where T: DataRepresentable {
    let place: DocumentReference = reference ?? document.documentReference
    add(BatchWrite(place, document, times: document.wantsTimes ? .updated : .none)) {
      try fields(of: document, with: .updated)
    } as: {
      batch.updateFields($0, forDocument: place)
    }
    return self
  }

  /// Deletes the document, or the document at `reference`.
  @discardableResult
  public func delete<T: Documentable>(_ document: T, reference: DocumentReference? = nil) -> Self {
    let place: DocumentReference = reference ?? document.documentReference
    batch.deleteDocument(place)
    writes.append(BatchWrite(place, nil))
    return self
  }

  // MARK: The steps

  private func add(
    _ write: BatchWrite, _ encode: () throws -> EncodedFields, as put: (EncodedFields) -> Void
  ) {
    do {
      put(try encode())
      writes.append(write)
    } catch let error as UserDataError {
      batch.fail(error.asEncodingError(of: write.reference.path))
    } catch {
      batch.fail(error)
    }
  }

  private func fields<T: Documentable & DataRepresentable>(
    of document: T, with times: WrittenTimes
  ) throws -> EncodedFields {
    guard let data = document.data else {
      throw EncodingError.invalidValue(
        document.path,
        EncodingError.Context(codingPath: [], debugDescription: "\(document.path) has no data to write."))
    }
    let computed = document.wantsTimes ? times.computed : .none
    return try Firestore.Encoder().encodeFields(data, in: firestore, computing: computed)
  }

  // MARK: Committing

  /// Commits the writes. Calls `completion` once on the callback queue, with nil if all writes are durable.
  public func commit(_ completion: (((any Error)?) -> Void)? = nil) {
    let writes = Transferred(begin())
    let completion = Transferred(completion)
    let queue = firestore.callbackQueue
    send(writes.value) { result in
      queue.async {
        // Apply the outcome to the objects even if there is no completion.
        let error = Self.end(writes.value, result)
        completion.value?(error)
      }
    }
  }

  /// Commits all writes or none. Returns when the writes are on stable storage.
  nonisolated(nonsending) public func commit() async throws {
    let writes = begin()
    let result = await awaitValue { send(writes, $0) }
    if let error = Self.end(writes, result) { throw error }
  }

  private func begin() -> [BatchWrite] {
    let now = Timestamp()
    for index in writes.indices { writes[index].begin(at: now) }
    return writes
  }

  /// The committed documents, one for each write, or the error of the commit.
  private typealias Outcome = Result<[DocumentSnapshot?], any Error>

  private func send(_ writes: [BatchWrite], _ completion: @escaping @Sendable (Outcome) -> Void) {
    let places = writes.map(\.reference)
    batch.commit { result in
      completion(
        result.map {
          places.map { place in
            let time = CachedDocument.now
            let snapshot = place.publishedSnapshot()
            DocumentCache.shared.setCommitted(snapshot, at: place, time: time)
            return snapshot
          }
        })
    }
  }

  private static func end(_ writes: [BatchWrite], _ outcome: Outcome) -> (any Error)? {
    switch outcome {
    case .success(let snapshots):
      for (write, snapshot) in zip(writes, snapshots) { write.succeed(snapshot) }
      return nil
    case .failure(let error):
      for write in writes.reversed() { write.fail() }
      return error
    }
  }
}
