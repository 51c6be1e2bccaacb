// Connections whose other end is a test.

import ByteStore
import FirestoreRemote
import FirestoreWire
import HTTPClient
import OfflineSync

/// Calls with streams that a test answers.
final class ScriptedChannels: MessageChannels {
  private let opened = Locked<[ScriptedChannel]>([])

  /// All calls, oldest first.
  var all: [ScriptedChannel] { opened.withLock { $0 } }

  func open(
    _ method: String, fields: [WebRequest.Field], _ handler: @escaping @Sendable (MessageEvent) -> Void
  ) -> any MessageChannel {
    let channel = ScriptedChannel(method, fields, handler)
    opened.withLock { $0.append(channel) }
    return channel
  }
}

/// One call.
final class ScriptedChannel: MessageChannel {
  private struct State {
    var messages: [[UInt8]] = []
    var isClosed = false
    var isPaused = false
  }

  let method: String
  let fields: [WebRequest.Field]
  private let handler: @Sendable (MessageEvent) -> Void
  private let state = Locked(State())

  init(_ method: String, _ fields: [WebRequest.Field], _ handler: @escaping @Sendable (MessageEvent) -> Void)
  {
    self.method = method
    self.fields = fields
    self.handler = handler
  }

  func send(_ message: [UInt8]) { state.withLock { $0.messages.append(message) } }
  func close() { state.withLock { $0.isClosed = true } }
  func pause() { state.withLock { $0.isPaused = true } }
  func resume() { state.withLock { $0.isPaused = false } }

  // MARK: The test's side

  var isPaused: Bool { state.withLock { $0.isPaused } }
  var isClosed: Bool { state.withLock { $0.isClosed } }
  var count: Int { state.withLock { $0.messages.count } }

  /// The message that the client has sent at this place.
  func message<Message: WireMessage>(_ index: Int, _ type: Message.Type = Message.self) throws -> Message {
    try Message(json: state.withLock { $0.messages[index] })
  }

  func deliver(_ message: some WireMessage) throws { handler(.message(try message.json())) }
  func deliver(_ text: String) { handler(.message(Array(text.utf8))) }
  func end(_ error: RemoteError?) { handler(.closed(error)) }
}

/// Requests that a test answers.
final class ScriptedTransport: WebTransport {
  private let begun = Locked<[ScriptedExchange]>([])

  /// All requests, oldest first.
  var all: [ScriptedExchange] { begun.withLock { $0 } }

  func begin(_ request: WebRequest, _ handler: @escaping @Sendable (WebEvent) -> Void) -> any WebExchange {
    let exchange = ScriptedExchange(request, handler)
    begun.withLock { $0.append(exchange) }
    return exchange
  }
}

/// One request.
final class ScriptedExchange: WebExchange {
  let request: WebRequest
  private let handler: @Sendable (WebEvent) -> Void
  private let cancelled = Locked(false)
  private let pieces = Locked<[Int]>([])

  init(_ request: WebRequest, _ handler: @escaping @Sendable (WebEvent) -> Void) {
    self.request = request
    self.handler = handler
  }

  func cancel() { cancelled.withLock { $0 = true } }
  func taken(_ byteCount: Int) { pieces.withLock { $0.append(byteCount) } }

  // MARK: The test's side

  /// The sizes of the pieces that the client has taken.
  var takenPieces: [Int] { pieces.withLock { $0 } }

  /// Begins an answer, and delivers pieces of it.
  func deliver(status: Int = 200, _ pieces: String...) {
    handler(.head(status: status, fields: [:]))
    for piece in pieces { handler(.bytes(Array(piece.utf8))) }
  }

  func end() { handler(.ended(nil)) }

  var isCancelled: Bool { cancelled.withLock { $0 } }

  func answer(status: Int = 200, _ text: String) {
    handler(.head(status: status, fields: [:]))
    for byte in text.utf8 { handler(.bytes([byte])) }
    handler(.ended(nil))
  }

  func fail(_ failure: WebFailure) { handler(.ended(failure)) }
}

extension [WebRequest.Field] {
  subscript(name: String) -> String? { first { $0.name == name }?.value }
}
