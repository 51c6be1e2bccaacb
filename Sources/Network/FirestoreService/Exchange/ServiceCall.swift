// The caller's end of a call.

/// A call in progress. The caller sends one request, or on a stream any number of them, and then finishes.
public final class ServiceCall: Sendable {
  private let handler: any CallHandler

  init(_ handler: any CallHandler) { self.handler = handler }

  /// Passes an encoded request to the call. Ignored after the end of the call.
  public func send(_ bytes: [UInt8]) { handler.receive(bytes) }

  /// Says that no request follows. Ends a stream after the answers to its requests.
  public func finish() { handler.finish() }

  /// Ends the call at once. No event follows, except from a block that is running. A commit that has begun
  /// still takes effect.
  public func cancel() { handler.cancel() }

  /// The bytes of requests that wait for earlier ones, or for the queue of the call.
  package var waitingBytes: Int { handler.waitingBytes }
}

/// A call on the side of the service.
protocol CallHandler: Sendable {
  func receive(_ bytes: [UInt8])
  func finish()
  func cancel()
  var waitingBytes: Int { get }
}

extension CallHandler {
  var waitingBytes: Int { 0 }
}
