// The way from the authority to one watch stream of a client: the queue on which the authority's session
// works, and the messages that have not arrived yet. The history decides when either continues.

import ByteStore
import OfflineSync

final class StreamLine: Sendable {
  private struct State {
    var jobs: [@Sendable () -> Void] = []
    var messages: [Message] = []
    var end: RemoteError?
    var isClosed = false
    var lateMessages = 0
  }

  struct Message: Sendable {
    var change: WatchChange
    var version: SnapshotVersion
    /// The beginning of the life in which the authority sent the message.
    var floor: SnapshotVersion
  }

  private let state = Locked(State())

  // MARK: The authority's side

  func enqueue(_ job: @escaping @Sendable () -> Void) { state.withLock { $0.jobs.append(job) } }

  func send(_ change: WatchChange, _ version: SnapshotVersion, floor: SnapshotVersion) {
    state.withLock { state in
      guard !state.isClosed else { return state.lateMessages += 1 }
      state.messages.append(Message(change: change, version: version, floor: floor))
    }
  }

  /// Ends the stream after the messages that are on their way.
  func end(_ error: RemoteError) { state.withLock { $0.end = error } }

  // MARK: The history's side

  /// The error with which the authority has ended the stream.
  var end: RemoteError? { state.withLock { $0.end } }

  /// Runs the oldest job of the session. Returns false if there is none.
  func runJob() -> Bool {
    let job = state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
    job?()
    return job != nil
  }

  func takeMessage() -> Message? {
    state.withLock { $0.messages.isEmpty ? nil : $0.messages.removeFirst() }
  }

  var hasJobs: Bool { state.withLock { !$0.jobs.isEmpty } }

  /// The number of messages that have not arrived.
  var messageCount: Int { state.withLock { $0.messages.count } }

  /// Drops everything that is on its way. Messages that the authority sends from now on count as late.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.messages = []
    }
  }

  /// Runs the jobs that are left. Returns the number of messages that were sent after the close.
  func drain() -> Int {
    while runJob() {}
    return state.withLock { $0.lateMessages }
  }
}
