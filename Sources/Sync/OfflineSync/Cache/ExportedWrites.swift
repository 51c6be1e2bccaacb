// The pending writes of a user outside a store.
//
// Each batch keeps its identity: the queue, the run and the number under which a remote knows it. It may have
// been sent before the export, so the registrations of its run go with it.

internal import DocumentStore

package struct ExportedWrites: Sendable, Equatable {
  /// A batch.
  package struct Batch: Sendable, Equatable {
    package var queue: String
    package var run: RunID
    package var number: BatchID
    /// The batch as the queue stores it, under that number.
    package var bytes: [UInt8]

    package init(queue: String, run: RunID, number: BatchID, bytes: [UInt8]) {
      self.queue = queue
      self.run = run
      self.number = number
      self.bytes = bytes
    }
  }

  /// A registration of a run.
  package struct Registration: Sendable, Equatable {
    package var run: RunID
    package var token: [UInt8]
    /// The last batch that may have been sent under the token.
    package var through: BatchID

    package init(run: RunID, token: [UInt8], through: BatchID) {
      self.run = run
      self.token = token
      self.through = through
    }
  }

  package var user: String?
  package var batches: [Batch]
  /// The registrations of all runs, for each run oldest first.
  package var registrations: [Registration]

  package init(user: String?, batches: [Batch], registrations: [Registration]) {
    self.user = user
    self.batches = batches
    self.registrations = registrations
  }
}

// MARK: - Checks

extension ExportedWrites {
  struct Identity: Hashable {
    let run: RunID
    let number: BatchID
  }

  private static let queueBytesMax = 4096
  static let invalid = DocumentStoreError.invalidArgument(
    "The data is not an export of pending writes, or it was changed.")

  /// Returns the batches. Throws if the export is not one that this release writes.
  func checkedBatches() throws(DocumentStoreError) -> [PendingBatch] {
    let name = "/" + CacheKeys.queueName(user)
    var known: Set<Identity> = []
    var checked: [PendingBatch] = []
    for item in batches {
      guard item.queue.hasSuffix(name), item.queue.utf8.count <= Self.queueBytesMax,
        known.insert(Identity(run: item.run, number: item.number)).inserted,
        let batch = BatchCodec.decode(item.bytes), batch.id == item.number, batch.run == item.run,
        !batch.mutations.isEmpty
      else { throw Self.invalid }
      try DocumentStore.check(batch.mutations.map(\.mutation))
      for path in batch.base.map(\.path) where !batch.paths.contains(path) { throw Self.invalid }
      checked.append(batch.from(BatchOrigin(queue: item.queue, batch: item.number)))
    }
    return checked
  }
}
