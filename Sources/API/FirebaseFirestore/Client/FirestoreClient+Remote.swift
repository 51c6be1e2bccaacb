// The database with a remote: the sync driver does the work that the store does without a remote.
//
// Calls reach the driver through the write queue, so the driver processes them in the order of the calls.

import DocumentStore
import FirebaseCore
import Foundation
package import OfflineSync

/// The remote of an instance with its options.
package struct ClientRemote: Sendable {
  package var remote: any Remote
  package var attachment: RemoteAttachment
  package var acknowledgement: SyncDriver.Acknowledgement
  /// The time limit for one request to the remote, in seconds.
  package var patience: Double
  package var collector: LocalStore.Collector
  package var options: SyncEngine.Options
}

extension FirestoreClient {
  // MARK: Writing

  func write(
    _ collected: Result<[Mutation], any Error>, through driver: SyncDriver,
    _ acknowledgement: SyncDriver.Acknowledgement, taken: @escaping @Sendable () -> Void,
    _ finished: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    let checked = Result {
      let mutations = try collected.get()
      // A remote would refuse everything that a store refuses. Checking here reports it at once, still in
      // the order of the writes.
      try DocumentStore.check(mutations)
      return mutations
    }.mapError(FirestoreErrors.translate(any:))
    guard case .success(let mutations) = checked, !mutations.isEmpty else {
      return driver.inspect { _ in
        taken()
        finished(checked.map { _ in })
      }
    }
    driver.write(mutations, acknowledgement, taken: taken) { error in
      finished(error.map { .failure(FirestoreErrors.translate($0)) } ?? .success(()))
    }
  }

  /// Calls `done` when every write issued before is durable and visible, or has failed, and its completion
  /// is scheduled. With a remote, waits until the remote has answered those writes.
  func waitForPendingWrites(_ done: @escaping @Sendable (Result<Void, any Error>) -> Void) {
    guard remote != nil else { return afterAcknowledgements { done(.success(())) } }
    inOrderOfDriver { driver in
      switch driver {
      case .failure(let error): done(.failure(error))
      case .success(let driver):
        driver.waitForPendingWrites { error in
          done(error.map { .failure(FirestoreErrors.translate($0)) } ?? .success(()))
        }
      }
    }
  }

  /// Sends an event to the driver, in order with the calls before and after this one.
  func send(_ event: SyncEvent, _ done: @escaping @Sendable (Result<Void, any Error>) -> Void) {
    guard remote != nil else { return done(.success(())) }
    inOrderOfDriver { driver in
      switch driver {
      case .failure(let error): done(.failure(error))
      case .success(let driver):
        driver.send(event) { done($0.map { .failure(FirestoreErrors.translate($0)) } ?? .success(())) }
      }
    }
  }

  nonisolated(nonsending) func send(_ event: SyncEvent) async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      send(event) { done.resume(with: $0) }
    }
  }

  // MARK: Reading

  nonisolated(nonsending) func document(
    at path: DocumentPath, source: ReadSource, through driver: SyncDriver
  ) async throws -> ViewedDocument {
    guard source == .cache else {
      let snapshot = try await first(StructuredQuery(.document(path)), driver)
      return try RemoteReads.document(path, snapshot, source)
    }
    return try RemoteReads.cached(
      try await inspected(driver) { engine throws(DocumentStoreError) in try engine.local.document(path) })
  }

  nonisolated(nonsending) func documents(
    _ query: StructuredQuery, source: ReadSource, through driver: SyncDriver
  ) async throws -> ViewedDocuments {
    let isReady = Result { () throws(DocumentStoreError) in try driver.store.isReady(query) }
    if try !isReady.mapError(FirestoreErrors.translate).get() {
      // Create the indexes here, because all callers wait while the driver works.
      try await prepared { view throws(DocumentStoreError) in try view.store.makeIndexes(for: query) }
    }
    guard source == .cache else { return try RemoteReads.documents(try await first(query, driver), source) }
    return try await inspected(driver) { engine throws(DocumentStoreError) in
      RemoteReads.cached(try engine.local.documents(query))
    }
  }

  nonisolated(nonsending) private func first(
    _ query: StructuredQuery, _ driver: SyncDriver
  ) async throws -> ViewSnapshot {
    try await withCheckedThrowingContinuation { (answer: CheckedContinuation<ViewSnapshot, any Error>) in
      let done: Answer<ViewSnapshot> = questions.once(on: reading) { answer.resume(with: $0) }
      driver.first(query) { done($0.mapError(FirestoreErrors.translate)) }
    }
  }

  /// Reads the engine's state, after everything that was issued before.
  nonisolated(nonsending) func inspected<Value: Sendable>(
    _ driver: SyncDriver, _ body: @escaping @Sendable (SyncEngine) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { answer in
      driver.inspect { engine in
        let result = Result { () throws(DocumentStoreError) in try body(engine) }
        answer.resume(with: result.mapError(FirestoreErrors.translate))
      }
    }
  }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, at choice: ClientRemote,
    through driver: SyncDriver, _ done: @escaping Answer<[StoredValue]>
  ) {
    let patience = Patience(seconds: choice.patience)
    let done = questions.once(on: reading, done) { patience.end(with: OpenQuestions.terminated) }
    driver.inspect { engine in
      guard engine.isNetworkEnabled else { return done(.failure(RemoteAggregate.unavailable)) }
      let question = RemoteAggregate(
        aggregates: aggregates, query: query, remote: choice.remote, user: engine.local.user,
        patience: patience, attemptsMax: engine.isOffline ? 1 : RemoteAggregate.attemptsMax,
        done: done)
      question.ask()
    }
  }

  // MARK: Listening

  /// Listens to a query through the driver; the counterpart of the method without a remote.
  func listen<Snapshot: Sendable>(
    to query: StructuredQuery, _ options: SnapshotListenOptions, on queue: DispatchQueue,
    made: @escaping @Sendable (ViewSnapshot) -> Snapshot,
    _ handler: @escaping @Sendable (Result<Snapshot, any Error>) -> Void
  ) -> Listening {
    let listening = Listening { [weak self] in self?.forget($0) }
    remember(listening)
    let tellOn: @Sendable (Result<ViewSnapshot, any Error>) -> Void = { result in
      guard !listening.isRemoved else { return }
      let told = result.map(made)
      listening.call { handler(told) }
    }
    let tell: @Sendable (Result<ViewSnapshot, any Error>) -> Void = { result in
      tellOn(result)
      // Removed only after the error was delivered: the end also ends loops, and these must receive the
      // error first.
      if case .failure = result { listening.remove() }
    }
    let rules = ListenRules(
      includesMetadataChanges: options.includeMetadataChanges, isCacheOnly: options.source == .cache)
    inOrderOfDriver { [self] driver in
      guard !listening.isRemoved else { return }
      do {
        let driver = try driver.get()
        let isReady = try driver.store.isReady(query)
        whenIndexed(listening, isReady: isReady, query, driver.store) { made in
          if case .failure(let error) = made {
            return queue.async { tell(.failure(FirestoreErrors.translate(error))) }
          }
          let id = driver.listen(to: query, rules) { result in
            let told: Result<ViewSnapshot, any Error> = result.mapError(FirestoreErrors.translate)
            // A remote document beyond the limits is reported as an error, but does not end the listening.
            if case .failure(.refused) = result { return queue.async { tellOn(told) } }
            queue.async { tell(told) }
          }
          listening.attach { driver.unlisten(id) }
        }
      } catch {
        queue.async { tell(.failure(FirestoreErrors.translate(any: error))) }
      }
    }
    return listening
  }

  /// Calls `handler` on `queue` with the values that the driver reports. `begin` registers with the driver
  /// and returns a closure that unregisters. An error is the last value. Without a remote, the only value
  /// is `value`.
  func listenToDriver<Value: Sendable>(
    on queue: DispatchQueue, withoutRemote value: Value?,
    _ handler: @escaping @Sendable (Result<Value, any Error>) -> Void,
    begin:
      @escaping @Sendable (SyncDriver, @escaping @Sendable (Result<Value, any Error>) -> Void)
      -> @Sendable () -> Void
  ) -> Listening {
    let listening = Listening { [weak self] in self?.forget($0) }
    remember(listening)
    let tell: @Sendable (Result<Value, any Error>) -> Void = { result in
      queue.async {
        guard listening.call({ handler(result) }) else { return }
        if case .failure = result { listening.remove() }
      }
    }
    guard remote != nil else {
      guard let value else { return listening }
      inOrder { view in tell(view.map { _ in value }.mapError(FirestoreErrors.translate)) }
      return listening
    }
    inOrderOfDriver { driver in
      guard !listening.isRemoved else { return }
      switch driver {
      case .failure(let error): tell(.failure(error))
      case .success(let driver): listening.attach(begin(driver, tell))
      }
    }
    return listening
  }
}
