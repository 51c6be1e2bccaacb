// The registry of open snapshots. It makes it possible to find a snapshot that was never closed.

/// The open snapshots, with the time at which each was opened, so that a leaked snapshot can be found.
final class SnapshotRegistry: Sendable {
  struct Entry: Sendable {
    var openedAt: UInt64
    var sequence: SequenceNumber
  }

  private struct State {
    var next: UInt64 = 0
    var open: [UInt64: Entry] = [:]
    /// Deleted segments that may still be in use. The disk space of a segment is freed when the last
    /// reference to it is released.
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

  /// Records the commit that the snapshot actually sees. It may be later than the registered one, because a
  /// commit may have been applied since the registration.
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
