// The answer to a request, given from any thread.

/// Where a response leaves: a stream of HTTP/2, or a connection of HTTP/1.1. Used on its loop only.
package protocol ResponseSink: AnyObject {
  /// Sends the status and the fields.
  func begin(_ status: Int, _ fields: HTTPFields)
  /// Sends bytes of the body.
  func send(_ bytes: [UInt8])
  /// Ends the response. HTTP/1.1 sends trailers only in a chunked body.
  func end(_ trailers: HTTPFields)
  /// Ends the response before it is complete.
  func abort()
  /// Counts a refusal of the request.
  func refused(_ refusal: Refusal, detail: String)
}

extension ResponseSink {
  package func refused(_ refusal: Refusal, detail: String) {}
}

/// The answer to one request: `begin` once, `send` any number of times, and then `end`, or `abort` at any
/// time. Calls after the end are ignored. Usable from any thread; the caller keeps its calls in order.
package final class HTTPResponse: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: `sink` is only used on its loop.
  /// The loop of the connection, which lives as long as the server.
  package let loop: any LoopExecutor
  private let sink: any ResponseSink
  /// Runs blocks of this response one at a time, and only while the client keeps up with reading.
  package let queue: ResponseQueue
  /// The memory for the parts of the request that wait for the rest.
  package let budget: HeldMemory

  package init(
    _ loop: any LoopExecutor, _ sink: any ResponseSink, queue: ResponseQueue,
    budget: HeldMemory = .unlimited
  ) {
    self.loop = loop
    self.sink = sink
    self.queue = queue
    self.budget = budget
  }

  // Calls on the loop reach the sink without a block, so they allocate nothing.

  package func begin(_ status: Int, _ fields: HTTPFields = HTTPFields()) {
    if isOnLoop { sink.begin(status, fields) } else { loop.execute { [self] in sink.begin(status, fields) } }
  }

  package func send(_ bytes: [UInt8]) {
    guard !isOnLoop else { return sink.send(bytes) }
    queue.post(bytes.count)
    loop.execute { [self] in
      sink.send(bytes)
      queue.arrived(bytes.count)
    }
  }

  package func end(_ trailers: HTTPFields = HTTPFields()) {
    if isOnLoop { sink.end(trailers) } else { loop.execute { [self] in sink.end(trailers) } }
  }

  package func abort() {
    if isOnLoop { sink.abort() } else { loop.execute { [self] in sink.abort() } }
  }

  /// Counts that the request has exceeded a limit. Called on the loop; the answer is the caller's.
  package func refused(_ refusal: Refusal, detail: String) { sink.refused(refusal, detail: detail) }

  /// Sends a complete answer.
  package func answer(_ status: Int, _ fields: HTTPFields, body: [UInt8]) {
    guard isOnLoop else { return loop.execute { [self] in answer(status, fields, body: body) } }
    sink.begin(status, fields)
    if !body.isEmpty { sink.send(body) }
    sink.end(HTTPFields())
  }

  /// Whether the caller is on the loop of the connection.
  package var isOnLoop: Bool { loop.isCurrent }

  /// Runs a block on the loop of the connection.
  package func onLoop(_ block: @escaping @Sendable () -> Void) {
    if isOnLoop { block() } else { loop.execute(block) }
  }

  /// Runs a block on the loop of the connection after this time. Called on the loop. The caller cancels the
  /// timer when the response has ended.
  package func after(_ nanoseconds: UInt64, _ block: @escaping @Sendable () -> Void) -> any LoopTimer {
    loop.after(nanoseconds, block)
  }
}
