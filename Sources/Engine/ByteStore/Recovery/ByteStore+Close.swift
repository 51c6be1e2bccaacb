// The end of a store: cleanly, or as if the process had died.

extension ByteStore {
  /// Lets go of the directory and leaves everything as it is, as the death of the process would.
  package func abandon() {
    shut()
    beginToClose()
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

  /// Nobody leads those who wait any more.
  private func refuseQueue(_ state: inout State) {
    for ticket in state.queue {
      ticket.refuse()
      ticket.outcome = .failure(.closed(directory: path))
      ticket.foundation = []
      ticket.signal.wake()
    }
    state.queue = []
  }

  private func replaceManifest(_ writer: inout Writer) throws(WriteFailure) {
    do throws(WriteFailure) {
      try writer.manifest.replace(in: directory, platform)
    } catch {
      guard case .refused(let cause) = error, cause.meansFull, giveUpReserve(&writer) else { throw error }
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

  /// Once nothing is under way. Commits that wait and have a thread are led by it or by this one; one of two halves
  /// whose second never comes has its place in the order as well, and nobody else would ever take it along.
  private func takeLastTurn() -> CloseTurn {
    while true {
      let turn = state.withLock(
        when: { !$0.isLeading && !($0.queue.isEmpty && $0.isBusyWithFiles) }
      ) { state -> CloseTurn? in
        guard state.queue.isEmpty else {
          state.startLeading()
          return nil
        }
        shut()
        defer { state.end = .closed(directory: path) }
        return CloseTurn(endBefore: state.end)
      }
      if let turn { return turn }
      leadWithoutWaiting()
    }
  }

  /// Why nothing new may begin to write. Whoever comes after the call of a close is too late even while that
  /// waits: it would wait for ever where writers never rest.
  func endOfWriting(_ state: borrowing State) -> ByteStoreError? {
    state.end ?? (isClosing ? .closed(directory: path) : nil)
  }

  /// Throws if no commit can be made any more. After a failure nobody knows yet which of the last ones survive: what
  /// they may need must stay.
  package func checkWritable() throws(ByteStoreError) {
    try state.withLock { state throws(ByteStoreError) in
      if let end = endOfWriting(state) { throw end }
    }
  }

  /// No log has what the layer above changed without a commit, and the next open would have to find again what a
  /// checkpoint on a full disk left out. If it cannot be written, the store is closed without; nil, too, if there is
  /// nothing of the kind.
  private func writePagesAbove() -> ByteStoreError? {
    guard state.withLock({ $0.end == nil && ($0.hasChangesAbove || $0.lacksPagesAbove) }) else { return nil }
    do throws(ByteStoreError) {
      try flush(.asNeeded, isOfClose: true)
      return nil
    } catch {
      return error
    }
  }

  /// Waits for the commits under way, marks the log as cleanly closed and lets go of the directory.
  /// After a failure the log gets no marker. Further calls do nothing.
  package func close() throws(ByteStoreError) {
    // Before any lock: what the parent's threads held at the fork, nobody gives back here.
    guard !isForked else { return }
    guard !options.isReadOnly else { return abandon() }
    beginToClose()
    let failure = writePagesAbove()
    let turn = takeLastTurn()
    guard turn != .alreadyClosed else { return }
    defer { lock.release() }
    try writer.withLock { writer throws(ByteStoreError) in
      if case .ready(let spare) = writer.spare { discard(spare) }
      writer.spare = .none
      guard var log = writer.log else { return }
      writer.log = nil
      defer { log.closeFile() }
      guard turn == .clean || !platform.keeps(.noMarkerAfterPoison) else {
        // A sync that failed only now has been told to nobody yet.
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
