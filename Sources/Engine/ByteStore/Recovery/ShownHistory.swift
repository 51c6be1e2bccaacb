// Tells the history that a reader shows from another one with the same store id.
//
// A copy of a store that was written further has the store id of the original, and other commits after the
// copy was made. A state that was captured again continues the shown history only if
//
//   1. sequence   it has at least as many commits
//   2. stamp      its largest stamp is not smaller
//   3. log        the log at the reader's position, if its end is still recorded, reaches that position
//   4. commit     the last commit that is shown, if it is still in a log, has the same bytes
//
// If the copy has flushed that commit and all commits before it, and has larger stamps, nothing is left that
// could be compared. The upper layer then compares what it has.

extension ReaderState {
  /// Whether a state that was captured again may continue the shown history, whose largest stamp is
  /// `lastStamp`.
  func isContinued(by opened: Opened, lastStamp: UInt64) -> Bool {
    let position =
      log.map {
        LogHeader.LogEnd(fileID: $0.header.fileID, length: $0.end, sequence: $0.lastSequence)
      } ?? last
    let ends = opened.recordedEnds.filter { $0.fileID == position.fileID }
    guard opened.table.withTable({ $0.lastStamp }) >= lastStamp,
      ends.allSatisfy({ $0.sequence >= position.sequence })
    else { return false }
    guard let shown, let commit = opened.replayed(shown.sequence) else { return true }
    return ShownCommit(commit, shown.sequence) == shown
  }
}

extension Opened {
  /// The last commit that was replayed; nil if all commits are in the checkpoint.
  var lastReplayed: ShownCommit? {
    replayed(last.sequence).map { ShownCommit($0, last.sequence) }
  }

  /// The ends of logs that the manifest and the checkpoint record.
  fileprivate var recordedEnds: [LogHeader.LogEnd] {
    let ends = manifest.logs.compactMap { log in
      log.end.map { LogHeader.LogEnd(fileID: log.fileID, length: $0.length, sequence: $0.sequence) }
    }
    return ends + [checkpoint?.header.position].compactMap { $0 }
  }

  /// The replayed commit with this number; nil if it is in the checkpoint.
  fileprivate func replayed(_ sequence: SequenceNumber) -> CommitBody? {
    let flushed = checkpoint?.header.position.sequence ?? .none
    guard let commits = recovered?.commits, sequence > flushed else { return nil }
    let index = Int(clamping: sequence.value - flushed.value - 1)
    return index < commits.count ? commits[index] : nil
  }
}
