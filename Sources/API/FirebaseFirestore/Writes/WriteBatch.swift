// A batch of writes that commit atomically.

import ByteStore
import DocumentStore
import FirebaseCore
public import Foundation
import OfflineSync

/// A list of writes for one commit. Each batch can be committed once.
///
/// ```swift
/// let firestore = Firestore.firestore()
/// try await firestore.batch()
/// .setData(["name": "Tokyo"], forDocument: firestore.document("cities/tokyo"))
/// .updateData(["cities": FieldValue.increment(1)], forDocument: firestore.document("numbers/all"))
/// .commit()
/// ```
///
/// The writes are applied in order. A write that is a programming error traps when it is added; within
/// ``Firestore/validated(_:)``, it throws. A write that the database rejects, for example because its
/// document does not exist, makes the commit fail.
public final class WriteBatch: NSObject, Sendable {
  let firestore: Firestore
  let state = Locked(State())

  struct State {
    var mutations: [PendingMutation] = []
    /// The error of the first invalid write; the commit reports it.
    var failure: (any Error)?
    var isCommitted = false
    var companion: (any BatchCompanion)?
  }

  init(_ firestore: Firestore) { self.firestore = firestore }

  // MARK: Collecting

  /// Replaces the contents of `document` with these fields, or creates the document.
  @discardableResult
  public func setData(_ data: [String: Any], forDocument document: DocumentReference) -> WriteBatch {
    setData(data, forDocument: document, merge: false)
  }

  /// Sets the fields of `document`. With `merge`, the document keeps its other fields. An empty map replaces
  /// the field's value.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) -> WriteBatch {
    add(document) { try $0.set(data, merge: merge) }
  }

  /// Sets the fields listed in `mergeFields` and ignores the rest of `data`. Each element of `mergeFields` is
  /// a `FieldPath` or a string with dots.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) -> WriteBatch {
    add(document) { try $0.set(data, only: mergeFields) }
  }

  /// Changes fields of `document`, which must exist. The keys are `FieldPath`s or strings with dots.
  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference
  ) -> WriteBatch {
    add(document) { try $0.update(fields) }
  }

  /// Deletes `document`. Does nothing if the document does not exist.
  @discardableResult
  public func deleteDocument(_ document: DocumentReference) -> WriteBatch {
    add(document) { .delete($0.path) }
  }

  // MARK: Collecting values

  /// Replaces the contents of `document` with the fields of `value`, or creates the document. Throws if the
  /// value cannot be encoded.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    try setData(from: value, forDocument: document, merge: false, encoder: encoder)
  }

  /// Sets the fields of `value` in the document. With `merge`, the document keeps its other fields.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, merge: Bool,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    let fields = try UserWrite.encode(value, encoder, in: firestore)
    return add(document) { try $0.set(fields, merge: merge) }
  }

  /// Sets the fields of `value` that are listed in `mergeFields`.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    let fields = try UserWrite.encode(value, encoder, in: firestore)
    return add(document) { try $0.set(fields, only: mergeFields) }
  }

  // MARK: The steps

  /// Adds a mutation with the given precondition. If `precondition` is nil, the mutation keeps its own
  /// precondition.
  func add(
    _ document: DocumentReference, requiring precondition: PendingPrecondition? = nil,
    _ mutation: (UserWrite.Place) throws -> Mutation
  ) -> WriteBatch {
    let added = UserWrite.mutation(of: document, in: firestore, mutation).map { mutation in
      precondition.map { PendingMutation(mutation, requiring: $0) } ?? PendingMutation(mutation)
    }
    let isLate = state.withLock { state in
      guard !state.isCommitted else { return true }
      switch added {
      case .success(let mutation): state.mutations.append(mutation)
      case .failure(let error): state.failure = state.failure ?? error
      }
      return false
    }
    if isLate { _ = Self.lateUse() }
    return self
  }

  // MARK: Committing

  /// Commits the writes without reporting the result. `commit(completion:)` reports it.
  public func commit() { commit(completion: nil) }

  /// Commits the writes. `completion` runs on the callback queue when all writes are durable or the commit
  /// has failed. If it has failed, none of the writes has taken effect.
  public func commit(completion: (((any Error)?) -> Void)?) { commit(through: nil, completion) }

  /// Commits through `client`. If `client` is nil, uses the client of the database, which fails the commit if
  /// the database was terminated.
  func commit(through client: (any FirestoreClient)?, _ completion: (((any Error)?) -> Void)?) {
    let queue = firestore.callbackQueue
    let callback = completion.map { Callback<(any Error)?>($0) }
    let companion = companion
    send(through: client) { result in
      guard callback != nil || companion != nil else { return }
      let delivery = Transferred(result.failure)
      queue.submit {
        guard let companion else {
          callback?(delivery.value)
          return
        }
        companion.batchEnded(delivery.value, on: queue) { callback?(delivery.value) }
      }
    }
  }

  /// Commits the writes atomically. Returns when they are on stable storage.
  nonisolated(nonsending) public func commit() async throws {
    try await awaitResult { commit(through: nil, done: $0) }
  }

  /// Commits through `client` like `commit(through:_:)`, but calls `done` beside the callback queue, after
  /// the companion has received the result.
  func commit(through client: (any FirestoreClient)?, done: @escaping Answer<Void>) {
    let companion = companion
    send(through: client) { result in
      guard let companion else { return done(result) }
      companion.batchEnded(result.failure, on: nil) { done(result) }
    }
  }

  func send(
    through client: (any FirestoreClient)? = nil,
    _ finished: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    let collected = end()
    // An invalid batch goes through the same queue as valid ones, so that its error is reported in commit
    // order.
    (client ?? firestore.client()).write(collected, finished: finished)
  }

  /// Ends the batch and returns its writes, for a caller that commits them with other writes. Throws the
  /// error of the first invalid write. Traps if the batch was committed.
  func takeWrites() throws -> [PendingMutation] { try end().get() }

  /// Ends the batch and returns its writes, or the error of the first invalid write.
  private func end() -> Result<[PendingMutation], any Error> {
    let collected = state.withLock { state -> Result<[PendingMutation], any Error>? in
      guard !state.isCommitted else { return nil }
      state.isCommitted = true
      return state.failure.map(Result.failure) ?? .success(state.mutations)
    }
    return collected ?? .failure(Self.lateUse())
  }

  private static func lateUse() -> any Error {
    Validation.misuse("A write batch can no longer be used after commit has been called.")
  }
}

extension WriteBatch: Validatable {
  /// Throws the error of the first invalid write.
  func validate() throws { if let failure = state.withLock({ $0.failure }) { throw failure } }
}

extension Firestore {
  /// Creates a batch of writes that are committed atomically.
  public func batch() -> WriteBatch { WriteBatch(self) }
}
