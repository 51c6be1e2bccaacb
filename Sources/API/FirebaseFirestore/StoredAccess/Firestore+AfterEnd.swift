// Calls for higher layers that continue an operation on their own, possibly after termination.
//
// An operation that was in progress at the termination ends with `cancelled`, as the pending calls of the
// database do. Its next step therefore fails with `cancelled` where the public calls, which begin something
// new, fail with `failedPrecondition`. Queries and listeners fail with `failedPrecondition` here, too.

private import DocumentStore
private import FirebaseCore
private import Foundation
private import OfflineSync

extension Firestore {
  /// Calls `body` on the callback queue with the current user: now, at each step of the user's pending
  /// writes, and when the user changes. Stops when `body` returns true, and after a failure. Without a
  /// remote, the user is nil.
  ///
  /// The first call of `body` comes after the results of operations issued earlier and before the result of
  /// any later write.
  package func followUser(until body: @escaping (Result<String?, any Error>) -> Bool) {
    let (queue, client) = (callbackQueue, try? livingClient())
    let listening = Listening { [weak client] in client?.forget($0) }
    var isOver = false
    let callback = Callback<Result<String?, any Error>> { result in
      guard !isOver else { return }
      isOver = body(result) || result.failure != nil
      if isOver { listening.remove() }
    }
    let complete: @Sendable (Result<String?, any Error>) -> Void = { result in
      queue.submit { callback(result) }
    }
    listening.whenRemoved { complete(.failure(Self.ended)) }
    guard let client else { return listening.stop() }
    client.followUser(listening, while: { (try? checkLiving()) != nil }, handler: complete)
  }

  fileprivate static var ended: any Error {
    FirestoreErrors.make(.cancelled, "The client has been terminated.")
  }
}

extension DocumentReference {
  /// Reads the document like `getDocument(completion:)`.
  package func getDocumentOrFail(_ completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void) {
    guard let client = try? firestore.livingClient() else {
      return firestore.delivering(to: completion)(.failure(Firestore.ended))
    }
    read(.default, through: client, completion)
  }

  /// Reads the document for a write that requires the document to be unchanged since this read
  /// (`LayerRequirement.unchanged`). If writes of the document were just accepted, the result includes them.
  package func getDocumentForWriteOrFail(_ completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void) {
    guard let client = try? firestore.livingClient() else {
      return firestore.delivering(to: completion)(.failure(Firestore.ended))
    }
    readForWrite(through: client, completion)
  }
}

extension Query {
  /// Runs the query like `getDocuments(completion:)`.
  package func getDocumentsOrFail(_ completion: @escaping (QuerySnapshot?, (any Error)?) -> Void) {
    let complete = firestore.delivering(to: completion)
    guard let client = try? firestore.livingClient() else {
      return complete(.failure(FirestoreErrors.terminated))
    }
    read(.default, through: client, done: complete)
  }

  /// Listens like `addSnapshotListener(_:)`. After termination, the listener receives an error and this
  /// method returns nil.
  package func listenOrFail(
    _ listener: @escaping (QuerySnapshot?, (any Error)?) -> Void
  ) -> (any ListenerRegistration)? {
    guard let client = try? firestore.livingClient() else {
      firestore.delivering(to: listener)(.failure(FirestoreErrors.terminated))
      return nil
    }
    let callback = Callback<(QuerySnapshot?, (any Error)?)> { listener($0.0, $0.1) }
    let options = SnapshotListenOptions()
    return client.listen(
      to: Result { try runnable }, options.rules, on: firestore.callbackQueue,
      making: SnapshotMaker(
        live: { [self] in QuerySnapshot(self, $0, options: options) },
        viewed: { [self] in QuerySnapshot(self, $0, options: options) })
    ) { (result: Result<QuerySnapshot, any Error>) in
      switch result {
      case .success(let snapshot): callback((snapshot, nil))
      case .failure(let error): callback((nil, error))
      }
    }
  }
}

extension WriteBatch {
  /// Commits like `commit(completion:)`.
  package func commitOrFail(_ completion: @escaping ((any Error)?) -> Void) {
    guard let client = try? firestore.livingClient() else {
      return firestore.delivering { (_: Void?, error) in completion(error) }(.failure(Firestore.ended))
    }
    commit(through: client, completion)
  }

  /// Commits like `commit()`.
  nonisolated(nonsending) package func commitOrFail() async throws {
    guard let client = try? firestore.livingClient() else { throw Firestore.ended }
    try await awaitResult { commit(through: client, done: $0) }
  }
}
