// Conversions from the engine's statistics to the values of the API.

import ByteStore
import DocumentStore
private import OfflineSync

extension FirestoreStatistics.Segments {
  init(_ segments: Statistics.Segments) {
    self.init(
      count: segments.count, dataByteCount: segments.dataBytes, liveByteCount: segments.liveBytes,
      deadByteCount: segments.deadBytes)
  }
}

extension FirestoreStatistics.Cache {
  init(_ cache: Statistics.Cache) {
    self.init(
      byteCount: cache.bytesUsed, byteCountMax: cache.bytesMax, hitCount: cache.hits,
      missCount: cache.misses)
  }
}

extension FirestoreStatistics.Snapshot {
  static func all(_ snapshots: Statistics.Snapshots) -> [Self] {
    snapshots.open.map { Self(ageSeconds: $0.ageSeconds, commit: $0.sequence.value) }
  }
}

extension FirestoreStatistics.Recovery {
  init(_ report: RecoveryReport) {
    self.init(
      wasClosedCleanly: report.wasClosedCleanly, logCount: report.logsRead,
      commitCount: report.commitsReplayed,
      losses: report.losses.map {
        FirestoreStatistics.Loss(file: $0.file, offset: $0.offset, byteCount: $0.length, reason: $0.reason)
      })
  }
}

extension FirestoreStatistics.Durability {
  init(_ report: DurabilityReport) {
    let survives: Bool? =
      switch report.verdict {
      case .durable: true
      case .notDurable: false
      case .unknown: nil
      }
    self.init(fileSystem: report.fileSystem, survivesPowerLoss: survives, text: report.description)
  }
}

extension FirestoreStatistics {
  init(of store: DocumentStore) throws(DocumentStoreError) {
    let statistics = store.statistics
    let contentBytes = try store.contentByteCount()
    let contents = try? store.contentStatistics()
    self.init(
      documentCount: try store.documentCount(), byteCount: statistics.directoryBytes + contentBytes,
      documentByteCount: statistics.segments.liveBytes + UInt64(statistics.memtableBytes),
      contentByteCount: contentBytes, indexCount: store.indexList.count,
      storeID: store.storeID.description, recordCount: statistics.keys,
      lastCommit: statistics.lastCommit.value, commitsSinceFlush: statistics.commitsSinceFlush,
      memtableByteCount: statistics.memtableBytes, segments: Segments(statistics.segments),
      log: Log(fileCount: statistics.logs.count, byteCount: statistics.logs.bytes),
      checkpoint: statistics.checkpoint.map { Checkpoint(commit: $0.sequence.value, byteCount: $0.bytes) },
      cache: Cache(statistics.cache), memory: FirestoreMemory(of: store),
      snapshots: Snapshot.all(statistics.snapshots),
      deletedByteCountHeld: statistics.snapshots.deletedBytesHeld,
      contents: contents.map { Contents(count: $0.contents, fileCount: $0.files) },
      writing: FirestoreHealth.writing(statistics.writing).0,
      flushFailure: statistics.flushFailure?.description,
      damagedSegments: statistics.damagedSegments.map {
        DamagedSegment(file: $0.file, error: $0.error.description)
      },
      isCacheOfRemote: try store.isClientCache(),
      unreadableExpiredCounts: store.unreadableExpired(ofFirst: 1000).compactMapValues { $0 },
      recovery: Recovery(store.recoveryReport), durability: Durability(statistics.durability))
  }
}
