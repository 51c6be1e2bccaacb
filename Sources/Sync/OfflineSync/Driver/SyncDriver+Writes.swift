// The writes of users: queued in groups, awaited, exported and imported.

internal import ByteStore
package import DocumentStore

extension SyncDriver {
  package func write(
    _ mutations: [Mutation], _ acknowledgement: Acknowledgement = .server,
    taken: @escaping @Sendable () -> Void = {}, completion: @escaping Completion
  ) {
    write(mutations.map { PendingMutation($0) }, acknowledgement, taken: taken, completion: completion)
  }

  /// Queues a write. `taken` is called when the write is in the queue or could not be queued.
  package func write(
    _ mutations: [PendingMutation], _ acknowledgement: Acknowledgement = .server,
    taken: @escaping @Sendable () -> Void = {}, completion: @escaping Completion
  ) {
    let write = IssuedWrite(
      mutations: mutations, acknowledgement: acknowledgement, taken: taken, completion: completion)
    openGroup.withLock { open in
      if let group = open, group.add(write) { return }
      let group = WriteGroup(write)
      open = group
      scheduler.run { [self] in take(group) }
    }
  }

  /// Queues the writes of a group with a single fsync.
  private func take(_ group: WriteGroup) {
    let issued = openGroup.withLock { open in
      if open === group { open = nil }
      return group.writes
    }
    guard failure == nil, let time = StoredTimestamp(microseconds: scheduler.now()) else {
      let error =
        failure ?? .store(.failedPrecondition("The clock of this machine shows an invalid time."))
      return end(issued.map { ($0, error) })
    }
    let users = issued.map { write in
      let call = CallID(number())
      if write.acknowledgement == .server { writes[call] = write.completion }
      return UserWrite(mutations: write.mutations, time: time, call: call)
    }
    do throws(DocumentStoreError) {
      let results = try engine.take(users)
      recordPendingWrites()
      for (place, result) in results.enumerated() {
        finish(issued[place], users[place].call, result: result)
      }
    } catch {
      // The next open finds out which of the writes exist. `fail` has already completed the writes that wait
      // for the remote.
      fail(.store(error))
      end(issued.map { ($0, $0.acknowledgement == .local ? .store(error) : nil) })
    }
  }

  private func finish(
    _ write: IssuedWrite, _ call: CallID, result: Result<[SyncEffect], DocumentStoreError>
  ) {
    write.taken()
    switch result {
    case .success(let effects):
      // A handler may have stopped the client, but the write is in the queue nevertheless.
      if failure == nil { attempt { () throws(DocumentStoreError) in try driver.perform(effects, perform) } }
      if write.acknowledgement == .local { write.completion(nil) }
    case .failure(let error):
      // The write was not queued. If a handler of an earlier write stopped the client, the stop has already
      // completed this write.
      if write.acknowledgement == .local || writes.removeValue(forKey: call) != nil {
        write.completion(.store(error))
      }
    }
  }

  private func end(_ writes: [(write: IssuedWrite, error: OfflineSyncError?)]) {
    for (write, error) in writes {
      write.taken()
      if let error { write.completion(error) }
    }
  }

  package func waitForPendingWrites(_ completion: @escaping Completion) {
    enqueue { [self] in
      if let failure { return completion(failure) }
      let call = CallID(number())
      waits[call] = completion
      handle(.waitForPendingWrites(call))
    }
  }

  /// Adds exported writes to the queue of their user. Returns the number of those that were not imported
  /// before.
  package func importWrites(
    _ exported: ExportedWrites, _ done: @escaping @Sendable (Result<Int, OfflineSyncError>) -> Void
  ) {
    do throws(DocumentStoreError) { _ = try exported.checkedBatches() } catch {
      return done(.failure(.store(error)))
    }
    enqueue { [self] in
      let error = handleCall(.importWrites(exported))
      done(error.map { .failure($0) } ?? engine.importResult.mapError { .store($0) })
    }
  }

  /// Removes the pending writes that an export has. Returns their number.
  package func discardWrites(
    in exported: ExportedWrites, _ done: @escaping @Sendable (Result<Int, OfflineSyncError>) -> Void
  ) {
    enqueue { [self] in
      let error = handleCall(.discardExported(exported))
      done(error.map { .failure($0) } ?? .success(engine.discardedCount))
    }
  }
}
