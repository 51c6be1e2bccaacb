// What a store holds and how it is doing, for people and for monitors.
//
// Each part is right by itself; while others write, two parts may be a commit apart. Nothing is read from
// disk for it, and no part waits for a commit or a flush to end.

package struct Statistics: Sendable {
  package struct Segments: Sendable, Equatable {
    package var count = 0
    /// Of the pages with entries; of those, what is still the value of a key.
    package var dataBytes: UInt64 = 0
    package var liveBytes: UInt64 = 0
  }

  package struct Logs: Sendable, Equatable {
    package var count = 0
    /// What an open would have to read.
    package var bytes: UInt64 = 0
  }

  package struct Checkpoint: Sendable, Equatable {
    /// The last commit that it has.
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
    /// Of segments that were deleted and take up the disk on, for a snapshot or for a read under way.
    package var deletedBytesHeld: UInt64 = 0

    package var count: Int { open.count }

    /// One that stays here and grows old was forgotten.
    package var oldest: Open? { open.first }
  }

  package struct Cache: Sendable, Equatable {
    package var bytesUsed: Int
    package var bytesMax: Int
    package var hits: UInt64
    package var misses: UInt64
  }

  package enum Writing: Sendable, Equatable {
    case possible
    /// By a failure whose outcome is unknown: reopening helps.
    case poisoned(SystemFailure)
    case closed
  }

  package struct DamagedSegment: Sendable, Equatable {
    package var file: String
    package var error: ByteStoreError
  }

  package var keys: Int
  package var lastCommit: SequenceNumber
  package var segments: Segments
  /// Of the commits in memory that no segment has yet.
  package var tailBytes: Int
  package var logs: Logs
  package var checkpoint: Checkpoint?
  /// Of all files that belong to the store, whole logs, the spare and the reserve among them.
  package var directoryBytes: UInt64
  package var cache: Cache
  package var snapshots: Snapshots
  /// Why the last flush failed, until one succeeds.
  package var flushFailure: ByteStoreError?
  /// Those that a flush could not read and leaves alone, until the store is opened anew.
  package var damagedSegments: [DamagedSegment]
  package var durability: DurabilityReport
  package var writing: Writing
}

extension ByteStore {
  package var statistics: Statistics {
    // One look at each, in the order of the locks, and none held while the next one is taken.
    let files = writer.withLock { Files(of: $0) }
    let (flushFailure, damaged, end) = state.withLock { ($0.failedFlush?.error, $0.damagedSegments, $0.end) }
    let table = table.frozen()
    return Statistics(
      keys: table.keys, lastCommit: table.published, segments: Statistics.Segments(of: table),
      tailBytes: table.tail.bytes, logs: files.logs, checkpoint: files.checkpoint,
      directoryBytes: files.bytes, cache: Statistics.Cache(self.table.cache.statistics),
      snapshots: snapshots.statistics(now: platform.clock.monotonicNanoseconds()),
      flushFailure: flushFailure,
      damagedSegments: damaged.sorted { $0.key < $1.key }.map {
        Statistics.DamagedSegment(file: "\(path)/\(StoreFile.segment($0.key))", error: $0.value)
      }, durability: durability, writing: Statistics.Writing(end: end))
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
      if case .ready(let spare) = writer.spare { bytes += spare.capacity }
      bytes += writer.reserve.bytes
    }
  }
}

extension Statistics.Segments {
  fileprivate init(of table: Table) {
    for case let use? in table.segments {
      count += 1
      dataBytes += UInt64(use.segment.pages * SegmentFormat.pageBytes)
      liveBytes += use.liveBytes
    }
  }
}

extension Statistics.Cache {
  fileprivate init(_ cache: PageCache.Statistics) {
    self.init(
      bytesUsed: cache.bytesUsed, bytesMax: cache.bytesMax, hits: cache.hits, misses: cache.misses)
  }
}

extension Statistics.Writing {
  fileprivate init(end: ByteStoreError?) {
    switch end {
    case nil: self = .possible
    case .outcomeUnknown(let cause): self = .poisoned(cause)
    case .some: self = .closed
    }
  }
}

extension SnapshotRegistry {
  fileprivate func statistics(now: UInt64) -> Statistics.Snapshots {
    let open = entries.map { entry in
      Statistics.Snapshots.Open(
        ageSeconds: Double(now - min(entry.openedAt, now)) / 1e9, sequence: entry.sequence)
    }
    return Statistics.Snapshots(open: open, deletedBytesHeld: deletedBytesHeld)
  }
}
