// The open streams of requests, which a server that shuts down has to end.

internal import ByteStore

/// A stream that can be ended from outside.
protocol DrainableStream: AnyObject, Sendable {
  /// Ends the stream, so that its client opens it again elsewhere.
  func drain()
}

/// All open streams. Usable from any thread.
final class OpenStreams: Sendable {
  private struct State {
    var streams: [ObjectIdentifier: any DrainableStream] = [:]
    var isDraining = false
  }

  private let state = Locked(State())

  /// Adds a stream. Returns false if the server is shutting down.
  func add(_ stream: any DrainableStream) -> Bool {
    state.withLock { state in
      guard !state.isDraining else { return false }
      state.streams[ObjectIdentifier(stream)] = stream
      return true
    }
  }

  func remove(_ stream: any DrainableStream) {
    let removed = state.withLock { $0.streams.removeValue(forKey: ObjectIdentifier(stream)) }
    withExtendedLifetime(removed) {}
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
}
