// The open streams of requests, which a server that shuts down has to end, and those whose clients have yet
// to fetch their results.

internal import ByteStore

/// A stream that can be ended from outside.
protocol DrainableStream: AnyObject, Sendable {
  /// Ends the stream, so that its client opens it again elsewhere.
  func drain()
  /// Whether its client fetches results, also after the stream has ended. The server that shuts down waits
  /// for `delivered`.
  var isFetched: Bool { get }
}

extension DrainableStream {
  var isFetched: Bool { false }
}

/// All open streams. Usable from any thread.
final class OpenStreams: Sendable {
  private struct State {
    var streams: [ObjectIdentifier: any DrainableStream] = [:]
    var isDraining = false
    /// Streams whose clients may not have all results yet.
    var fetchedCount = 0
  }

  private let state = Locked(State())
  private let allDelivered = Signal()

  /// Adds a stream. Returns false if the server is shutting down.
  func add(_ stream: any DrainableStream) -> Bool {
    state.withLock { state in
      guard !state.isDraining else { return false }
      state.streams[ObjectIdentifier(stream)] = stream
      if stream.isFetched { state.fetchedCount += 1 }
      return true
    }
  }

  func remove(_ stream: any DrainableStream) {
    let removed = state.withLock { $0.streams.removeValue(forKey: ObjectIdentifier(stream)) }
    withExtendedLifetime(removed) {}
  }

  /// The client of a stream that is fetched has all results, or does not come for them. Called once for each
  /// of them.
  func delivered() {
    state.withLock { $0.fetchedCount -= 1 }
    allDelivered.wake()
  }

  var isDraining: Bool { state.withLock { $0.isDraining } }
  var count: Int { state.withLock { $0.streams.count } }

  /// Ends all streams, and refuses new ones.
  func drain() {
    let streams = state.withLock { state in
      state.isDraining = true
      return Array(state.streams.values)
    }
    for stream in streams { stream.drain() }
  }

  /// Waits until all clients have their results, or for this time. Returns how many have not.
  func waitUntilDelivered(nanoseconds: UInt64) -> Int {
    state.withLock(
      wokenBy: allDelivered, within: nanoseconds, when: { $0.fetchedCount == 0 }, { $0.fetchedCount })
  }
}
