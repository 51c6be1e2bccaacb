// Closes a store: cleanly, or as if the process had died.

extension ByteStore {
  /// Releases the directory and leaves all files as they are, as the death of the process would.
  package func abandon() {
    refuseReads()
    beginClosing()
    state.withLock(when: { !$0.isLeading && !$0.isBusyWithFiles }) { state in
      state.end = .closed(directory: path)
      refuseQueue(&state)
    }
    writer.withLock { writer in
      writer.log?.closeFile()
      writer.log = nil
    }
    lock.release()
  }

  /// Fails the queued commits, because no leader will take them.
  private func refuseQueue(_ state: inout State) {
    for ticket in state.queue {
      ticket.refuse()
      ticket.outcome = .failure(.closed(directory: path))
      ticket.dependencies = []
      ticket.signal.wake()
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

  private enum CloseTurn {
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

  /// Waits until no commit, flush, backup or preparation of a log file is in progress. Queued commits
  /// are led by their own thread or by this one. Only this one can lead a commit that was enqueued and
  /// never finished.
  private func takeLastTurn() -> CloseTurn {
    while true {
      let turn = state.withLock(
        when: { !$0.isLeading && !($0.queue.isEmpty && $0.isBusyWithFiles) }
      ) { state -> CloseTurn? in
        guard state.queue.isEmpty else {
          state.startLeading()
          return nil
        }
        refuseReads()
        defer { state.end = .closed(directory: path) }
        return CloseTurn(endBefore: state.end)
      }
      if let turn { return turn }
      leadWithoutWaiting()
    }
  }

  /// The reason why no new write may start. A closing store refuses new writes at once, because the
  /// close would otherwise wait forever under continuous writes.
  func writeRefusal(_ state: borrowing State) -> ByteStoreError? {
    state.end ?? (isClosing ? .closed(directory: path) : nil)
  }

  /// Throws if no commit is possible any more. After a failed write or sync it is unknown which commits
  /// survive, so files that they may need must be kept.
  package func checkWritable() throws(ByteStoreError) {
    try state.withLock { state throws(ByteStoreError) in
      if let end = writeRefusal(state) { throw end }
    }
  }

  /// Flushes the upper layer's pages that would otherwise be lost. Pages that it changed without a
  /// commit are in no log. Pages that a checkpoint on a full disk left out would have to be rebuilt by
  /// the next open. Returns the error if the flush fails; the store is closed all the same. Returns nil
  /// as well if there are no such pages.
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

  /// Waits for the commits in progress, marks the log as cleanly closed and releases the directory.
  /// After a failed write or sync the log gets no marker. Further calls do nothing.
  package func close() throws(ByteStoreError) {
    // Checked before any lock is taken, because locks that threads of the parent held at the fork are
    // never released here.
    guard !isForked else { return }
    guard !options.isReadOnly else { return abandon() }
    beginClosing()
    let failure = writeUpperLayerPages()
    let turn = takeLastTurn()
    guard turn != .alreadyClosed else { return }
    defer { lock.release() }
    try writer.withLock { writer throws(ByteStoreError) in
      if case .ready(let recycledLog) = writer.recycledLog { discard(recycledLog) }
      writer.recycledLog = .none
      guard var log = writer.log else { return }
      writer.log = nil
      defer { log.closeFile() }
      guard turn == .clean || !platform.keeps(.noMarkerAfterPoison) else {
        // A sync that failed just now has not been reported to any caller yet.
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
