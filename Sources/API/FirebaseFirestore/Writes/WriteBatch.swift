// Several writes that happen together or not at all.

import DocumentStore
import FirebaseCore
public import Foundation

/// Collects writes for one commit. A batch is used once.
///
/// ```swift
/// let firestore = Firestore.firestore()
/// try await firestore.batch()
///   .setData(["name": "Tokyo"], forDocument: firestore.document("cities/tokyo"))
///   .updateData(["cities": FieldValue.increment(1)], forDocument: firestore.document("numbers/all"))
///   .commit()
/// ```
///
/// The writes are applied in their order. What no program may write traps; what only this document cannot
/// take fails the commit.
public final class WriteBatch: NSObject, Sendable {
  let firestore: Firestore
  let state = Guarded(State())

  struct State {
    var mutations: [Mutation] = []
    /// The first write that cannot be stored; the commit reports it.
    var failure: (any Error)?
    var isCommitted = false
    var companion: (any BatchCompanion)?
  }

  init(_ firestore: Firestore) { self.firestore = firestore }

  // MARK: Collecting

  /// Makes `document` consist of these fields.
  @discardableResult
  public func setData(_ data: [String: Any], forDocument document: DocumentReference) -> WriteBatch {
    setData(data, forDocument: document, merge: false)
  }

  /// With `merge`, sets these fields and leaves the others; an empty map replaces what is there.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) -> WriteBatch {
    add(document) { try $0.set(data, merge: merge) }
  }

  /// Sets only the listed ones of these fields. Each is a `FieldPath`, or text with dots.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) -> WriteBatch {
    add(document) { try $0.set(data, only: mergeFields) }
  }

  /// Changes fields of `document`, which has to be there. The keys are `FieldPath`s, or text with dots.
  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference
  ) -> WriteBatch {
    add(document) { try $0.update(fields) }
  }

  /// Removes `document`; fine if there is none.
  @discardableResult
  public func deleteDocument(_ document: DocumentReference) -> WriteBatch {
    add(document) { .delete($0.path) }
  }

  // MARK: Collecting values

  /// Makes `document` consist of the fields of `value`; throws if it cannot be encoded.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    try setData(from: value, forDocument: document, merge: false, encoder: encoder)
  }

  /// Sets the document to the value, or merges the value into it.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, merge: Bool,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    let fields = try UserWrite.encode(value, encoder, in: firestore)
    return add(document) { try $0.set(try fields.get(), merge: merge) }
  }

  /// Merges the named fields of the value into the document.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    let fields = try UserWrite.encode(value, encoder, in: firestore)
    return add(document) { try $0.set(try fields.get(), only: mergeFields) }
  }

  // MARK: The steps

  func add(
    _ document: DocumentReference, _ mutation: (UserWrite.Place) throws -> Mutation
  ) -> WriteBatch {
    UserWrite.check(document, belongsTo: firestore)
    let added = UserWrite.mutation(of: document, mutation)
    let isLate = state.withLock { state in
      guard !state.isCommitted else { return true }
      switch added {
      case .success(let mutation): state.mutations.append(mutation)
      case .failure(let error): state.failure = state.failure ?? error
      }
      return false
    }
    if isLate { Self.trapCommitted() }
    return self
  }

  // MARK: Committing

  /// Sends the writes off; see `commit(completion:)` to learn how they fared.
  public func commit() { commit(completion: nil) }

  /// `completion` runs on the callback queue once all writes are durable, or with what went wrong; then
  /// none of them happened.
  public func commit(completion: (((any Error)?) -> Void)?) { commit(through: nil, completion) }

  /// Without a client, an end of the database before traps.
  func commit(through client: FirestoreClient?, _ completion: (((any Error)?) -> Void)?) {
    let queue = firestore.callbackQueue
    let callback = completion.map { Callback<(any Error)?>($0) }
    let companion = companion
    send(through: client) { result in
      guard callback != nil || companion != nil else { return }
      let delivery = Transferred(result.failure)
      queue.async {
        guard let companion else {
          callback?(delivery.value)
          return
        }
        companion.batchEnded(delivery.value, on: queue) { callback?(delivery.value) }
      }
    }
  }

  /// Writes all of it or nothing; returns when it is on stable storage.
  nonisolated(nonsending) public func commit() async throws {
    try await withCheckedThrowingContinuation { continuation in
      let companion = companion
      send { result in
        guard let companion else { return continuation.resume(with: result) }
        companion.batchEnded(result.failure, on: nil) { continuation.resume(with: result) }
      }
    }
  }

  func send(
    through client: FirestoreClient? = nil,
    _ finished: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    let collected = state.withLock { state -> Result<[Mutation], any Error>? in
      guard !state.isCommitted else { return nil }
      state.isCommitted = true
      return state.failure.map(Result.failure) ?? .success(state.mutations)
    }
    guard let collected else { Self.trapCommitted() }
    // One that cannot be stored takes its place among the others, so that its outcome overtakes none.
    (client ?? firestore.client()).write(collected, finished: finished)
  }

  private static func trapCommitted() -> Never {
    ProgrammerError.trap("A write batch can no longer be used after commit has been called.")
  }
}
