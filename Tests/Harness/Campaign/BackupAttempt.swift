// A call for a backup, and what its directory may hold from then on.
//
// Law (P17): once the call has returned, the directory opens as the one state that the store had when it
// was called, whatever crash follows. Before that, or after a failure, it opens as that state or is refused
// as no store or an unfinished backup; and it is never damaged.

internal import ByteStore

struct BackupAttempt: Sendable {
  /// The commit at which the store stood.
  var sequence: Int
  var point: Oracle.Point
  /// How many calls the disk had served.
  var beganAt: Int
  var completedAt: Int?

  /// As a crash before a call leaves it.
  func asKnown(at operation: Int) -> BackupAttempt {
    var attempt = self
    if let completedAt, completedAt > operation { attempt.completedAt = nil }
    return attempt
  }

  /// What the next life knows of it.
  var afterCrash: BackupAttempt {
    var attempt = self
    attempt.beganAt = -1
    attempt.completedAt = completedAt.map { _ in -1 }
    return attempt
  }

  /// Opens what is in `directory`, on a disk of its own so that nothing is changed.
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
    // A power loss takes commits that nobody was promised, and the next ones get their numbers: of two attempts at one
    // number, either may be what is there, unless one was finished: nothing comes in its place.
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
