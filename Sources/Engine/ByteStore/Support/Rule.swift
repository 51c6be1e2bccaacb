// The rules of the commit and recovery protocol, each where it can be broken on purpose.

/// One rule of docs/reliability.md, section "Protocol". The mutants campaign breaks one at a time and
/// must see a test notice; no other code ever breaks one.
package enum Rule: String, CaseIterable, Sendable {
  /// C2: a synced commit is acknowledged after its sync returned.
  case syncBeforeAcknowledging
  /// C2: a write that the system took a part of goes on with the rest.
  case finishShortWrites
  /// C3: a new log is synced before anything depends on it.
  case syncNewFile
  /// C3: so is the directory that it stands in.
  case syncDirectoryAfterCreating
  /// C3: a spare is made by one thread at a time, or one would take the file from under a log.
  case oneSpareAtATime
  /// C4: a failed sync is not tried again.
  case neverRetrySync
  /// C4: after a failed write or sync there is no more writing.
  case poison
  /// C4: nor a mark that the log was closed, which would vouch for what a failed sync has dropped.
  case noMarkerAfterPoison
  /// C5: a manifest is synced before it takes the place of the old one.
  case syncBeforeRenaming
  /// C5: the directory is synced after a rename.
  case syncDirectoryAfterRenaming
  /// C8: what an open reads is made durable first.
  case syncOnOpen
  /// C8: and what a failed sync may have dropped is written again.
  case writeAgainOnOpen
  /// C9: the body of a frame has a checksum.
  case checkBodies
  /// C9: a checksum begins with the id of the file.
  case bindToFile
  /// C9: and with the offset in it.
  case bindToOffset
  /// C9: a frame that was written after a sync beyond the end is evidence of damage.
  case laterDurableFrameIsDamage
  /// C9: any other frame beyond the end is none.
  case laterFrameIsNoDamage
  /// C9: a quiet log gets a frame that vouches for its last group.
  case watermarkWhenQuiet
  /// C9: a close records the end of the log elsewhere.
  case recordEndWhenClosing
  /// C9: and is on stable storage by then.
  case syncBeforeRecordingEnd
  /// P6: a page of a segment or a checkpoint has a checksum.
  case checkPages
  /// C7: a segment is synced before a manifest names it.
  case syncSegment
  /// C7: and a checkpoint.
  case syncCheckpoint
  /// C7: both are read back, for a device may have kept other bytes than it was given.
  case readBack
  /// C5: a log is deleted once a durable manifest does without it.
  case deleteAfterManifest
  /// C5: an open writes the manifest again before it deletes what it does not name.
  case writeManifestBeforeDeletingOnOpen
  /// C5: a backup is marked as unfinished before it has files.
  case markBackup
  /// C7: a flush that is overtaken by a commit leaves that commit alone.
  case keepLaterCommits
  /// C8: a commit of a log is applied once.
  case replayOnce
  /// C12: the first commit after an open takes a fresh log.
  case freshLogAfterOpen
  /// C10: who opens a store keeps everyone else out.
  case lock
  /// C11: a reserve is kept for the day on which the disk is full.
  case keepReserve
  /// C6: a blob is synced before a commit names it.
  case syncBlob
  /// C6: and so is its name.
  case syncDirectoryOfBlob

  /// Those that stores without contents in files of their own do not come to.
  package static let ofContents: Set<Rule> = [.syncBlob, .syncDirectoryOfBlob]
}
