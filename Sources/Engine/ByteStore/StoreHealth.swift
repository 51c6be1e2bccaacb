// The health of a store, for monitoring.
//
// Collecting it reads nothing from disk. It never takes the writer's lock, which a leader holds while it
// syncs. A device that does not answer therefore does not block the question whether the store is healthy.

import Synchronization

package struct StoreHealth: Sendable {
  package enum Writing: Sendable, Equatable {
    case possible
    case readOnly
    /// The last put was refused because the disk was full. Removals are accepted.
    case diskFull(SystemFailure)
    /// Flushes fail, and the WAL has reached its limit.
    case flushImpossible(ByteStoreError)
    /// A write failed with an unknown outcome. Writes are possible again after the store has been reopened.
    case poisoned(SystemFailure)
    case closed
  }

  package struct Flushes: Sendable, Equatable {
    package var succeeded: UInt64
    package var failed: UInt64
    /// The wall-clock time of the last success, in microseconds since 1970.
    package var lastSuccess: Int64?
    /// The error of the last flush if that flush failed.
    package var failure: ByteStoreError?
    /// The wall-clock time since when all flushes have failed, in microseconds since 1970.
    package var failingSince: Int64?
  }

  package var writing: Writing
  /// The wall-clock time of the first failure that explains `writing`, in microseconds since 1970; nil if
  /// there was no failure.
  package var since: Int64?
  /// The number of WAL bytes that an open would replay.
  package var walBytes: UInt64
  package var memtableBytes: Int
  package var flushes: Flushes
  /// Segments that a flush could not read. Flushes skip them until the store is reopened.
  package var damagedSegments: Int
  package var segments: Statistics.Segments
  package var cache: Statistics.Cache
  /// The times of commits since the open.
  package var latencies: LatencyHistogram
  /// The number of commits that wait for a leader.
  package var commitsWaiting: Int
  package var snapshots: Statistics.Snapshots
}

extension ByteStore {
  package var health: StoreHealth {
    // The key directory is read in place. A commit would have to copy parts of a frozen one.
    let (segments, memtableBytes) = table.withTable { (Statistics.Segments(of: $0), $0.memtable.bytes) }
    let cache = Statistics.Cache(table.cache.statistics)
    let snapshots = snapshots.statistics(now: platform.clock.monotonicNanoseconds())
    return state.withLock { state in
      let (writing, since) = writing(state)
      return StoreHealth(
        writing: writing, since: since, walBytes: walBytes.load(ordering: .relaxed),
        memtableBytes: memtableBytes,
        flushes: StoreHealth.Flushes(
          succeeded: state.flushCounts.succeeded, failed: state.flushCounts.failed,
          lastSuccess: state.flushCounts.lastSuccess, failure: state.failedFlush?.error,
          failingSince: state.failedFlush?.since),
        damagedSegments: state.damagedSegments.count, segments: segments, cache: cache,
        latencies: state.latencies, commitsWaiting: state.queue.count, snapshots: snapshots)
    }
  }

  /// Whether puts are accepted, or the reason why not and the time of its first failure.
  func writing(_ state: borrowing State) -> (writing: StoreHealth.Writing, since: Int64?) {
    switch writeRefusal(state) {
    case .outcomeUnknown(let cause): return (.poisoned(cause), state.poison?.since)
    case .some: return (.closed, nil)
    case nil: break
    }
    if options.isReadOnly { return (.readOnly, nil) }
    if let (error, since) = refusalOfPutsAtLogLimit(state) { return (.flushImpossible(error), since) }
    if let full = state.fullDisk { return (.diskFull(full.cause), full.since) }
    return (.possible, nil)
  }
}
