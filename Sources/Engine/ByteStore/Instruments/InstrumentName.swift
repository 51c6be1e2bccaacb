// The names of all events and measurements.

/// The name of an event, a counter, a timer or a gauge. The raw value is stable: a later release may add
/// names, but does not change them.
public struct InstrumentName: RawRepresentable, Hashable, Sendable {
  /// The name as text, such as `flush.finished`.
  public let rawValue: String

  /// Creates a name from its text.
  public init(rawValue: String) { self.rawValue = rawValue }

  private init(_ rawValue: String) { self.rawValue = rawValue }
}

extension InstrumentName: CustomStringConvertible {
  /// The name as text.
  public var description: String { rawValue }
}

// MARK: - Events

extension InstrumentName {
  /// A database was opened. Fields: `clean`, `logs`, `commits`, `losses`, `durability`.
  public static let databaseOpened = InstrumentName("database.opened")
  /// An open dropped the end of a log. Fields: `file`, `offset`, `bytes`, `reason`.
  public static let recoveryDropped = InstrumentName("recovery.dropped")
  /// A database was closed. Fields: `clean`.
  public static let databaseClosed = InstrumentName("database.closed")
  /// The WAL continues in a new file. Fields: `log`, `bytes`.
  public static let walRotated = InstrumentName("wal.rotated")
  /// A flush began to write. Fields: `wal`.
  public static let flushStarted = InstrumentName("flush.started")
  /// A flush ended. Fields: `bytes`, `commit`, `seconds`.
  public static let flushFinished = InstrumentName("flush.finished")
  /// A flush failed. Fields: `error`, `failures`.
  public static let flushFailed = InstrumentName("flush.failed")
  /// A flush rewrote segments to free their dead bytes. Fields: `segments`, `bytes`, `live`.
  public static let compactionFinished = InstrumentName("compaction.finished")
  /// A commit group took long. Fields: `seconds`, `commits`, `bytes`.
  public static let commitSlow = InstrumentName("commit.slow")
  /// A query took long. Fields: `collection`, `seconds`, `entries`, `documents`.
  public static let querySlow = InstrumentName("query.slow")
  /// Commits were refused for a reason other than a full disk. Fields: `error`, `commits`.
  public static let writeFailed = InstrumentName("write.failed")
  /// A write was refused because the disk is full. Sent once, until a write finds room. Fields: `error`.
  public static let diskFull = InstrumentName("disk.full")
  /// A write found room on a disk that was full. Fields: `seconds`.
  public static let diskRecovered = InstrumentName("disk.recovered")
  /// A write failed with an unknown outcome, and the database accepts no more writes until it is opened
  /// again. Fields: `error`.
  public static let storePoisoned = InstrumentName("store.poisoned")
  /// A refresh of a reader failed. Sent once, until a refresh succeeds. Fields: `error`.
  public static let refreshFailed = InstrumentName("refresh.failed")
  /// A refresh of a reader succeeded after one that failed. Fields: `seconds`.
  public static let refreshRecovered = InstrumentName("refresh.recovered")
  /// A listener was added. Fields: `collection`, `listeners`.
  public static let listenerAdded = InstrumentName("listener.added")
  /// A listener was removed. Fields: `listeners`.
  public static let listenerRemoved = InstrumentName("listener.removed")
  /// The remote has answered on a new stream. Fields: `stream`.
  public static let syncConnected = InstrumentName("sync.connected")
  /// The remote closed a stream. Fields: `stream`, `error`.
  public static let syncDisconnected = InstrumentName("sync.disconnected")
  /// The remote rejected a write. Fields: `code`, `error`, `documents`.
  public static let syncWriteRejected = InstrumentName("sync.write.rejected")
  /// Rejections that the app has not seen were dropped, because too many were kept. Fields: `rejections`.
  public static let syncRejectionDropped = InstrumentName("sync.rejection.dropped")
  /// The client takes no changes from the remote, because its disk is full. Fields: `error`.
  public static let syncPaused = InstrumentName("sync.paused")
  /// The client has stored a change of the remote after its disk was full.
  public static let syncResumed = InstrumentName("sync.resumed")
  /// A backup began. Fields: `target`.
  public static let backupStarted = InstrumentName("backup.started")
  /// A backup has written or verified some bytes. Fields: `step`, `bytes`, `total`.
  public static let backupProgress = InstrumentName("backup.progress")
  /// A backup is complete and verified. Fields: `target`, `bytes`, `seconds`.
  public static let backupFinished = InstrumentName("backup.finished")
  /// A backup failed. Fields: `target`, `error`.
  public static let backupFailed = InstrumentName("backup.failed")

  /// All names of events.
  public static let events: [InstrumentName] = [
    databaseOpened, recoveryDropped, databaseClosed, walRotated, flushStarted, flushFinished, flushFailed,
    compactionFinished, commitSlow, querySlow, writeFailed, diskFull, diskRecovered, storePoisoned,
    refreshFailed, refreshRecovered, listenerAdded, listenerRemoved, syncConnected, syncDisconnected,
    syncWriteRejected, syncRejectionDropped, syncPaused, syncResumed, backupStarted, backupProgress,
    backupFinished, backupFailed,
  ]
}

// MARK: - Measurements

extension InstrumentName {
  /// Counts commits that succeeded.
  public static let commits = InstrumentName("commits")
  /// Counts the bytes of commits that succeeded.
  public static let commitBytes = InstrumentName("commit.bytes")
  /// Counts commits that the store refused or that failed.
  public static let commitsFailed = InstrumentName("commits.failed")
  /// Counts the bytes that flushes wrote.
  public static let flushBytes = InstrumentName("flush.bytes")

  /// All names of counters.
  public static let counters: [InstrumentName] = [commits, commitBytes, commitsFailed, flushBytes]

  /// The time of a commit, from its place in the queue until it is in the WAL with its durability.
  public static let commit = InstrumentName("commit")
  /// The time that the leader of a commit group wrote and synced the WAL.
  public static let walWrite = InstrumentName("wal.write")
  /// The time that a commit waited because flushes do not keep up.
  public static let throttle = InstrumentName("throttle")
  /// The time of a flush.
  public static let flush = InstrumentName("flush")
  /// The time of a read of one document.
  public static let read = InstrumentName("read")
  /// The time of a query.
  public static let query = InstrumentName("query")

  /// All names of timers.
  public static let timers: [InstrumentName] = [commit, walWrite, throttle, flush, read, query]

  /// The size of the WAL that an open would replay. Sent after each commit group and each flush.
  public static let walBytes = InstrumentName("wal.bytes")
  /// The size of the memtable. Sent after each commit group and each flush.
  public static let memtableBytes = InstrumentName("memtable.bytes")
  /// The size of the page cache. Sent after each flush.
  public static let cacheBytes = InstrumentName("cache.bytes")
  /// The number of open snapshots. Sent after each flush.
  public static let snapshots = InstrumentName("snapshots")
  /// The number of listeners. Sent when it changes.
  public static let listeners = InstrumentName("listeners")
  /// The number of writes that the remote has not answered. Sent when it changes.
  public static let pendingWrites = InstrumentName("writes.pending")

  /// All names of gauges.
  public static let gauges: [InstrumentName] = [
    walBytes, memtableBytes, cacheBytes, snapshots, listeners, pendingWrites,
  ]
}
