// Closes a store, either cleanly or as if the process had crashed.

extension ByteStore {
  /// Releases the directory and leaves all files unchanged, as a crash of the process would.
  package func abandon() {
    refuseReads()
    beginClosing()
    let wasClosed = state.withLock(when: { !$0.isLeading && !$0.isBusyWithFiles }) { state in
      let kind = CloseKind(endBefore: state.end)
      state.end = .closed(directory: path)
      refuseQueue(&state)
      return kind == .alreadyClosed
    }
    writer.withLock { writer in
      writer.log?.closeFile()
      writer.log = nil
    }
    releaseDirectory()
    reader?.withLock { $0.presence.release() }
    if !wasClosed { sendClose(isClean: options.isReadOnly) }
  }

  /// Removes the mark of the writer before another writer can set its own.
  private func releaseDirectory() {
    readerLock?.release()
    lock.release()
  }

  /// Fails the queued commits, because no leader will dequeue them any more.
  private func refuseQueue(_ state: inout State) {
    for ticket in state.queue {
      ticket.refuse()
      ticket.decide(.failure(.closed(directory: path)))
      ticket.dependencies = []
      ticket.signal?.wake()
    }
    state.queue = []
  }

  private func replaceManifest(_ writer: inout Writer) throws(WriteFailure) {
    do throws(WriteFailure) {
      try writer.manifest.replace(in: directory, platform)
    } catch {
      guard case .refused(let cause) = error, cause.isOutOfSpace, deleteReserve(&writer) else { throw error }
      defer { restoreReserve(&writer) }
      try writer.manifest.replace(in: directory, platform)
    }
  }

  private enum CloseKind {
    case clean
    case afterFailure
    case alreadyClosed

    init(endBefore end: ByteStoreError?) {
      switch end {
      case nil: self = .clean
      case .closed: self = .alreadyClosed
      default: self = .afterFailure
      }
    }
  }

  /// Waits until no commit, flush, backup or preparation of a log file is in progress. Queued commits are led
  /// by their own thread or by this thread. If a commit was enqueued and its thread never finishes it, only
  /// this thread can lead it.
  private func beginClose() -> CloseKind {
    while true {
      let turn = state.withLock(
        when: { !$0.isLeading && !($0.queue.isEmpty && $0.isBusyWithFiles) }
      ) { state -> CloseKind? in
        guard state.queue.isEmpty else {
          state.startLeading()
          return nil
        }
        refuseReads()
        defer { state.end = .closed(directory: path) }
        return CloseKind(endBefore: state.end)
      }
      if let turn { return turn }
      leadWithoutWaiting()
    }
  }

  /// The reason why no new write may start; nil if writes are accepted. A closing store refuses new writes at
  /// once. Otherwise the close would wait forever under continuous writes.
  func writeRefusal(_ state: borrowing State) -> ByteStoreError? {
    state.end ?? (isClosing ? .closed(directory: path) : nil)
  }

  /// Throws if commits are no longer possible. After a failed write or sync it is unknown which commits
  /// survive. Files that these commits may need must therefore be kept.
  package func checkWritable() throws(ByteStoreError) {
    try state.withLock { state throws(ByteStoreError) in
      if let end = writeRefusal(state) { throw end }
    }
  }

  /// Flushes the upper layer's pages that would otherwise be lost or rebuilt. Pages that the upper layer
  /// changed without a commit are in no log and would be lost. Pages that a checkpoint on a full disk left
  /// out would have to be rebuilt by the next open.
  ///
  /// Returns the error if the flush fails; the store is closed all the same. Returns nil if the flush
  /// succeeds or there are no such pages.
  private func writeUpperLayerPages() -> ByteStoreError? {
    guard state.withLock({ $0.end == nil && ($0.hasUpperLayerChanges || $0.lacksUpperLayerPages) }) else {
      return nil
    }
    do throws(ByteStoreError) {
      try flush(.asNeeded, isOfClose: true)
      return nil
    } catch {
      return error
    }
  }

  /// Waits for the commits in progress, marks the log as cleanly closed and releases the directory. If a
  /// write or a sync failed earlier, the log gets no marker. Further calls do nothing.
  package func close() throws(ByteStoreError) {
    // This is checked before any lock is acquired. If another thread of the parent held a lock at the time of
    // the fork, that lock is never released in the child.
    guard !isForked else { return }
    guard !options.isReadOnly else { return abandon() }
    beginClosing()
    let failure = writeUpperLayerPages()
    let turn = beginClose()
    guard turn != .alreadyClosed else { return }
    let result = Result { () throws(ByteStoreError) in try closeLog(turn, failure) }
    releaseDirectory()
    sendClose(isClean: turn == .clean && (try? result.get()) != nil)
    try result.get()
  }

  /// Marks the log as cleanly closed. `failure` is the error of a flush during this close.
  private func closeLog(_ turn: CloseKind, _ failure: ByteStoreError?) throws(ByteStoreError) {
    try writer.withLock { writer throws(ByteStoreError) in
      if case .ready(let recycledLog) = writer.recycledLog { discard(recycledLog) }
      writer.recycledLog = .none
      guard var log = writer.log else { return }
      writer.log = nil
      defer { log.closeFile() }
      guard turn == .clean || !platform.keeps(.noMarkerAfterPoison) else {
        // If the sync failed during this close, no caller has received the error yet.
        if let failure { throw failure }
        return
      }
      do throws(SystemFailure) {
        try log.appendCloseMarker()
      } catch {
        throw .system(error)
      }
      guard platform.keeps(.recordEndWhenClosing) else { return }
      writer.manifest = writer.manifest.successor()
      writer.manifest.sealLastLog(at: log.recordedEnd)
      do throws(WriteFailure) {
        try replaceManifest(&writer)
      } catch {
        switch error {
        case .refused(let cause), .unknown(let cause): throw .system(cause)
        }
      }
    }
  }
}
