// A state of the store that stays as it is, whatever is committed, flushed or compacted meanwhile.
//
// A snapshot is a frozen table. It shares its pages with the store's own, and holds on to the bodies of
// commits and to the segments that it needs: a segment that compaction has deleted keeps its space on disk
// until the last snapshot of it is gone.

import Synchronization

/// Reads at one commit. Ends with `close()`, or with its last reference; `ByteStore.statistics` tells how
/// long the oldest one has been open.
package final class Snapshot: Sendable {
  /// The last commit that it sees.
  package let sequence: SequenceNumber
  /// The number of keys.
  package let count: Int
  private let table: SharedTable
  private let store: ByteStore
  private let ticket: UInt64
  private let isOpen = Atomic(true)

  init(_ table: Table, of store: ByteStore, ticket: UInt64) {
    sequence = table.published
    count = table.keys
    self.table = SharedTable(table, store.table.cache, path: store.path)
    self.store = store
    self.ticket = ticket
  }

  deinit { close() }

  /// Lets go of what only this snapshot needs. Reads fail from then on.
  package func close() {
    guard isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return }
    store.snapshots.remove(ticket)
    table.empty()
  }

  /// The value of a key into `buffer`, or false if there is none.
  package func read(
    _ key: [UInt8], into buffer: inout ReadBuffer
  ) throws(ByteStoreError) -> Bool {
    try checkReadable()
    let isThere = try table.read(key, into: &buffer)
    // In a table that was emptied meanwhile there is nothing.
    if !isThere { try checkReadable() }
    return isThere
  }

  package func value(for key: [UInt8]) throws(ByteStoreError) -> [UInt8]? {
    var buffer = ReadBuffer()
    return try read(key, into: &buffer) ? Array(copying: buffer.bytes) : nil
  }

  /// Hands over every key with its value, in the order in which they lie on disk.
  package func forEach(
    _ body: (_ key: RawSpan, _ value: RawSpan) -> Void
  ) throws(ByteStoreError) {
    try checkReadable()
    try table.forEachEntry { _, key, value in body(key, value) }
    try checkReadable()
  }

  private func checkReadable() throws(ByteStoreError) {
    try store.checkReadable()
    guard isOpen.load(ordering: .acquiring) else { throw .closed(directory: store.path) }
  }
}

extension ByteStore {
  /// The store as of its last commit.
  package func snapshot() throws(ByteStoreError) -> Snapshot {
    try checkReadable()
    let ticket = snapshots.add(platform.clock.monotonicNanoseconds(), asOf: lastCommit)
    let table = table.frozen()
    snapshots.settle(ticket, at: table.published)
    return Snapshot(table, of: self, ticket: ticket)
  }
}

/// Has a moment counted among the open snapshots for as long as it is held.
package final class SnapshotLease: Sendable {
  private let registry: SnapshotRegistry
  private let ticket: UInt64

  fileprivate init(_ registry: SnapshotRegistry, ticket: UInt64) {
    self.registry = registry
    self.ticket = ticket
  }

  deinit { registry.remove(ticket) }
}

extension ByteStore {
  package func lease(_ moment: Moment) -> SnapshotLease {
    let ticket = snapshots.add(platform.clock.monotonicNanoseconds(), asOf: moment.sequence)
    return SnapshotLease(snapshots, ticket: ticket)
  }
}

/// The snapshots that are open, so that a forgotten one is found.
final class SnapshotRegistry: Sendable {
  struct Entry: Sendable {
    var openedAt: UInt64
    var sequence: SequenceNumber
  }

  private struct State {
    var next: UInt64 = 0
    var open: [UInt64: Entry] = [:]
    /// Deleted while a snapshot was open. Their files go with the last reference.
    var deleted: [Deleted] = []
  }

  private struct Deleted {
    weak var segment: Segment?
    var bytes: UInt64
  }

  private let state = Locked(State())

  func add(_ now: UInt64, asOf sequence: SequenceNumber) -> UInt64 {
    state.withLock { state in
      state.next += 1
      state.open[state.next] = Entry(openedAt: now, sequence: sequence)
      return state.next
    }
  }

  /// What the snapshot really sees: a commit may have come in between.
  func settle(_ ticket: UInt64, at sequence: SequenceNumber) {
    state.withLock { $0.open[ticket]?.sequence = sequence }
  }

  func remove(_ ticket: UInt64) { state.withLock { $0.open[ticket] = nil } }

  var count: Int { state.withLock { $0.open.count } }

  /// Oldest first.
  var entries: [Entry] {
    state.withLock { $0.open }.sorted { $0.key < $1.key }.map(\.value)
  }

  /// A segment lost its name; its space comes back when nobody has it open any more.
  func noteDeleted(_ segment: Segment) {
    state.withLock { state in
      state.deleted.removeAll { $0.segment == nil }
      state.deleted.append(Deleted(segment: segment, bytes: segment.entry.bytes))
    }
  }

  var deletedBytesHeld: UInt64 {
    state.withLock { state in
      state.deleted.removeAll { $0.segment == nil }
      return state.deleted.reduce(0) { $0 + $1.bytes }
    }
  }
}
