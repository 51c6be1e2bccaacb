// The stream of a response, without a connection.

package import HTTPTransport

/// Keeps what a response sends. Used on its loop only.
package final class RecordedSink: ResponseSink {
  package enum Event: Equatable {
    case begin(Int, HTTPFields)
    case send([UInt8])
    case end(HTTPFields)
    case abort
  }

  package private(set) var events: [Event] = []
  package private(set) var refusals: [Refusal] = []

  package init() {}

  package func begin(_ status: Int, _ fields: HTTPFields) { events.append(.begin(status, fields)) }
  package func send(_ bytes: [UInt8]) { events.append(.send(bytes)) }
  package func end(_ trailers: HTTPFields) { events.append(.end(trailers)) }
  package func abort() { events.append(.abort) }
  package func refused(_ refusal: Refusal, detail: String) { refusals.append(refusal) }

  /// The bytes of the body so far.
  package var body: [UInt8] {
    events.flatMap { event -> [UInt8] in if case .send(let bytes) = event { bytes } else { [] } }
  }

  /// The status of gRPC, from the trailers or from the only fields.
  package var status: (code: String?, message: String?) {
    for event in events.reversed() {
      switch event {
      case .begin(_, let fields), .end(let fields):
        if let code = fields["grpc-status"] { return (code, fields["grpc-message"]) }
      case .send, .abort: break
      }
    }
    return (nil, nil)
  }
}
