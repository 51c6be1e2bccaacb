// A handler that records requests, and answers them as a test says.

import ByteStore
package import HTTPTransport

/// Records what a session passes to handlers, in order.
package final class ScriptedHandler: HTTPHandler {
  package enum Event: Sendable, Equatable {
    case request(method: String, target: String, authority: String, fields: HTTPFields)
    case body([UInt8])
    case finish
    case cancel
  }

  private struct State {
    var events: [Event] = []
    var responses: [HTTPResponse] = []
  }

  private let state = Locked(State())
  private let respond: @Sendable (HTTPRequest, HTTPResponse) -> Void
  private let finish: @Sendable (HTTPResponse) -> Void

  /// Creates a handler. `respond` is called at the beginning of each request, and `finish` at its end.
  package init(
    respond: @escaping @Sendable (HTTPRequest, HTTPResponse) -> Void = { _, _ in },
    finish: @escaping @Sendable (HTTPResponse) -> Void = { _ in }
  ) {
    self.respond = respond
    self.finish = finish
  }

  /// Names what was read of the request, if it has an origin.
  package func refusalFields(_ request: HTTPRequest) -> HTTPFields {
    guard let origin = request.fields["origin"] else { return HTTPFields() }
    return HTTPFields(["x-refused": "\(request.method) \(request.authority) \(origin)"])
  }

  package func begin(_ request: HTTPRequest, _ response: HTTPResponse) -> any HTTPBodyReceiver {
    state.withLock { state in
      state.events.append(
        .request(
          method: request.method, target: request.target, authority: request.authority,
          fields: request.fields))
      state.responses.append(response)
    }
    respond(request, response)
    return Receiver(self, response)
  }

  /// The events so far. Bytes of a body that came in pieces are joined.
  package var events: [Event] { state.withLock { $0.events } }

  /// The responses of all requests so far.
  package var responses: [HTTPResponse] { state.withLock { $0.responses } }

  /// The number of times that requests were cancelled.
  package var cancelCount: Int { events.count { $0 == .cancel } }

  private func add(_ event: Event) {
    state.withLock { state in
      if case .body(let bytes) = event, case .body(let before)? = state.events.last {
        state.events[state.events.count - 1] = .body(before + bytes)
      } else {
        state.events.append(event)
      }
    }
  }

  private final class Receiver: HTTPBodyReceiver {
    private let handler: ScriptedHandler
    private let response: HTTPResponse

    init(_ handler: ScriptedHandler, _ response: HTTPResponse) {
      self.handler = handler
      self.response = response
    }

    func receive(_ bytes: ArraySlice<UInt8>) { handler.add(.body(Array(bytes))) }

    func finish() {
      handler.add(.finish)
      handler.finish(response)
    }

    func cancel() { handler.add(.cancel) }
  }
}
