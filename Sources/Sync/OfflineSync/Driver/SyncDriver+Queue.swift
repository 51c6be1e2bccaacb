// Listeners of the progress of the write queue.

extension SyncDriver {
  package typealias QueueHandler = @Sendable (Result<QueueProgress, OfflineSyncError>) -> Void

  /// Calls the handler with the progress of the queue: now, and after each step that changes it.
  package func listenToQueue(_ handler: @escaping QueueHandler) -> ListenerID {
    let id = numbers.next()
    enqueue { [self] in
      if let failure { return handler(.failure(failure)) }
      notifyQueueListeners()
      let progress = engine.progress
      lastNotifiedProgress = progress
      queueListeners[id] = handler
      handler(.success(progress))
    }
    return id
  }

  package func unlistenToQueue(_ id: ListenerID) {
    enqueue { [self] in
      // Releasing a handler may close the database, which calls back into this object.
      let gone = queueListeners.removeValue(forKey: id)
      withExtendedLifetime(gone) {}
    }
  }

  func notifyQueueListeners() {
    guard !queueListeners.isEmpty else { return }
    let progress = engine.progress
    guard progress != lastNotifiedProgress else { return }
    lastNotifiedProgress = progress
    for (_, handler) in queueListeners.sorted(by: { $0.key < $1.key }) { handler(.success(progress)) }
  }
}
