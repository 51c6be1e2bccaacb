// A transport that a test makes hold back or lose what the server sends on a stream.

import ByteStore
import FirestoreRemote
import HTTPClient

/// Passes requests on, and holds the answers of GET, by which the server sends its messages.
final class HeldTransport: WebTransport {
  enum Stream: String, CaseIterable {
    case listen = "Listen"
    case write = "Write"
  }

  private struct HeldEvent {
    let stream: Stream
    let request: Int
    let event: WebEvent
    let handler: @Sendable (WebEvent) -> Void

    var isBytes: Bool { if case .bytes = event { true } else { false } }
  }

  private struct State {
    var lastRequest = 0
    var heldStreams: Set<Stream> = []
    /// The events of held streams, in the order of their arrival.
    var held: [HeldEvent] = []
    /// The last request of each stream whose bytes are lost. Those of earlier requests are lost, too.
    var lastLost: [Stream: Int] = [:]
  }

  private let transport: any WebTransport
  private let state = Locked(State())

  init(_ transport: any WebTransport) { self.transport = transport }

  func renewConnections() { transport.renewConnections() }

  /// Holds what arrives on a stream from here on.
  func hold(_ stream: Stream) { state.withLock { _ = $0.heldStreams.insert(stream) } }

  /// Delivers what was held, in its order, and holds nothing more of the stream.
  func release(_ stream: Stream) {
    while true {
      let due = state.withLock { state -> [HeldEvent] in
        let due = state.held.filter { $0.stream == stream }
        state.held.removeAll { $0.stream == stream }
        // Events that arrive during a delivery come after it, so the stream is held until none is left.
        if due.isEmpty { state.heldStreams.remove(stream) }
        return due
      }
      if due.isEmpty { return }
      for event in due { event.handler(event.event) }
    }
  }

  /// Drops the bytes that were held and the later ones of the same requests, and holds nothing more of the
  /// stream.
  func lose(_ stream: Stream) {
    state.withLock { state in
      state.lastLost[stream] = state.lastRequest
      state.held.removeAll { $0.stream == stream && $0.isBytes }
    }
    release(stream)
  }

  func begin(
    _ request: WebRequest, _ handler: @escaping @Sendable (WebEvent) -> Void
  ) -> any WebExchange {
    let stream = Stream.allCases.first { request.target.contains("/\($0.rawValue)/channel") }
    guard request.method == "GET", let stream else { return transport.begin(request, handler) }
    let number = state.withLock { state -> Int in
      state.lastRequest += 1
      return state.lastRequest
    }
    let exchange = transport.begin(request) { [state] event in
      let arrived = HeldEvent(stream: stream, request: number, event: event, handler: handler)
      let isDue = state.withLock { state -> Bool in
        if arrived.isBytes, number <= state.lastLost[stream] ?? 0 { return false }
        guard state.heldStreams.contains(stream) else { return true }
        state.held.append(arrived)
        return false
      }
      if isDue { handler(event) }
    }
    return HeldExchange(exchange) { [state] in
      state.withLock { state in state.held.removeAll { $0.request == number } }
    }
  }

  private struct HeldExchange: WebExchange {
    private let exchange: any WebExchange
    private let dropEvents: @Sendable () -> Void

    init(_ exchange: any WebExchange, _ dropEvents: @escaping @Sendable () -> Void) {
      self.exchange = exchange
      self.dropEvents = dropEvents
    }

    func cancel() {
      dropEvents()
      exchange.cancel()
    }

    func taken(_ byteCount: Int) { exchange.taken(byteCount) }
  }
}
