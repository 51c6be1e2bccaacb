// The rules of the commit and recovery protocol, as switches that the mutants campaign can turn off.

/// A rule of docs/reliability.md, section "Protocol". The mutants campaign breaks each rule in turn and
/// checks that a test fails. No other code breaks a rule.
package enum Rule: String, CaseIterable, Sendable {
  /// C2: a synced commit is acknowledged only after its sync has returned.
  case syncBeforeAcknowledging
  /// C2: after a short write, the remaining bytes are written as well.
  case finishShortWrites
  /// C3: a new log is synced before anything depends on it.
  case syncNewFile
  /// C3: the directory that contains a new log is synced as well.
  case syncDirectoryAfterCreating
  /// C3: only one thread at a time prepares a recycled log file. Otherwise one thread could delete a file
  /// that another thread has already started to use as a log.
  case oneRecycledLogAtATime
  /// C4: a failed sync is never retried.
  case neverRetrySync
  /// C4: after a failed write or sync, the store refuses further writes.
  case poison
  /// C4: after a failed write or sync, a close writes no close marker, because the marker would vouch for
  /// bytes that may be lost.
  case noMarkerAfterPoison
  /// C5: a new manifest is synced before it replaces the old one.
  case syncBeforeRenaming
  /// C5: the directory is synced after a rename.
  case syncDirectoryAfterRenaming
  /// C8: an open syncs the files that it reads before it relies on their content.
  case syncOnOpen
  /// C8: an open rewrites the bytes that a failed sync may have dropped.
  case rewriteOnOpen
  /// C9: the body of a frame has a checksum.
  case checkBodies
  /// C9: a checksum starts with the id of the file.
  case bindToFile
  /// C9: a checksum also covers the offset in the file.
  case bindToOffset
  /// C9: a frame after the end that recovery found proves damage if the frame was written after a later sync.
  case laterDurableFrameIsDamage
  /// C9: any other frame after that end does not prove damage.
  case laterFrameIsNoDamage
  /// C9: an idle log gets a watermark, which records that its last group was synced.
  case watermarkWhenIdle
  /// C9: a close records the end of the log outside the log.
  case recordEndWhenClosing
  /// C9: the log is synced before its end is recorded.
  case syncBeforeRecordingEnd
  /// P6: each page of a segment or checkpoint has a checksum.
  case checkPages
  /// C7: a segment is synced before a manifest names it.
  case syncSegment
  /// C7: a checkpoint is synced before a manifest names it.
  case syncCheckpoint
  /// C7: segments and checkpoints are read back, because a device may have stored bytes other than those
  /// written.
  case readBack
  /// C5: a log is deleted only after a manifest that no longer names it is durable.
  case deleteAfterManifest
  /// C5: an open rewrites the manifest before it deletes files that the manifest does not name.
  case writeManifestBeforeDeletingOnOpen
  /// C5: a backup is marked as unfinished before it contains files.
  case markBackup
  /// C7: a flush does not overwrite the location of a key that a later commit changed.
  case keepLaterCommits
  /// C8: recovery applies each commit of the WAL exactly once.
  case replayOnce
  /// C12: the first commit after an open goes to a new log.
  case freshLogAfterOpen
  /// C10: the opener of a store excludes all other openers.
  case lock
  /// C11: a reserve file is kept in case the disk becomes full.
  case keepReserve
  /// C6: a blob is synced before a commit refers to it.
  case syncBlob
  /// C6: the directory entry of the blob is synced as well.
  case syncDirectoryOfBlob

  /// The rules that only matter to stores that keep contents in separate files.
  package static let contentRules: Set<Rule> = [.syncBlob, .syncDirectoryOfBlob]
}
