// Statistics of a store, for people and for monitoring.
//
// Each part is consistent in itself. During concurrent writes, two parts may describe states that are a
// commit apart. Collecting the statistics reads nothing from disk, but may wait until a commit or a flush has
// released the writer's lock. The health of a store is available without this wait.

package struct Statistics: Sendable {
  package struct Segments: Sendable, Equatable {
    package var count = 0
    /// The size of all pages with entries, and how many of these bytes are live.
    package var dataBytes: UInt64 = 0
    package var liveBytes: UInt64 = 0
  }

  package struct Logs: Sendable, Equatable {
    package var count = 0
    /// The number of log bytes that an open would replay.
    package var bytes: UInt64 = 0
  }

  package struct Checkpoint: Sendable, Equatable {
    /// The last commit that the checkpoint contains.
    package var sequence: SequenceNumber
    package var bytes: UInt64
  }

  package struct Snapshots: Sendable, Equatable {
    package struct Open: Sendable, Equatable {
      package var ageSeconds: Double
      package var sequence: SequenceNumber
    }

    /// Oldest first.
    package var open: [Open] = []
    /// The size of deleted segments that still occupy disk space, because a snapshot or a running read uses
    /// them.
    package var deletedBytesHeld: UInt64 = 0

    package var count: Int { open.count }

    /// The oldest snapshot. If its age keeps growing, the snapshot has leaked.
    package var oldest: Open? { open.first }
  }

  package struct Cache: Sendable, Equatable {
    package var bytesUsed: Int
    package var bytesMax: Int
    package var hits: UInt64
    package var misses: UInt64
  }

  package struct DamagedSegment: Sendable, Equatable {
    package var file: String
    package var error: ByteStoreError
  }

  package var keys: Int
  package var lastCommit: SequenceNumber
  package var segments: Segments
  /// The size of the memtable.
  package var memtableBytes: Int
  package var logs: Logs
  package var checkpoint: Checkpoint?
  /// The size of all files of the store, including whole logs, the recycled log file and the reserve.
  package var directoryBytes: UInt64
  package var cache: Cache
  package var snapshots: Snapshots
  /// The error of the last flush if that flush failed. It is cleared when a flush succeeds.
  package var flushFailure: ByteStoreError?
  /// Segments that a flush could not read. Flushes skip them until the store is reopened.
  package var damagedSegments: [DamagedSegment]
  package var durability: DurabilityReport
  package var writing: StoreHealth.Writing

  /// The number of commits that are only in the WAL.
  package var commitsSinceFlush: UInt64 { lastCommit.value - (checkpoint?.sequence.value ?? 0) }
}

extension ByteStore {
  package var statistics: Statistics {
    // Each part is read under its own lock. The locks are acquired in lock order, and each is released before
    // the next one is acquired.
    let files = writer.withLock { Files(of: $0) }
    let (flushFailure, damaged, writing) = state.withLock { state in
      (state.failedFlush?.error, state.damagedSegments, self.writing(state).writing)
    }
    let table = table.frozen()
    return Statistics(
      keys: table.keys, lastCommit: table.published, segments: Statistics.Segments(of: table),
      memtableBytes: table.memtable.bytes, logs: files.logs, checkpoint: files.checkpoint,
      directoryBytes: files.bytes, cache: Statistics.Cache(self.table.cache.statistics),
      snapshots: snapshots.statistics(now: platform.clock.monotonicNanoseconds()),
      flushFailure: flushFailure,
      damagedSegments: damaged.sorted { $0.key < $1.key }.map {
        Statistics.DamagedSegment(file: "\(path)/\(StoreFile.segment($0.key))", error: $0.value)
      }, durability: durability, writing: writing)
  }

  private struct Files {
    var logs = Statistics.Logs()
    var checkpoint: Statistics.Checkpoint?
    var bytes: UInt64

    init(of writer: Writer) {
      let manifest = writer.manifest
      logs.count = manifest.logs.count
      logs.bytes = writer.logBytes
      checkpoint = manifest.checkpoint.map {
        Statistics.Checkpoint(sequence: writer.flushedThrough, bytes: $0.bytes)
      }
      bytes = UInt64(manifest.encoded().count)
      bytes += manifest.logs.reduce(0) { $0 + $1.capacity }
      bytes += manifest.segments.reduce(0) { $0 + $1.bytes }
      bytes += manifest.checkpoint?.bytes ?? 0
      if case .ready(let recycledLog) = writer.recycledLog { bytes += recycledLog.capacity }
      bytes += writer.reserve.bytes
    }
  }
}

extension Statistics.Segments {
  /// The bytes that a compaction could free, including the unused ends of pages.
  package var deadBytes: UInt64 { dataBytes - min(liveBytes, dataBytes) }

  init(of table: KeyDirectory) {
    for case let use? in table.segments {
      count += 1
      dataBytes += UInt64(use.segment.pages * SegmentFormat.pageBytes)
      liveBytes += use.liveBytes
    }
  }
}

extension Statistics.Cache {
  init(_ cache: PageCache.Statistics) {
    self.init(
      bytesUsed: cache.bytesUsed, bytesMax: cache.bytesMax, hits: cache.hits, misses: cache.misses)
  }
}

extension SnapshotRegistry {
  func statistics(now: UInt64) -> Statistics.Snapshots {
    let open = entries.map { entry in
      Statistics.Snapshots.Open(
        ageSeconds: Double(now - min(entry.openedAt, now)) / 1e9, sequence: entry.sequence)
    }
    return Statistics.Snapshots(open: open, deletedBytesHeld: deletedBytesHeld)
  }
}
