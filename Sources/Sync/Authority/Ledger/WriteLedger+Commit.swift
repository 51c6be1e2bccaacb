// Commits a batch together with the record that it was accepted.

internal import DocumentStore
internal import OfflineSync

extension WriteLedger {
  private static let attemptsMax = 5

  func commit(
    _ write: RemoteWrite, _ run: RunName, _ record: RunRecord, digest: [UInt8]
  ) throws(RemoteError) -> Answer? {
    var record = record
    record.lastDay = today
    let recording = CommitRecord(path: run.path) { [record] outcome in
      var record = record
      record.take(
        KeptOutcome(write.id.batch, write.mutations, digest: digest, outcome: outcome),
        firstOpen: write.firstOpen)
      return record.fields
    }
    let committed = try remotely { () throws(DocumentStoreError) in try commit(write, recording) }
    guard let committed else { return nil }
    let outcome = KeptOutcome(write.id.batch, write.mutations, digest: digest, outcome: committed)
    return told((outcome.time, outcome.results))
  }

  private func commit(
    _ write: RemoteWrite, _ recording: CommitRecord
  ) throws(DocumentStoreError) -> CommitOutcome? {
    guard !write.guards.isEmpty || life.isNamed(in: write.mutations) else {
      return try store.commit(write.mutations, recording: recording)
    }
    let attempts = StoreTransactionAttempts(of: store)
    defer { attempts.end() }
    var attempt = 1
    while true {
      let transaction = try attempts.begin()
      defer { transaction.end() }
      do throws(DocumentStoreError) {
        for (path, precondition) in write.guards {
          let document = try transaction.document(at: path)
          guard life.holds(precondition, of: document) else { return nil }
        }
        let mutations = try life.asStored(write.mutations) { path throws(DocumentStoreError) in
          try transaction.document(at: path)
        }
        for mutation in mutations { try transaction.write(mutation) }
        return try transaction.commit(recording: recording)
      } catch {
        guard case .aborted = error, attempt < Self.attemptsMax else { throw error }
      }
      transaction.end()
      attempt += 1
      try attempts.wait(beforeAttempt: attempt)
    }
  }
}
