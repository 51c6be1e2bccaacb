// Collects the health of a database.
//
// The call reads only memory, and takes no lock that is held during disk access. It therefore returns at once
// even if the disk does not answer.

import ByteStore
import DocumentStore
private import FirebaseCore
private import Foundation
private import OfflineSync

extension Firestore {
  /// Returns the health of the database. Never fails, and neither opens the database nor waits for the disk.
  /// Unlike the other calls, it also works after the termination.
  public func health() -> FirestoreHealth {
    let (client, isTerminated) = existingClient
    guard let client else { return FirestoreHealth(closed: isTerminated ? .terminated : .notOpen) }
    if let store = client.store.openView?.store {
      return FirestoreHealth(
        store.health, of: store, pendingWriteCount: client.store.unfinishedWriteCount + client.outboxCount,
        listenerCount: client.listenerCount,
        receiving: client.isPausedByFullDisk.map { $0 ? .diskFull : .possible })
    }
    let failure = client.store.openFailure
    return FirestoreHealth(
      closed: failure == nil ? .notOpen : .openFailed, reason: failure?.error.description,
      since: failure?.since, pendingWriteCount: client.store.unfinishedWriteCount,
      listenerCount: client.listenerCount)
  }
}

extension FirestoreHealth {
  /// The health of a database that is not open.
  fileprivate init(
    closed writing: Writing, reason: String? = nil, since: Date? = nil, pendingWriteCount: Int = 0,
    listenerCount: Int = 0
  ) {
    self.init(
      writing: writing, receiving: nil, reason: reason, since: since, walByteCount: 0, memtableByteCount: 0,
      flushes: Flushes(
        successCount: 0, failureCount: 0, lastSuccess: nil, failure: nil, failingSince: nil),
      compactionDebtByteCount: 0, damagedSegmentCount: 0, memory: nil,
      cache: FirestoreStatistics.Cache(byteCount: 0, byteCountMax: 0, hitCount: 0, missCount: 0),
      commitLatency: Latency(LatencyHistogram()), pendingWriteCount: pendingWriteCount,
      listenerCount: listenerCount, snapshots: [], recovery: nil, durability: nil)
  }

  /// The health of an open database.
  init(
    _ health: StoreHealth, of store: DocumentStore, pendingWriteCount: Int, listenerCount: Int,
    receiving: Receiving? = nil
  ) {
    let (writing, reason) = Self.writing(health.writing)
    self.init(
      writing: writing, receiving: receiving, reason: reason,
      since: health.since.map { Date(microseconds: $0) },
      walByteCount: health.walBytes, memtableByteCount: health.memtableBytes,
      flushes: Flushes(health.flushes), compactionDebtByteCount: health.segments.deadBytes,
      damagedSegmentCount: health.damagedSegments, memory: FirestoreMemory(of: store),
      cache: FirestoreStatistics.Cache(health.cache),
      commitLatency: Latency(health.latencies), pendingWriteCount: pendingWriteCount,
      listenerCount: listenerCount, snapshots: FirestoreStatistics.Snapshot.all(health.snapshots),
      recovery: FirestoreStatistics.Recovery(store.recoveryReport),
      durability: FirestoreStatistics.Durability(store.bytes.durability))
  }

  /// Returns the condition and the sentence with its cause.
  static func writing(_ writing: StoreHealth.Writing) -> (Writing, reason: String?) {
    switch writing {
    case .possible: (.possible, nil)
    case .diskFull(let cause): (.diskFull, cause.description)
    case .flushImpossible(let error): (.flushImpossible, error.description)
    case .poisoned(let cause): (.poisoned, cause.description)
    case .readOnly: (.readOnly, nil)
    case .closed: (.terminated, nil)
    }
  }
}

extension FirestoreHealth.Flushes {
  fileprivate init(_ flushes: StoreHealth.Flushes) {
    self.init(
      successCount: flushes.succeeded, failureCount: flushes.failed,
      lastSuccess: flushes.lastSuccess.map { Date(microseconds: $0) },
      failure: flushes.failure?.description,
      failingSince: flushes.failingSince.map { Date(microseconds: $0) })
  }
}

extension FirestoreHealth.Latency {
  fileprivate init(_ histogram: LatencyHistogram) {
    self.init(
      count: histogram.count, secondsMax: Double(histogram.nanosecondsMax) / 1e9,
      buckets: histogram.buckets.map { bucket in
        Bucket(secondsEnd: bucket.nanosecondsEnd.map { Double($0) / 1e9 }, count: bucket.count)
      })
  }
}

extension Date {
  fileprivate init(microseconds: Int64) { self.init(timeIntervalSince1970: Double(microseconds) / 1e6) }
}
