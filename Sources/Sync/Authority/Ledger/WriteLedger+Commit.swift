// Commits a batch together with the record that it was accepted.

internal import DocumentStore
internal import OfflineSync

extension WriteLedger {
  func commit(
    _ write: RemoteWrite, _ run: RunName, continuing record: RunRecord, digest: [UInt8]
  ) -> LedgerStep<Answer?> {
    var record = record
    record.lastDay = today
    let recording = CommitRecord(path: run.path) { [record] outcome in
      var record = record
      record.take(
        KeptOutcome(write.id.batch, write.mutations, digest: digest, outcome: outcome),
        firstOpen: write.firstOpen)
      return record.fields
    }
    return .commit(life.commit(of: write.mutations, guards: write.guards, recording: recording)) { [self] in
      switch $0 {
      case .success(let committed):
        let outcome = KeptOutcome(write.id.batch, write.mutations, digest: digest, outcome: committed)
        return .success(raised((outcome.time, outcome.results)))
      case .failure(let error):
        return error == AuthorityLife.guardFailed ? .success(nil) : .failure(error)
      }
    }
  }
}
