// Commits a batch together with the record that it was accepted.

internal import DocumentStore
internal import OfflineSync

extension WriteLedger {
  func commit(
    _ write: RemoteWrite, _ run: RunName, continuing record: RunRecord, digest: [UInt8]
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
    let committed: CommitOutcome
    do throws(RemoteError) {
      committed = try backend.commit(
        life.commit(of: write.mutations, guards: write.guards, recording: recording))
    } catch {
      if error == AuthorityLife.guardFailed { return nil }
      throw error
    }
    let outcome = KeptOutcome(write.id.batch, write.mutations, digest: digest, outcome: committed)
    return raised((outcome.time, outcome.results))
  }
}
