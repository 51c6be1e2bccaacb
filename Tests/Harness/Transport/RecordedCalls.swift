// A handler of gRPC that records its calls.

import ByteStore
package import HTTPTransport

/// Records what an exchange passes to its handler, and answers as a test says.
package final class RecordedCalls: GRPCHandler {
  package enum Event: Sendable, Equatable {
    case call(String, timeoutNanoseconds: UInt64?)
    case message([UInt8])
    case finish
    case cancel
  }

  private let recorded = Locked<[Event]>([])
  private let respond: @Sendable (Event, GRPCAnswer) -> Void

  /// Creates a handler. `respond` is called after each event.
  package init(respond: @escaping @Sendable (Event, GRPCAnswer) -> Void = { _, _ in }) {
    self.respond = respond
  }

  package var events: [Event] { recorded.withLock { $0 } }

  package func begin(_ call: GRPCRequest, _ answer: GRPCAnswer) -> any GRPCReceiver {
    add(.call(call.method, timeoutNanoseconds: call.timeoutNanoseconds), answer)
    return Receiver(self, answer)
  }

  private func add(_ event: Event, _ answer: GRPCAnswer) {
    recorded.withLock { $0.append(event) }
    respond(event, answer)
  }

  private final class Receiver: GRPCReceiver {
    private let calls: RecordedCalls
    private let answer: GRPCAnswer

    init(_ calls: RecordedCalls, _ answer: GRPCAnswer) {
      self.calls = calls
      self.answer = answer
    }

    func receive(_ message: [UInt8]) { calls.add(.message(message), answer) }
    func finish() { calls.add(.finish, answer) }
    func cancel() { calls.add(.cancel, answer) }
  }
}

/// A call of gRPC on a loop without a thread.
package struct CallPeer {
  package let loop = InlineLoop()
  package let pool = InlinePool()
  package let sink = RecordedSink()
  package let exchange: GRPCExchange

  /// Begins a call with these fields, which replace those of a usual call.
  package init(
    _ handler: any GRPCHandler, fields: HTTPFields = CallPeer.fields(), method: String = "POST",
    limits: HTTPLimits = HTTPLimits(), budget: HeldMemory = .unlimited
  ) {
    let request = HTTPRequest(
      method: method, target: "/service/Method", authority: "localhost", fields: fields,
      connection: ConnectionInfo(number: 1, peer: "127.0.0.1", isLoopback: true, version: 2))
    let response = HTTPResponse(loop, sink, queue: ResponseQueue(on: pool), budget: budget)
    exchange = GRPCExchange(request, response, handler: handler, limits: limits)
  }

  /// The fields of a usual call.
  package static func fields(timeout: some Collection<UInt8> = [UInt8]()) -> HTTPFields {
    var fields = HTTPFields(["content-type": "application/grpc", "te": "trailers"])
    if !timeout.isEmpty { fields.append(name: "grpc-timeout".utf8, value: timeout) }
    return fields
  }

  /// A message with its prefix, written without the code that is tested.
  package static func frame(_ message: [UInt8], flag: UInt8 = 0) -> [UInt8] {
    let count = message.count
    return [
      flag, UInt8(count >> 24 & 0xFF), UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF),
      UInt8(count & 0xFF),
    ]
      + message
  }
}
