// Writes of objects that happen together or not at all.
//
//   1. each write is encoded when it is added; the first that cannot be fails the commit, and nothing is
//      written
//   2. at the commit, the objects get this machine's time as an estimate of theirs
//   3. once it is durable, the cache has what the database has; then, on the callback queue, the objects get
//      the times of the commit, and the completion is called
//   4. if it failed, the cache stays, and the objects get their times back
//
// A batch keeps data and paths, and no object: an object that is released during the commit misses its times.

private import FirebaseCore
public import FirebaseFirestore
private import Foundation

/// Collects writes of objects for one commit. A batch is used once, and may hold any number of writes.
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

  /// Makes a batch for this database, with nothing in it.
  public init(firestore: Firestore = Firestore.firestore()) {
    self.firestore = firestore
    batch = firestore.batch()
  }

  // MARK: Collecting

  /// Sets these fields and leaves the others; adds no times.
  @discardableResult
  public func set(_ data: [String: Any], reference: DocumentReference) -> Self {
    add(BatchWrite(reference, nil)) {
      try UserData.fields(from: data, in: firestore)
    } as: {
      batch.setFields($0, forDocument: reference, merge: true)
    }
    return self
  }

  /// Writes the whole model, and the two times where the object wants them. With `merge`, fields that the
  /// model has not stay.
  @discardableResult
  public func save<T: Documentable>(
    _ document: T, reference: DocumentReference? = nil, merge: Bool = false
  ) -> Self where T: DataRepresentable {
    let place: DocumentReference = reference ?? document.documentReference
    add(BatchWrite(place, document, times(document, [\.createdAt, \.updatedAt]))) {
      try fields(of: document, with: ["createdAt", "updatedAt"])
    } as: {
      batch.setFields($0, forDocument: place, merge: merge)
    }
    return self
  }

  /// Writes every field of the model, and the time of the update where the object wants it, to a document
  /// that has to be there. Maps are replaced as a whole; other fields stay.
  @discardableResult
  public func update<T: Documentable>(
    _ document: T, reference: DocumentReference? = nil
  ) -> Self where T: DataRepresentable {
    let place: DocumentReference = reference ?? document.documentReference
    add(BatchWrite(place, document, times(document, [\.updatedAt]))) {
      try fields(of: document, with: ["updatedAt"])
    } as: {
      batch.updateFields($0, forDocument: place)
    }
    return self
  }

  /// Deletes the document, or the one at `reference`.
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

  private typealias TimePath = ReferenceWritableKeyPath<Object, Timestamp>

  private func times(_ document: some DataRepresentable, _ times: [TimePath]) -> [TimePath] {
    document.wantsTimes ? times : []
  }

  private func fields<T: Documentable & DataRepresentable>(
    of document: T, with times: [String]
  ) throws -> EncodedFields {
    guard let data = document.data else {
      throw EncodingError.invalidValue(
        document.path,
        EncodingError.Context(codingPath: [], debugDescription: "\(document.path) has no data to write."))
    }
    var fields = try Firestore.Encoder().encodeFields(data, in: firestore)
    if document.wantsTimes {
      for time in times { fields.compute(time, .serverTimestamp()) }
    }
    return fields
  }

  // MARK: Committing

  /// `completion` runs on the callback queue, once, with nil if everything is durable.
  public func commit(_ completion: (((any Error)?) -> Void)? = nil) {
    let writes = Transferred(begin())
    let completion = Transferred(completion)
    let queue = firestore.callbackQueue
    send(writes.value) { result in
      queue.async {
        // The objects learn the outcome with and without a completion.
        let error = Self.end(writes.value, result)
        completion.value?(error)
      }
    }
  }

  /// Writes all of it or nothing; returns when it is on stable storage.
  nonisolated(nonsending) public func commit() async throws {
    let writes = begin()
    let result = await withCheckedContinuation { continuation in
      send(writes) { continuation.resume(returning: $0) }
    }
    if let error = Self.end(writes, result) { throw error }
  }

  private func begin() -> [BatchWrite] {
    let now = Timestamp()
    for index in writes.indices { writes[index].begin(at: now) }
    return writes
  }

  /// What the database has after the commit, write by write.
  private typealias Outcome = Result<[DocumentSnapshot?], any Error>

  private func send(_ writes: [BatchWrite], _ told: @escaping @Sendable (Outcome) -> Void) {
    let places = writes.map(\.reference)
    batch.commit { result in
      told(
        result.map {
          places.map { place in
            let time = CachedDocument.now
            let snapshot = place.publishedSnapshot()
            DocumentCache.shared.setCommitted(snapshot, at: place, time)
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
