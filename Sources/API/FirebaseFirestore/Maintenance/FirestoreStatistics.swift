// The statistics of a database, as values.

/// The size and the state of a database.
public struct FirestoreStatistics: Hashable, Sendable, Codable {
  /// The number of documents in all collections. With a remote, the number of documents in the cache.
  public let documentCount: Int
  /// The number of bytes that the database uses, including recycled log files and the contents of Storage's
  /// files.
  public let byteCount: UInt64
  /// The number of bytes that the documents use, a part of `byteCount`. Only recently written documents are
  /// uncompressed.
  public let documentByteCount: UInt64
  /// The number of bytes that the contents of Storage's files use, a part of `byteCount`.
  public let contentByteCount: UInt64
  /// The number of indexes, not counting the index of document names.
  public let indexCount: Int

  /// The id of the files of this database. A backup has a different id.
  public let storeID: String
  /// The number of records: documents and internal data, such as shared field names and Storage's files.
  public let recordCount: Int
  /// The number of the last commit.
  public let lastCommit: UInt64
  /// The number of commits that no flush has moved out of the write-ahead log yet.
  public let commitsSinceFlush: UInt64
  /// The number of bytes of these commits in memory.
  public let memtableByteCount: Int
  /// The files that hold documents after a flush.
  public let segments: Segments
  /// The write-ahead log.
  public let log: Log
  /// The last checkpoint; nil before the first flush.
  public let checkpoint: Checkpoint?
  /// The cache of pages.
  public let cache: Cache
  /// The memory by what it holds, and its limit.
  public let memory: FirestoreMemory
  /// The readers of earlier states, oldest first.
  public let snapshots: [Snapshot]
  /// The number of bytes of deleted files that readers of earlier states still use.
  public let deletedByteCountHeld: UInt64
  /// The contents of Storage's files; nil if they cannot be counted.
  public let contents: Contents?
  /// Whether the database accepts writes, or the reason why not. `Firestore.health()` has the cause.
  public let writing: FirestoreHealth.Writing
  /// The error of the last flush if that flush failed.
  public let flushFailure: String?
  /// The segments that a flush could not read.
  public let damagedSegments: [DamagedSegment]
  /// Whether the database is the cache of a remote.
  public let isCacheOfRemote: Bool
  /// For each collection ID with a time to live, the number of expired documents that cannot be read. At most
  /// 1,000 expired documents of each collection are examined.
  public let unreadableExpiredCounts: [String: Int]
  /// The result of the last open.
  public let recovery: Recovery
  /// The file system, and how far its syncs reach.
  public let durability: Durability
}

extension FirestoreStatistics {
  /// The files that hold documents after a flush.
  public struct Segments: Hashable, Sendable, Codable {
    /// The number of files.
    public let count: Int
    /// The number of bytes of all pages with entries.
    public let dataByteCount: UInt64
    /// The number of bytes of live entries, a part of `dataByteCount`.
    public let liveByteCount: UInt64
    /// The number of bytes that a compaction could free, the other part of `dataByteCount`.
    public let deadByteCount: UInt64
  }

  /// The write-ahead log.
  public struct Log: Hashable, Sendable, Codable {
    /// The number of files.
    public let fileCount: Int
    /// The number of bytes that an open would read.
    public let byteCount: UInt64
  }

  /// A checkpoint.
  public struct Checkpoint: Hashable, Sendable, Codable {
    /// The number of the last commit in the checkpoint.
    public let commit: UInt64
    /// The size of the checkpoint.
    public let byteCount: UInt64
  }

  /// The cache of pages.
  public struct Cache: Hashable, Sendable, Codable {
    /// The number of bytes in use.
    public let byteCount: Int
    /// The largest number of bytes.
    public let byteCountMax: Int
    /// The number of reads that found their page in the cache.
    public let hitCount: UInt64
    /// The number of reads that had to load their page.
    public let missCount: UInt64
  }

  /// A reader of an earlier state.
  public struct Snapshot: Hashable, Sendable, Codable {
    /// The time since the reader began, in seconds. If it keeps growing, the reader was never released.
    public let ageSeconds: Double
    /// The number of the last commit that the reader sees.
    public let commit: UInt64
  }

  /// The contents of Storage's files.
  public struct Contents: Hashable, Sendable, Codable {
    /// The number of different contents.
    public let count: Int
    /// The number of files of the database that hold the contents.
    public let fileCount: Int
  }

  /// A segment that a flush could not read.
  public struct DamagedSegment: Hashable, Sendable, Codable {
    /// The path of the file.
    public let file: String
    /// The error of the flush.
    public let error: String
  }

  /// The result of an open.
  public struct Recovery: Hashable, Sendable, Codable {
    /// Whether the database had been closed cleanly. True for a new database.
    public let wasClosedCleanly: Bool
    /// The number of log files that the open read.
    public let logCount: Int
    /// The number of commits that the open read from the log.
    public let commitCount: Int
    /// The ends of logs that the open dropped, because their commits were never acknowledged.
    public let losses: [Loss]
  }

  /// A range of bytes in a log that an open dropped.
  public struct Loss: Hashable, Sendable, Codable {
    /// The path of the log.
    public let file: String
    /// The position of the first dropped byte.
    public let offset: UInt64
    /// The number of dropped bytes.
    public let byteCount: UInt64
    /// The reason as a sentence.
    public let reason: String
  }

  /// The file system of a database, and how far its syncs reach.
  public struct Durability: Hashable, Sendable, Codable {
    /// The system's name of the file system.
    public let fileSystem: String
    /// Whether synced data survives a power loss; nil if that is unknown.
    public let survivesPowerLoss: Bool?
    /// A description for people.
    public let text: String
  }
}
