// Several writes that happen together or not at all.

import DocumentStore
import FirebaseCore
public import Foundation

/// Collects writes for one commit. A batch is used once.
public final class WriteBatch: NSObject, Sendable {
  private let firestore: Firestore
  private let state = Guarded(State())

  private struct State {
    var mutations: [Mutation] = []
    /// The first write that cannot be stored; the commit reports it.
    var failure: (any Error)?
    var isCommitted = false
  }

  init(_ firestore: Firestore) { self.firestore = firestore }

  // MARK: Collecting

  /// Makes `document` consist of these fields.
  @discardableResult
  public func setData(_ data: [String: Any], forDocument document: DocumentReference) -> WriteBatch {
    do throws(UserDataError) {
      return setFields(try UserData.fields(from: data, in: firestore), forDocument: document)
    } catch {
      return refuse(error)
    }
  }

  /// Makes `document` consist of the fields of `value`; throws if it cannot be encoded.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    do {
      return setFields(try encoder.encodeFields(value, in: firestore), forDocument: document)
    } catch let error as UserDataError {
      return refuse(error)
    }
  }

  /// What no program may write traps; what is only too much of it fails the commit, as the server would.
  private func refuse(_ error: UserDataError) -> WriteBatch {
    guard error.reason == .nestedTooDeeply else { ProgrammerError.trap(error.message) }
    fail(FirestoreErrors.make(.invalidArgument, error.message))
    return self
  }

  /// Removes `document`; fine if there is none.
  @discardableResult
  public func deleteDocument(_ document: DocumentReference) -> WriteBatch {
    add(document) { .delete($0) }
  }

  @discardableResult
  package func setFields(
    _ fields: EncodedFields, forDocument document: DocumentReference
  ) -> WriteBatch {
    add(document) { path in
      .set(path, fields.fields, transforms: fields.sentinels.map(FieldTransform.init))
    }
  }

  /// A write could not be made: the commit reports `error`, and nothing is written.
  package func fail(_ error: any Error) {
    state.withLock { $0.failure = $0.failure ?? error }
  }

  private func add(
    _ document: DocumentReference, _ mutation: (DocumentPath) -> Mutation
  ) -> WriteBatch {
    guard document.firestore === firestore else {
      ProgrammerError.trap("Provided document reference is from a different Cloud Firestore instance.")
    }
    let added = Result { mutation(try document.storedPath) }
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
  public func commit(completion: (((any Error)?) -> Void)?) {
    let queue = firestore.callbackQueue
    let callback = completion.map { Callback<(any Error)?>($0) }
    send { result in
      guard let callback else { return }
      var failure: (any Error)?
      if case .failure(let error) = result { failure = error }
      let delivery = Delivery(value: failure)
      queue.async { callback(delivery.value) }
    }
  }

  nonisolated(nonsending) public func commit() async throws {
    try await withCheckedThrowingContinuation { continuation in
      send { continuation.resume(with: $0) }
    }
  }

  private func send(_ finished: @escaping @Sendable (Result<Void, any Error>) -> Void) {
    let collected = state.withLock { state -> Result<[Mutation], any Error>? in
      guard !state.isCommitted else { return nil }
      state.isCommitted = true
      return state.failure.map(Result.failure) ?? .success(state.mutations)
    }
    guard let collected else { Self.trapCommitted() }
    switch collected {
    case .success(let mutations): firestore.client().write(mutations, finished: finished)
    case .failure(let error): finished(.failure(error))
    }
  }

  private static func trapCommitted() -> Never {
    ProgrammerError.trap("A write batch can no longer be used after commit has been called.")
  }
}

extension FieldTransform {
  fileprivate init(_ sentinel: (path: [String], value: FieldValue)) {
    switch sentinel.value.kind {
    case .serverTimestamp: self.init(StoredFieldPath(unchecked: sentinel.path), .serverTimestamp)
    }
  }
}
