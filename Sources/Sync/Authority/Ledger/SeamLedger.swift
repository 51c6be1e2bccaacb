// SEAM: replaced by the ledger.

internal import ByteStore
internal import DocumentStore
internal import OfflineSync

struct SeamLedger {
  let store: DocumentStore
  let mayWrite: WriteLedger.WriteRule
  var version: SnapshotVersion {
    (try? store.snapshot().time).flatMap { $0 }.map { SnapshotVersion($0) } ?? .first
  }

  func take(
    _ write: RemoteWrite, as user: String?
  ) throws(RemoteError) -> (version: SnapshotVersion, results: [WriteResult])? {
    do {
      if let refusal = mayWrite(user, write.mutations), try !hasAccepted(write.id) { throw refusal }
      return try commit(write)
    } catch is Overtaken {
      return nil
    } catch let error as DocumentStoreError {
      throw RemoteError(error)
    } catch let error as RemoteError {
      throw error
    } catch {
      throw RemoteError(.unknown, "\(error)")
    }
  }

  private func hasAccepted(_ id: WriteID) throws(DocumentStoreError) -> Bool {
    LoopbackWriter(try store.document(at: LoopbackLedger.writer(id))).hasAccepted(id.batch)
  }

  private func commit(_ write: RemoteWrite) throws -> (version: SnapshotVersion, results: [WriteResult]) {
    let path = LoopbackLedger.write(write.id)
    try store.transaction { transaction in
      guard try transaction.document(at: path) == nil else { return }
      var writer = LoopbackWriter(try transaction.document(at: LoopbackLedger.writer(write.id)))
      if writer.hasAccepted(write.id.batch) { return }
      guard write.id.batch.value >= writer.floor else {
        // The batch is a delayed duplicate of a batch that was rejected or cancelled.
        throw RemoteError(.failedPrecondition, "Batch \(write.id.batch) was answered before.")
      }
      for (path, precondition) in write.guards {
        guard Self.holds(precondition, try transaction.document(at: path)) else {
          throw Overtaken()
        }
      }
      var results: [[StoredValue]] = []
      var documents: [DocumentPath: StoredDocument?] = [:]
      var originals: [DocumentPath: StoredDocument] = [:]
      for mutation in write.mutations {
        let base: StoredDocument?
        if let written = documents[mutation.path] {
          base = written
        } else {
          base = try transaction.document(at: mutation.path)
          originals[mutation.path] = base
        }
        // The commit time is not known yet; `LoopbackLedger.results` fills it in.
        let outcome = try mutation.outcome(on: base, at: SnapshotVersion.none.timestamp)
        documents[mutation.path] = .some(outcome.document)
        results.append(
          zip(mutation.transforms, outcome.transformResults).map {
            $0.operation == .serverTimestamp ? .null : $1
          })
      }
      for mutation in write.mutations { try transaction.write(mutation) }
      for old in writer.take(write.id.batch, firstOpen: write.firstOpen) {
        let id = WriteID(queue: write.id.queue, run: write.id.run, batch: old)
        try transaction.write(.delete(LoopbackLedger.write(id)))
      }
      try transaction.write(.set(LoopbackLedger.writer(write.id), writer.fields))
      var versions: [Int64] = []
      var previousVersions: [Int64] = []
      for mutation in write.mutations {
        let after = documents[mutation.path] ?? nil
        let old = originals[mutation.path]?.updateTime.microseconds ?? 0
        // A document that changed in between gets a new update time, even if its final state equals the
        // original.
        let isSame = after != nil && after == originals[mutation.path]
        versions.append(isSame ? old : 0)
        previousVersions.append(after == nil ? -old : old)
      }
      try transaction.write(
        .set(path, LoopbackLedger.fields(results, versions, previousVersions: previousVersions)))
    }
    guard let taken = try store.document(at: path) else { return try droppedOutcome(of: write) }
    return (SnapshotVersion(taken.createTime), LoopbackLedger.results(taken, write.mutations))
  }

  /// Thrown if a guard of a batch does not hold.
  private struct Overtaken: Error {}

  private static func holds(_ precondition: Precondition, _ document: StoredDocument?) -> Bool {
    switch precondition {
    case .none: true
    case .exists(let exists): (document != nil) == exists
    case .updateTime(let time): document?.updateTime == time
    }
  }

  /// Returns the answer to an accepted batch whose outcome was dropped because its client had received it.
  /// Only a copy of that client sends the batch again. The results carry the documents' current values, with
  /// a version just before their last change, so that the watch stream overrides them. `versionBefore` is
  /// that version, too, and no document ever had it. The result of a patch therefore counts as assumed until
  /// the watch stream delivers the document, and batches that follow are refused.
  private func droppedOutcome(
    of write: RemoteWrite
  ) throws(DocumentStoreError) -> (version: SnapshotVersion, results: [WriteResult]) {
    let results = try write.mutations.map { mutation throws(DocumentStoreError) in
      let document = try store.document(at: mutation.path)
      let placeholderVersion = SnapshotVersion(
        microseconds: max(1, (document?.updateTime.microseconds ?? 1) - 1))
      return WriteResult(
        version: placeholderVersion,
        transformResults: mutation.transforms.map { document?.fields[$0.field] ?? .null },
        versionBefore: placeholderVersion)
    }
    return (version, results)
  }
}
