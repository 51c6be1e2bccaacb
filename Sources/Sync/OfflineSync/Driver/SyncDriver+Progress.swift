// Listeners of the sync's progress, and pinned queries.

package import DocumentStore

/// The listeners of the progress of a client. Accessed on the scheduler.
struct ProgressListeners {
  var handlers: [ListenerID: SyncDriver.ProgressHandler] = [:]
  /// The progress that the listeners were last notified of.
  var last: SyncProgressState?
  /// Whether the listeners will be notified of new counts.
  var isScheduled = false

  var inOrder: [SyncDriver.ProgressHandler] { handlers.sorted { $0.key < $1.key }.map(\.value) }
}

extension SyncDriver {
  package typealias ProgressHandler = @Sendable (Result<SyncProgressState, OfflineSyncError>) -> Void

  /// The time between two notifications of counts that grow, in microseconds.
  private static let countInterval: Int64 = 100_000

  // MARK: Progress

  /// Calls the handler with the progress of the sync: now, and after each step that changes it. While a query
  /// is loading, the handler receives the growing counts ten times a second.
  package func listenToProgress(_ handler: @escaping ProgressHandler) -> ListenerID {
    let id = numbers.next()
    enqueue { [self] in
      if let failure { return handler(.failure(failure)) }
      deliverProgress()
      let progress = engine.syncProgress
      progressListeners.last = progress
      progressListeners.handlers[id] = handler
      handler(.success(progress))
    }
    return id
  }

  package func unlistenToProgress(_ id: ListenerID) {
    enqueue { [self] in
      // Releasing a handler may close the database, which calls back into this object.
      let gone = progressListeners.handlers.removeValue(forKey: id)
      withExtendedLifetime(gone) {}
    }
  }

  /// Called after each step of the engine.
  func notifyProgressListeners() {
    let isMinor = engine.takeIsProgressMinor()
    guard !progressListeners.handlers.isEmpty else { return }
    guard isMinor else { return deliverProgress() }
    guard !progressListeners.isScheduled else { return }
    progressListeners.isScheduled = true
    scheduler.run(after: Self.countInterval) { [weak self] in
      guard let self else { return }
      progressListeners.isScheduled = false
      deliverProgress()
    }
  }

  private func deliverProgress() {
    guard failure == nil, !progressListeners.handlers.isEmpty else { return }
    let progress = engine.syncProgress
    guard progress != progressListeners.last else { return }
    progressListeners.last = progress
    for handler in progressListeners.inOrder { handler(.success(progress)) }
  }

  // MARK: Pins

  /// Pins a query for the current user. The client watches it from now on, also after a restart.
  package func pin(
    _ query: StructuredQuery, _ budget: PinLimits, completion: @escaping Completion
  ) {
    enqueue { [self] in
      if let error = failure ?? Self.problem(about: query) { return completion(error) }
      change(completion) { engine throws(DocumentStoreError) in try engine.pin(query, budget) }
    }
  }

  /// Removes a pin of the current user. A query without a pin is no error.
  package func unpin(_ query: StructuredQuery, completion: @escaping Completion) {
    enqueue { [self] in
      if let failure { return completion(failure) }
      change(completion) { engine throws(DocumentStoreError) in try engine.unpin(query) }
    }
  }

  /// Runs a change that has no effect if it is refused or if the disk is full.
  private func change(
    _ completion: Completion, _ body: (SyncEngine) throws(DocumentStoreError) -> [SyncEffect]
  ) {
    var refusal: DocumentStoreError?
    attempt { () throws(DocumentStoreError) in
      let effects: [SyncEffect]
      do throws(DocumentStoreError) { effects = try body(engine) } catch {
        switch error {
        case .full, .invalidArgument: refusal = error
        default: throw error
        }
        return
      }
      try driver.perform(effects, perform)
    }
    completion(failure ?? refusal.map { .store($0) })
  }
}
