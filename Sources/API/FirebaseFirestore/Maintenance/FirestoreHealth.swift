// The health of a database, for monitoring and for health checks of a server.

public import Foundation

/// The health of a database at one time.
public struct FirestoreHealth: Hashable, Sendable, Codable {
  /// Whether the database accepts writes, or the reason why not.
  public enum Writing: String, Hashable, Sendable, Codable {
    /// The database accepts writes.
    case possible
    /// The instance has not been used, so its database is not open.
    case notOpen
    /// The last attempt to open the database failed. The next call of the instance tries again.
    case openFailed
    /// The last write was refused because the disk is full. Deletes are accepted, and the next write finds
    /// out whether there is room again.
    case diskFull
    /// Flushes fail, and the write-ahead log has reached its limit. A write is accepted again after a flush
    /// has succeeded, which the database tries from time to time.
    case flushImpossible
    /// A write failed with an unknown outcome. Reads continue, and writes are possible again after the
    /// database has been opened again.
    case poisoned
    /// The database is open for reading only.
    case readOnly
    /// The instance was terminated.
    case terminated
  }

  /// Whether a database with a remote takes changes from it, or the reason why not.
  public enum Receiving: String, Hashable, Sendable, Codable {
    /// The database takes changes from the remote, while it is connected.
    case possible
    /// A change of the remote was not stored, because the disk is full. Listeners receive cached snapshots.
    /// The database tries again, at first every second and later every minute.
    case diskFull
  }

  /// Whether the database accepts writes, or the reason why not.
  public let writing: Writing
  /// Whether the database takes changes from its remote; nil without a remote, and if it is not open.
  public let receiving: Receiving?
  /// The cause as a sentence; nil if no error is the cause.
  public let reason: String?
  /// The time of the first failure with this cause; nil if no error is the cause.
  public let since: Date?
  /// The number of bytes of the write-ahead log that an open would read.
  public let walByteCount: UInt64
  /// The number of bytes of commits that no flush has moved out of the write-ahead log yet, in memory.
  public let memtableByteCount: Int
  /// The flushes since the database was opened.
  public let flushes: Flushes
  /// The number of bytes that a compaction could free.
  public let compactionDebtByteCount: UInt64
  /// The number of segments that a flush could not read.
  public let damagedSegmentCount: Int
  /// The memory by what it holds, and its limit; nil if the database is not open.
  public let memory: FirestoreMemory?
  /// The cache of pages.
  public let cache: FirestoreStatistics.Cache
  /// The times of commits since the database was opened. A time begins when the commit is queued, and ends
  /// when the commit has its durability.
  public let commitLatency: Latency
  /// The number of writes of this instance that are not durable yet. With a remote, includes the writes of
  /// the current user that the remote has not answered.
  public let pendingWriteCount: Int
  /// The number of listeners of this instance.
  public let listenerCount: Int
  /// The readers of earlier states, oldest first. If the first age keeps growing, a reader was never
  /// released.
  public let snapshots: [FirestoreStatistics.Snapshot]
  /// The result of the last open, with everything that it dropped; nil if the database is not open.
  public let recovery: FirestoreStatistics.Recovery?
  /// The file system, and how far its syncs reach; nil if the database is not open.
  public let durability: FirestoreStatistics.Durability?

  /// Whether the database accepts writes.
  public var canWrite: Bool { writing == .possible }
  /// Whether a write failed with an unknown outcome, so that the database has to be opened again.
  public var isPoisoned: Bool { writing == .poisoned }
}

extension FirestoreHealth {
  /// The flushes since the database was opened.
  public struct Flushes: Hashable, Sendable, Codable {
    /// The number of flushes that succeeded.
    public let successCount: UInt64
    /// The number of flushes that failed.
    public let failureCount: UInt64
    /// The time of the last success.
    public let lastSuccess: Date?
    /// The error of the last flush if that flush failed.
    public let failure: String?
    /// The time since when all flushes have failed; nil if the last flush succeeded.
    public let failingSince: Date?
  }

  /// A histogram of durations.
  public struct Latency: Hashable, Sendable, Codable {
    /// A range of durations.
    public struct Bucket: Hashable, Sendable, Codable {
      /// The upper bound of the range, in seconds, which belongs to the next bucket; nil for the last bucket.
      public let secondsEnd: Double?
      /// The number of durations in the range.
      public let count: UInt64
    }

    /// The number of durations.
    public let count: UInt64
    /// The longest duration in seconds.
    public let secondsMax: Double
    /// The buckets that have durations, in ascending order.
    public let buckets: [Bucket]

    /// Returns the duration in seconds that the given fraction of all durations do not exceed; nil if there
    /// are no durations. The result is at most a quarter too long. `seconds(atFraction: 0.99)` is the 99th
    /// percentile.
    public func seconds(atFraction fraction: Double) -> Double? {
      guard count > 0 else { return nil }
      let rank = max(fraction * Double(count), 1)
      var sum = 0.0
      for bucket in buckets {
        sum += Double(bucket.count)
        if sum >= rank { return min(bucket.secondsEnd ?? secondsMax, secondsMax) }
      }
      return secondsMax
    }
  }
}
