// A consumer of a stream, whose queue the test runs.

import ByteStore

@testable import DocumentStore

final class StreamConsumer: Sendable {
  private struct State {
    var queue: [@Sendable () -> Void] = []
    var snapshots: [StreamSnapshot] = []
  }

  private let state: Locked<State>
  let stream: LiveStream

  init(_ store: DocumentStore) {
    let state = Locked(State())
    self.state = state
    stream = LiveStream(of: store) { body in
      state.withLock { $0.queue.append(body) }
    } handler: { snapshot in
      state.withLock { $0.snapshots.append(snapshot) }
    }
  }

  init(_ live: LiveQueries) {
    let state = Locked(State())
    self.state = state
    stream = LiveStream(of: live, path: "/test") { body in
      state.withLock { $0.queue.append(body) }
    } handler: { snapshot in
      state.withLock { $0.snapshots.append(snapshot) }
    }
  }

  var snapshots: [StreamSnapshot] { state.withLock { $0.snapshots } }

  /// The number of deliveries that wait on the queue.
  var waitingCount: Int { state.withLock { $0.queue.count } }

  /// Runs the deliveries that are on the queue. Returns the new snapshots.
  @discardableResult
  func run() -> [StreamSnapshot] {
    let before = snapshots.count
    while let body = state.withLock({ $0.queue.isEmpty ? nil : $0.queue.removeFirst() }) { body() }
    return Array(snapshots.dropFirst(before))
  }

  /// The state of a query in the last snapshot that has it.
  func state(_ id: Int32) -> LiveQueryState? {
    snapshots.last { $0.queries[id] != nil }.flatMap { try? $0.queries[id]?.get() }
  }

  func ids(_ id: Int32) -> [String]? { state(id)?.documents.map(\.path.id) }

  func departure(of document: String, from id: Int32) -> Departure? {
    state(id)?.changes.first { $0.path.id == document }?.departure
  }
}
