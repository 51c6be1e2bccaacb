// Reads of a single result: listeners that end with the first snapshot that satisfies them.

internal import ByteStore
package import DocumentStore

extension SyncDriver {
  /// Calls the handler once, with the first snapshot that the remote has confirmed, or with the cached
  /// snapshot if the remote is unreachable.
  package func first(_ query: StructuredQuery, _ handler: @escaping Handler) {
    first(query, isEnough: { _ in true }, handler: handler)
  }

  /// Reads one document, and returns the engine's version of it together with the view. The engine's version
  /// is more exact, because views show an accepted write as pending until the watch stream delivers the
  /// result. A write that is based on assumed content would certainly be refused. If the content is assumed,
  /// this read therefore waits for the watch stream, and fails if the stream does not deliver the document.
  package func firstConfirmed(
    at path: DocumentPath,
    _ handler: @escaping @Sendable (Result<(ViewSnapshot, SyncedDocument), OfflineSyncError>) -> Void
  ) {
    let isEnough: @Sendable (SyncEngine) -> Bool = { engine in
      engine.isOffline || (try? engine.local.isAssumed(path)) != true
    }
    first(StructuredQuery(.document(path)), isEnough: isEnough) { [weak self] result in
      guard let self else { return }
      handler(
        result.flatMap { snapshot in
          Result { () throws(OfflineSyncError) in (snapshot, try self.known(path)) }
        })
    }
  }

  private func known(_ path: DocumentPath) throws(OfflineSyncError) -> SyncedDocument {
    let isAssumed: Bool
    let document: SyncedDocument
    do throws(DocumentStoreError) {
      isAssumed = try engine.local.isAssumed(path)
      document = try engine.local.document(path)
    } catch {
      throw .store(error)
    }
    guard isAssumed else { return document }
    throw .remote(
      RemoteError(
        .unavailable, "The remote has accepted a write of \(path), and has not sent the rest of it."))
  }

  private func first(
    _ query: StructuredQuery, isEnough: @escaping @Sendable (SyncEngine) -> Bool, handler: @escaping Handler
  ) {
    let id = numbers.next()
    enqueue { [self] in
      if let error = failure ?? Self.problem(about: query) { return handler(.failure(error)) }
      // Queued events may notify this listener again before its removal takes effect.
      let isAnswered = Locked(false)
      listeners[id] = { [weak self] result in
        // A read that is no longer in `reads` has timed out, so it accepts any snapshot.
        if case .success = result, let self, reads.contains(id), !isEnough(engine) {
          unsatisfied.insert(id)
          return
        }
        let isFirst = isAnswered.withLock { isAnswered in
          defer { isAnswered = true }
          return !isAnswered
        }
        guard isFirst else { return }
        self?.reads.remove(id)
        self?.unsatisfied.remove(id)
        // The read is removed before its handler runs, so that a listener which the handler adds does not
        // share a view with this read.
        self?.unlisten(id)
        handler(result)
      }
      reads.add(id)
      handle(.listen(id, query, ListenRules(includesMetadataChanges: true, waitsForSync: true)))
      startReadTimer()
    }
  }

  /// A connected remote that does not answer counts as unreachable. Waiting reads then receive the cached
  /// result.
  private func startReadTimer() {
    guard !reads.isEmpty, !driver.isRunning(.readSilence) else { return }
    driver.start(.readSilence, after: engine.options.silenceInterval) { [weak self] in self?.timeOutReads() }
  }

  private func timeOutReads() {
    for id in reads.overdue() {
      reads.remove(id)
      let unanswered = OfflineSyncError.remote(RemoteError(.unavailable, "The remote has not answered."))
      listeners[id]?(engine.events.last(of: id).map { .success($0) } ?? .failure(unanswered))
    }
    startReadTimer()
  }
}
