// One call of `backup`, and the allowed states of its directory from then on.
//
// Invariant (P17): once the call has returned, the directory opens with exactly the state that the store had
// at the time of the call. This holds for every crash that follows. Before the call returns, or after it
// fails, there are two allowed outcomes. Either the directory opens with that state, or the open is refused
// because the directory contains no store or an unfinished backup. The directory is never damaged.

internal import ByteStore

struct BackupAttempt: Sendable {
  /// The number of the store's last commit at the time of the call.
  var sequence: Int
  var point: Oracle.Point
  /// The number of disk calls before the backup.
  var beganAt: Int
  var completedAt: Int?

  /// Returns the attempt as far as it had progressed at a crash before the given disk call.
  func state(at operation: Int) -> BackupAttempt {
    var attempt = self
    if let completedAt, completedAt > operation { attempt.completedAt = nil }
    return attempt
  }

  /// The attempt for use in the next life, with its disk calls marked as earlier than every call of that
  /// life.
  var afterCrash: BackupAttempt {
    var attempt = self
    attempt.beganAt = -1
    attempt.completedAt = completedAt.map { _ in -1 }
    return attempt
  }

  /// Opens the directory on a copy of the disk, so that nothing is changed.
  static func check(
    _ attempts: [BackupAttempt], in directory: String, on image: DiskImage
  ) throws(Finding) {
    var options = ByteStore.Options()
    options.createsIfMissing = false
    options.maintenance = .manual
    options.cacheBytesMax = 64 << 10
    let store: ByteStore
    do throws(ByteStoreError) {
      store = try ByteStore.open(
        directory, options: options, platform: SimulatedDisk(image).platform(seed: UInt64(attempts.count)))
    } catch {
      return try judge(error, attempts, directory)
    }
    defer { store.abandon() }
    let found = Int(store.lastCommit.value)
    // After a power loss, new commits may reuse the numbers of lost commits. Therefore, two attempts can have
    // the same commit number, and the directory may have the state of either attempt. If one of them was
    // finished, only its state is allowed, because a finished backup is never replaced.
    var candidates = attempts.filter { $0.sequence == found }
    let finished = candidates.filter { $0.completedAt != nil }
    if !finished.isEmpty { candidates = finished }
    var other = Finding(
      .ghost, "the backup in \(directory) is at commit \(found), which was never backed up")
    for attempt in candidates {
      do throws(Finding) { return try attempt.point.compare(with: store, at: found) { _ in false } } catch {
        other = error
      }
    }
    throw other
  }

  private static func judge(
    _ error: ByteStoreError, _ attempts: [BackupAttempt], _ directory: String
  ) throws(Finding) {
    if attempts.contains(where: { $0.completedAt != nil }) {
      throw Finding(.lostCommit, "a finished backup in \(directory) does not open: \(error)")
    }
    switch error {
    case .noStore, .incompleteBackup: break
    default: throw Finding(.falseAlarm, "an unfinished backup in \(directory) is called: \(error)")
    }
  }
}
