// MVCC snapshots: one committed state, unaffected by later commits, flushes and compactions.
//
// A snapshot is a frozen copy of the key directory, whose pages are shared copy-on-write. It pins the
// memtable bodies and the segments that it needs. A segment that compaction deleted keeps its disk space
// until its last snapshot is closed.

import Synchronization

/// Reads at one commit. Ends with `close()` or with its last reference. `ByteStore.statistics` reports
/// the age of the oldest snapshot.
package final class Snapshot: Sendable {
  /// The last visible commit.
  package let sequence: SequenceNumber
  /// The number of keys.
  package let count: Int
  private let table: SharedKeyDirectory
  private let store: ByteStore
  private let ticket: UInt64
  private let isOpen = Atomic(true)

  init(_ table: KeyDirectory, of store: ByteStore, ticket: UInt64) {
    sequence = table.published
    count = table.keys
    self.table = SharedKeyDirectory(table, store.table.cache, path: store.path)
    self.store = store
    self.ticket = ticket
  }

  deinit { close() }

  /// Releases everything that only this snapshot pins. Later reads fail.
  package func close() {
    guard isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return }
    store.snapshots.remove(ticket)
    table.empty()
  }

  /// Reads the value of a key into `buffer`; returns false if there is none.
  package func read(
    _ key: [UInt8], into buffer: inout ReadBuffer
  ) throws(ByteStoreError) -> Bool {
    try checkReadable()
    let isThere = try table.read(key, into: &buffer)
    // A snapshot that was closed meanwhile has an empty key directory.
    if !isThere { try checkReadable() }
    return isThere
  }

  package func value(for key: [UInt8]) throws(ByteStoreError) -> [UInt8]? {
    var buffer = ReadBuffer()
    return try read(key, into: &buffer) ? Array(copying: buffer.bytes) : nil
  }

  /// Passes every key and value to `body`, in disk order.
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
  /// A snapshot of the last commit.
  package func snapshot() throws(ByteStoreError) -> Snapshot {
    try checkReadable()
    let ticket = snapshots.add(platform.clock.monotonicNanoseconds(), asOf: lastCommit)
    let table = table.frozen()
    snapshots.setSequence(ticket, at: table.published)
    return Snapshot(table, of: self, ticket: ticket)
  }
}

/// Registers a `ReadView` as an open snapshot for as long as this object exists.
package final class SnapshotPin: Sendable {
  private let registry: SnapshotRegistry
  private let ticket: UInt64

  fileprivate init(_ registry: SnapshotRegistry, ticket: UInt64) {
    self.registry = registry
    self.ticket = ticket
  }

  deinit { registry.remove(ticket) }
}

extension ByteStore {
  package func pinSnapshot(_ moment: ReadView) -> SnapshotPin {
    let ticket = snapshots.add(platform.clock.monotonicNanoseconds(), asOf: moment.sequence)
    return SnapshotPin(snapshots, ticket: ticket)
  }
}

/// The open snapshots, so that a leaked one can be found.
final class SnapshotRegistry: Sendable {
  struct Entry: Sendable {
    var openedAt: UInt64
    var sequence: SequenceNumber
  }

  private struct State {
    var next: UInt64 = 0
    var open: [UInt64: Entry] = [:]
    /// Segments deleted while a snapshot was open. Their disk space is freed with the last reference.
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

  /// Records the commit that the snapshot actually sees, because a commit may have come in between.
  func setSequence(_ ticket: UInt64, at sequence: SequenceNumber) {
    state.withLock { $0.open[ticket]?.sequence = sequence }
  }

  func remove(_ ticket: UInt64) { state.withLock { $0.open[ticket] = nil } }

  var count: Int { state.withLock { $0.open.count } }

  /// Oldest first.
  var entries: [Entry] {
    state.withLock { $0.open }.sorted { $0.key < $1.key }.map(\.value)
  }

  /// Records a deleted segment. Its disk space is freed when no reader has it open any more.
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
