// One call of `backup`, and the allowed states of its directory from then on.
//
// Invariant (P17): once the call has returned, the directory opens with exactly the state that the store
// had at the call, whatever crash follows. Before that, or after a failure, it opens with that state, or
// is refused as no store or as an unfinished backup. It is never damaged.

internal import ByteStore

struct BackupAttempt: Sendable {
  /// The last commit of the store at the call.
  var sequence: Int
  var point: Oracle.Point
  /// The number of disk calls before the backup.
  var beganAt: Int
  var completedAt: Int?

  /// The attempt as known at a crash before the given call.
  func asKnown(at operation: Int) -> BackupAttempt {
    var attempt = self
    if let completedAt, completedAt > operation { attempt.completedAt = nil }
    return attempt
  }

  /// The attempt as the next life knows it.
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
    // After a power loss, new commits may reuse the numbers of lost ones, so two attempts can have one
    // number. The directory may have either state, unless one attempt was finished: a finished backup is
    // never replaced.
    var candidates = attempts.filter { $0.sequence == found }
    let finished = candidates.filter { $0.completedAt != nil }
    if !finished.isEmpty { candidates = finished }
    var other = Finding(
      .ghost, "the backup in \(directory) stands at commit \(found), which none was made of")
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
