// A call with one request: unary, or with a stream of answers.
//
//   1. The body takes the request. It is the first step of the call.
//   2. A step sends a part of bounded size. It is a block of its own on the queue of the call, so a queue
//      whose client reads slowly delays the next one, and nothing is read ahead.
//   3. A step that waits for something ends without blocking. The next step is added to the queue when that
//      has happened.

internal import ByteStore
internal import OfflineSync

/// A part of the work of a call.
typealias AnswerStep = @Sendable () throws(RemoteError) -> AnswerProgress

/// How a call goes on after a step.
enum AnswerProgress {
  /// The call has ended.
  case done
  /// Another step.
  case next(AnswerStep)
  /// The step that is passed to `resume`, which is called once: at once, or later on any thread.
  case waiting(_ start: @Sendable (_ resume: @escaping @Sendable (@escaping AnswerStep) -> Void) -> Void)
}

/// Runs `body` with the request, on the queue of the call, or within `receive` if it has none. The call ends
/// with its first request, so later ones are ignored.
final class SingleRequestCall: CallHandler {
  /// Takes a request. If it may not block and would have to, it throws `mustBlock` before it has any effect.
  typealias Body =
    @Sendable (_ request: [UInt8], Responder, _ mayBlock: Bool) throws(RemoteError) -> AnswerProgress

  /// The error of a body that has to block and may not. The body runs again on the queue.
  static let mustBlock = RemoteError(.internal, "The call has to begin on its queue.")

  private let responder: Responder
  private let queue: ServiceQueue?
  private let beginsWithinSend: @Sendable (_ requestBytes: Int) -> Bool
  private let body: Body
  private let hasRequest = Locked(false)

  /// `beginsWithinSend` says whether the first step of a request of this size can run within `receive`,
  /// although the call has a queue.
  init(
    _ responder: Responder, on queue: ServiceQueue?,
    beginsWithinSend: @escaping @Sendable (_ requestBytes: Int) -> Bool, _ body: @escaping Body
  ) {
    self.responder = responder
    self.queue = queue
    self.beginsWithinSend = beginsWithinSend
    self.body = body
  }

  func receive(_ bytes: [UInt8]) {
    let isSecond = hasRequest.withLock { hasRequest in
      defer { hasRequest = true }
      return hasRequest
    }
    guard !isSecond else { return }
    let step: AnswerStep = { [body, responder] () throws(RemoteError) in try body(bytes, responder, true) }
    guard let queue, queue.mayBeginWithinSend, beginsWithinSend(bytes.count) else { return perform(step) }
    let first: AnswerStep = { [body, responder] () throws(RemoteError) in
      do throws(RemoteError) { return try body(bytes, responder, false) } catch {
        guard error == Self.mustBlock else { throw error }
        return .next(step)
      }
    }
    Self.run(first, on: queue, for: responder)
  }

  func finish() {
    guard !hasRequest.withLock({ $0 }) else { return }
    perform { () throws(RemoteError) in
      throw RemoteError(.invalidArgument, "The call ended without a request.")
    }
  }

  func cancel() { responder.cancel() }

  // MARK: Steps

  private func perform(_ step: @escaping AnswerStep) {
    if let queue { Self.add(step, to: queue, for: responder) } else { Self.runAll(step, for: responder) }
  }

  /// Adds a step to the queue. The steps of a call that is over end with their block.
  private static func add(_ step: @escaping AnswerStep, to queue: ServiceQueue, for responder: Responder) {
    queue.add { run(step, on: queue, for: responder) }
  }

  /// Runs a step, and adds the one that follows.
  private static func run(_ step: AnswerStep, on queue: ServiceQueue, for responder: Responder) {
    attempt(for: responder) { () throws(RemoteError) in
      switch try step() {
      case .done: responder.end()
      case .next(let step): add(step, to: queue, for: responder)
      case .waiting(let start): start { add($0, to: queue, for: responder) }
      }
    }
  }

  /// Runs a step and all that follow. Blocks while they wait.
  private static func runAll(_ first: @escaping AnswerStep, for responder: Responder) {
    attempt(for: responder) { () throws(RemoteError) in
      var step = first
      while !responder.isOver {
        switch try step() {
        case .done: responder.end()
        case .next(let next): step = next
        case .waiting(let start): step = waited(start)
        }
      }
    }
  }

  /// Blocks until a step can follow, and returns it.
  private static func waited(
    _ start: @Sendable (_ resume: @escaping @Sendable (@escaping AnswerStep) -> Void) -> Void
  ) -> AnswerStep {
    let resumed = Locked<AnswerStep?>(nil)
    start { step in
      resumed.withLock { $0 = step }
      resumed.wakeAll()
    }
    return resumed.withLock(when: { $0 != nil }) { $0 } ?? { .done }
  }

  private static func attempt(for responder: Responder, _ work: () throws(RemoteError) -> Void) {
    guard !responder.isOver else { return }
    do throws(RemoteError) { try work() } catch { responder.end(error) }
  }
}
