// A call with one request: unary, or with a stream of answers.
//
//   1. The body takes the request. It answers, or returns the steps of a longer answer.
//   2. Each step sends a part of bounded size. It is a block of its own on the queue of the call, so a queue
//      whose client reads slowly delays the next one, and nothing is read ahead.

internal import ByteStore
internal import OfflineSync

/// Sends the next part of an answer, and returns whether more follows.
typealias AnswerStep = @Sendable () throws(RemoteError) -> Bool

/// Runs `body` with the request, on the queue of the call, or within `receive` if it has none. The call ends
/// with its first request, so later ones are ignored.
final class SingleRequestCall: CallHandler {
  typealias Body = @Sendable (_ request: [UInt8], Responder) throws(RemoteError) -> AnswerStep?

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

  private func perform(_ begin: @escaping @Sendable () throws(RemoteError) -> AnswerStep?) {
    guard let queue else { return Self.perform(begin, for: responder) }
    queue.add { [responder] in
      Self.attempt(for: responder) { () throws(RemoteError) in
        if let step = try begin() { Self.add(step, to: queue, for: responder) } else { responder.end() }
      }
    }
  }

  /// Runs all steps at once.
  private static func perform(_ begin: () throws(RemoteError) -> AnswerStep?, for responder: Responder) {
    attempt(for: responder) { () throws(RemoteError) in
      if let step = try begin() {
        repeat { guard !responder.isOver else { return } } while try step()
      }
      responder.end()
    }
  }

  /// Runs a step in a block of the queue. The steps of a call that is over end with the block.
  private static func add(_ step: @escaping AnswerStep, to queue: ServiceQueue, for responder: Responder) {
    queue.add {
      attempt(for: responder) { () throws(RemoteError) in
        if try step() { add(step, to: queue, for: responder) } else { responder.end() }
      }
    }
  }

  private static func attempt(for responder: Responder, _ work: () throws(RemoteError) -> Void) {
    guard !responder.isOver else { return }
    do throws(RemoteError) { try work() } catch { responder.end(error) }
  }
}
