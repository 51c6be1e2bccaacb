// A call with one request: unary, or with a stream of answers.

internal import ByteStore
internal import OfflineSync

/// Runs `body` with the request, on the queue of the call, or within `receive` if it has none. The call ends
/// with its first request, so later ones are ignored.
final class SingleRequestCall: CallHandler {
  typealias Body = @Sendable (_ request: [UInt8], Responder) throws(RemoteError) -> Void

  private let responder: Responder
  private let queue: ServiceQueue?
  private let body: Body
  private let hasRequest = Locked(false)

  init(_ responder: Responder, on queue: ServiceQueue?, _ body: @escaping Body) {
    self.responder = responder
    self.queue = queue
    self.body = body
  }

  func receive(_ bytes: [UInt8]) {
    let isSecond = hasRequest.withLock { hasRequest in
      defer { hasRequest = true }
      return hasRequest
    }
    guard !isSecond else { return }
    perform { [body, responder] () throws(RemoteError) in try body(bytes, responder) }
  }

  func finish() {
    guard !hasRequest.withLock({ $0 }) else { return }
    perform { () throws(RemoteError) in
      throw RemoteError(.invalidArgument, "The call ended without a request.")
    }
  }

  func cancel() { responder.cancel() }

  private func perform(_ step: @escaping @Sendable () throws(RemoteError) -> Void) {
    let work: @Sendable () -> Void = { [responder] in
      guard !responder.isOver else { return }
      do throws(RemoteError) {
        try step()
        responder.end()
      } catch {
        responder.end(error)
      }
    }
    if let queue { queue.add(work) } else { work() }
  }
}
