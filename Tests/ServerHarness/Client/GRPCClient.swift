// A client of gRPC over one connection of HTTP/2, for tests and measurements.
//
// A thread of its own reads and writes, and calls the handlers. So many calls can be open at once, each
// without a thread that waits.

#if Server
import Foundation

package struct GRPCClientOptions: Sendable {
  /// The authority of requests. Nil is the address of the server.
  package var authority: String?
  /// Further fields of each request, with names in lower case.
  package var metadata: [(name: String, value: String)] = []
  /// The time after which unary calls end without an answer.
  package var secondsMax = 60.0
  /// Makes the cipher of the connection. Nil means plain bytes, with HTTP/2 from the first byte on.
  package var makeCipher: (@Sendable () throws -> any ConnectionCipher)?

  package init(metadata: [(name: String, value: String)] = []) { self.metadata = metadata }
}

/// A connection to a server. Usable from any thread. The handlers of calls run on the thread of the client,
/// and must not block.
package final class GRPCClient: Sendable {
  private let thread: ClientThread
  private let session: ClientSession
  private let counters: ClientCounters
  private let secondsMax: Double

  /// Connects to a server.
  package init(host: String = "127.0.0.1", port: Int, options: GRPCClientOptions = GRPCClientOptions()) throws
  {
    let fields = [
      (":method", "POST"), (":scheme", options.makeCipher == nil ? "http" : "https"),
      (":authority", options.authority ?? "\(host):\(port)"), ("te", "trailers"),
      ("content-type", "application/grpc"), ("user-agent", "dugout-tests"),
    ]
    session = try ClientSession(fields.map { (name: $0, value: $1) } + options.metadata)
    counters = session.counters
    secondsMax = options.secondsMax
    thread = try ClientThread(
      try ClientSocket(host: host, port: port), session, try options.makeCipher?())
    thread.start(named: "grpc client of \(port)")
  }

  deinit { close() }

  /// Ends all calls and the connection.
  package func close() { thread.stop() }

  /// The bytes of all frames that the server has sent.
  package var bytesReceived: Int { counters.bytesReceived }
  /// The bytes of all frames that were sent.
  package var bytesSent: Int { counters.bytesSent }

  // MARK: Unary calls

  /// Calls a method such as `/google.firestore.v1.Firestore/Commit`.
  package func call(
    _ method: String, _ request: [UInt8], _ done: @escaping @Sendable (GRPCReply) -> Void
  ) {
    let messages = MessageList()
    let end: @Sendable (GRPCEnd) -> Void = { done(GRPCReply(messages: messages.all, end: $0)) }
    let deadline = ContinuousClock.now + .seconds(secondsMax)
    let isBegun = thread.run { [session] in
      let call = ClientCall(onMessage: { messages.append($0) }, onEnd: end)
      guard let id = session.begin(method, call, deadline: deadline) else { return }
      session.send(request, on: id, isLast: true)
    }
    if !isBegun { end(Self.closed) }
  }

  /// Calls a method, and waits for the answer. Not to be used in a handler.
  package func call(_ method: String, _ request: [UInt8]) -> GRPCReply {
    let answer = AnswerBox()
    call(method, request) { answer.put($0) }
    return answer.wait()
  }

  package func call(_ method: String, _ request: [UInt8]) async -> GRPCReply {
    await withCheckedContinuation { continuation in
      call(method, request) { continuation.resume(returning: $0) }
    }
  }

  // MARK: Streams

  /// Opens a stream in both directions.
  package func open(
    _ method: String, onMessage: @escaping @Sendable ([UInt8]) -> Void,
    onEnd: @escaping @Sendable (GRPCEnd) -> Void
  ) -> GRPCStream {
    let stream = GRPCStream(thread, session)
    let isBegun = thread.run { [session] in
      stream.begin(
        session.begin(method, ClientCall(onMessage: onMessage, onEnd: onEnd), deadline: nil))
    }
    if !isBegun { onEnd(Self.closed) }
    return stream
  }

  /// Opens a stream in both directions, whose messages and end wait in a sequence.
  package func open(_ method: String) -> (stream: GRPCStream, events: AsyncStream<GRPCEvent>) {
    let (events, continuation) = AsyncStream<GRPCEvent>.makeStream()
    let stream = open(method) {
      continuation.yield(.message($0))
    } onEnd: {
      continuation.yield(.end($0))
      continuation.finish()
    }
    return (stream, events)
  }

  private static let closed = GRPCEnd(code: 14, message: "the connection is over", origin: .notBegun)
}

/// The client's side of an open stream. Usable from any thread.
package final class GRPCStream: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: `id` is used on the thread of the client alone.
  private let thread: ClientThread
  private let session: ClientSession
  private var id: Int32?

  init(_ thread: ClientThread, _ session: ClientSession) {
    self.thread = thread
    self.session = session
  }

  func begin(_ id: Int32?) { self.id = id }

  package func send(_ message: [UInt8]) {
    run { session, id in session.send(message, on: id, isLast: false) }
  }

  /// Says that no more messages come.
  package func finish() {
    run { session, id in session.send(nil, on: id, isLast: true) }
  }

  package func cancel() {
    run { session, id in session.cancel(id) }
  }

  /// Lets a client stop reading: the server may then send as much as the window of the stream allows.
  package func setReading(_ isReading: Bool) {
    run { session, id in session.setReading(isReading, on: id) }
  }

  private func run(_ body: @escaping @Sendable (ClientSession, Int32) -> Void) {
    thread.run { [self] in
      if let id { body(session, id) }
    }
  }
}

/// The messages of an answer. Used on the thread of the client alone.
private final class MessageList: @unchecked Sendable {
  private(set) var all: [[UInt8]] = []

  func append(_ message: [UInt8]) { all.append(message) }
}

/// An answer that a thread waits for.
private final class AnswerBox: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the semaphore orders the write before the read.
  private let arrived = DispatchSemaphore(value: 0)
  private var reply: GRPCReply?

  func put(_ reply: GRPCReply) {
    self.reply = reply
    arrived.signal()
  }

  func wait() -> GRPCReply {
    arrived.wait()
    return reply ?? GRPCReply(messages: [], end: GRPCEnd(code: 2, message: "", origin: .client))
  }
}
#endif
