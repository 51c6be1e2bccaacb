// A connection's protocol without its socket: bytes in, bytes out. All of it runs on the connection's loop.

/// The protocol of a connection: HTTP/1.1 or HTTP/2.
package protocol ConnectionSession: AnyObject {
  /// Takes bytes from the client, and calls handlers. Throws if the connection must end, after the output
  /// that is pending has been sent.
  func receive(_ bytes: UnsafeRawBufferPointer) throws(SessionError)
  /// Called at the end of each turn of the loop in which bytes have arrived, before output is moved.
  func endTurn()
  /// Called when the client has closed its side of the connection.
  func receiveEnd()
  /// Moves output that waits to the end of `buffer`, up to about `bytesMax`.
  func moveOutput(to buffer: inout [UInt8], bytesMax: Int)
  /// Whether there is output.
  var hasOutput: Bool { get }
  /// Whether the session takes more bytes. If not, the connection reads nothing until `wake`.
  var wantsInput: Bool { get }
  /// Whether the connection ends when its output has been sent.
  var isFinished: Bool { get }
  /// The number of requests that have not been answered.
  var openRequests: Int { get }
  /// Refuses new requests, and finishes after those that are open.
  func drain()
  /// The connection is lost: all requests are cancelled.
  func close()
  /// Called about once a second. Throws if the client has exceeded a time.
  func tick(now: UInt64) throws(SessionError)
  /// The time at which the last request began.
  var lastRequest: UInt64 { get }
}

extension ConnectionSession {
  package var wantsInput: Bool { true }

  package func endTurn() {}

  package func tick(now: UInt64) throws(SessionError) {}
}

/// Everything that a session and its streams need. They share one object, because each request looks at it
/// several times.
package final class SessionContext {
  package let connection: ConnectionInfo
  /// The time of the last request. A connection without requests is closed after a while.
  package var lastRequest: UInt64
  let limits: HTTPLimits
  let handler: any HTTPHandler
  let loop: any LoopExecutor
  let pool: any BlockPool
  let observer: any TransportObserver
  let clock: MonotonicClock
  /// The memory that the connection may hold.
  let budget: HeldMemory
  /// Called when output was added outside of `receive`.
  let wake: () -> Void

  package init(
    _ connection: ConnectionInfo, _ services: SessionServices, clock: MonotonicClock,
    wake: @escaping () -> Void
  ) {
    self.connection = connection
    lastRequest = clock.now()
    self.clock = clock
    self.wake = wake
    limits = services.limits
    handler = services.handler
    loop = services.loop
    pool = services.pool
    observer = services.observer
    budget = HeldMemory(bytesMax: services.limits.heldBytesPerConnectionMax, within: services.budget)
  }
}

/// The surroundings that sessions share.
package struct SessionServices {
  package var limits = HTTPLimits()
  package var handler: any HTTPHandler
  package var loop: any LoopExecutor
  package var pool: any BlockPool
  package var observer: any TransportObserver
  /// The memory that all connections may hold.
  package var budget = HeldMemory.unlimited

  package init(
    handler: any HTTPHandler, loop: any LoopExecutor, pool: any BlockPool, observer: any TransportObserver
  ) {
    self.handler = handler
    self.loop = loop
    self.pool = pool
    self.observer = observer
  }
}

/// The reason why a connection ends.
package struct SessionError: Error, Equatable {
  /// The limit or the rule that the client has not kept.
  package let refusal: Refusal
  package let detail: String

  init(_ refusal: Refusal, _ detail: String) {
    self.refusal = refusal
    self.detail = detail
  }
}
