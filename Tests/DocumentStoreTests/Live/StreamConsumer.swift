// A consumer of a stream, whose queue the test runs.

import ByteStore

@testable import DocumentStore

final class StreamConsumer: Sendable {
  private struct State {
    var queue: [@Sendable () -> Void] = []
    var moments: [LiveMoment] = []
  }

  private let state: Locked<State>
  let stream: LiveStream

  init(_ store: DocumentStore) {
    let state = Locked(State())
    self.state = state
    stream = LiveStream(of: store) { body in
      state.withLock { $0.queue.append(body) }
    } handler: { moment in
      state.withLock { $0.moments.append(moment) }
    }
  }

  init(_ live: LiveQueries) {
    let state = Locked(State())
    self.state = state
    stream = LiveStream(of: live, path: "/test") { body in
      state.withLock { $0.queue.append(body) }
    } handler: { moment in
      state.withLock { $0.moments.append(moment) }
    }
  }

  var moments: [LiveMoment] { state.withLock { $0.moments } }

  /// The number of deliveries that wait on the queue.
  var waitingCount: Int { state.withLock { $0.queue.count } }

  /// Runs the deliveries that are on the queue. Returns the new moments.
  @discardableResult
  func run() -> [LiveMoment] {
    let before = moments.count
    while let body = state.withLock({ $0.queue.isEmpty ? nil : $0.queue.removeFirst() }) { body() }
    return Array(moments.dropFirst(before))
  }

  /// The state of a query in the last moment that has it.
  func state(_ id: Int32) -> LiveQueryState? {
    moments.last { $0.queries[id] != nil }.flatMap { try? $0.queries[id]?.get() }
  }

  func ids(_ id: Int32) -> [String]? { state(id)?.documents.map(\.path.id) }

  func departure(of document: String, from id: Int32) -> Departure? {
    state(id)?.changes.first { $0.path.id == document }?.departure
  }
}
