// A moment that several readers share, and that ends with the last of them.

internal import Authority
internal import ByteStore
internal import OfflineSync

/// A moment of a database, and the time that its readers are told. Closed with its last reference.
final class SharedMoment: Sendable {
  let moment: any BackendMoment
  /// The time at which the documents are read.
  let readTime: SnapshotVersion

  init(_ moment: any BackendMoment, readTime: SnapshotVersion) {
    self.moment = moment
    self.readTime = readTime
  }

  deinit { moment.close() }
}

/// The moments that are in use, by their read times. A read at the time of one of them needs no other.
final class HeldMoments: Sendable {
  private struct Entry: @unchecked Sendable {
    // The conformance is unchecked, because the reference is not assigned after initialization.
    weak var moment: SharedMoment?
  }

  private struct State {
    var entries: [SnapshotVersion: Entry] = [:]
    /// The number of entries at which those of ended moments are removed.
    var sweepCount = 16
  }

  private let state = Locked(State())

  func add(_ moment: SharedMoment) {
    state.withLock { state in
      if state.entries.count >= state.sweepCount {
        state.entries = state.entries.filter { $0.value.moment != nil }
        state.sweepCount = max(16, 2 * state.entries.count)
      }
      state.entries[moment.readTime] = Entry(moment: moment)
    }
  }

  func moment(at time: SnapshotVersion) -> SharedMoment? { state.withLock { $0.entries[time]?.moment } }
}
