// The answer of a call, given from any thread.

internal import ByteStore

/// The answer to one call: `send` any number of times, then `end`. Calls after the end are ignored. Usable
/// from any thread; the caller keeps its calls in order.
///
/// Calls on the loop of the connection take effect at once. Calls on other threads wait for the loop
/// together, so a unary answer wakes it once.
package final class GRPCAnswer: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: `timer`, `hasBegun` and `isOver` are only used on the loop.

  fileprivate enum Event {
    case message([UInt8])
    case end(GRPCStatus)

    var byteCount: Int { if case .message(let message) = self { message.count } else { 0 } }
  }

  fileprivate struct State {
    /// Calls that wait for the loop.
    var events: [Event] = []
    var status: GRPCStatus?
    var isClosed = false

    var isOpen: Bool { status == nil && !isClosed }
  }

  private let state = Locked(State())
  private let response: HTTPResponse
  private var timer: (any LoopTimer)?
  private var hasBegun = false
  /// Whether the end has been sent, or can no longer be sent. Used on the loop.
  private(set) var isOver = false

  init(_ response: HTTPResponse) { self.response = response }

  /// Runs blocks of this call one at a time, and only while the client keeps up with reading.
  package var queue: ResponseQueue { response.queue }

  /// The memory for requests that wait.
  package var budget: HeldMemory { response.budget }

  /// Counts that the call has exceeded a limit. Called on the loop; the end is the caller's.
  package func refused(_ refusal: Refusal, detail: String) { response.refused(refusal, detail: detail) }

  /// The status with which the call has ended; nil before the end, and if the client has gone.
  package var status: GRPCStatus? { state.withLock { $0.status } }

  /// Sends a message.
  package func send(_ message: [UInt8]) {
    guard message.count <= UInt32.max else {
      return end(.internalError("A message of the answer has \(message.count) bytes."))
    }
    let isOnLoop = response.isOnLoop
    let step: Step = state.withLock { state in
      guard state.isOpen else { return .nothing }
      return state.add(.message(message), isOnLoop: isOnLoop)
    }
    // A message that waits for the loop makes the blocks of the call wait, too.
    if step != .apply, step != .nothing { queue.post(message.count) }
    perform(step) { apply(message) }
  }

  /// Ends the call.
  package func end(_ status: GRPCStatus) { endFirst(status) }

  /// Ends the call, and returns false if it had ended before.
  @discardableResult
  func endFirst(_ status: GRPCStatus) -> Bool {
    let isOnLoop = response.isOnLoop
    let (isFirst, step): (Bool, Step) = state.withLock { state in
      guard state.isOpen else { return (false, .nothing) }
      state.status = status
      return (true, state.add(.end(status), isOnLoop: isOnLoop))
    }
    perform(step) { apply(status) }
    return isFirst
  }

  // MARK: On the loop

  /// Runs a block after this time, unless the call ends before.
  func startTimer(_ nanoseconds: UInt64, _ block: @escaping @Sendable () -> Void) {
    guard !isOver else { return }
    timer = response.after(nanoseconds, block)
  }

  /// Drops everything that has not been sent. Returns false if the call had ended before.
  @discardableResult
  func close() -> Bool {
    let (wasOpen, events) = state.withLock { state in
      defer { state.isClosed = true }
      defer { state.events = [] }
      return (state.isOpen, state.events)
    }
    let droppedBytes = events.reduce(0) { $0 + $1.byteCount }
    if droppedBytes > 0 { queue.arrived(droppedBytes) }
    finish()
    return wasOpen
  }

  private func perform(_ step: Step, _ apply: () -> Void) {
    switch step {
    case .nothing, .queued: break
    case .apply: apply()
    case .applyAll: applyEvents()
    case .wakeLoop: response.onLoop { [self] in applyEvents() }
    }
  }

  private func applyEvents() {
    let events = state.withLock { state in
      defer { state.events = [] }
      return state.events
    }
    var arrivedBytes = 0
    for event in events {
      switch event {
      case .message(let message):
        apply(message)
        arrivedBytes += message.count
      case .end(let status): apply(status)
      }
    }
    if arrivedBytes > 0 { queue.arrived(arrivedBytes) }
  }

  private func apply(_ message: [UInt8]) {
    guard !isOver else { return }
    if !hasBegun { response.begin(200, GRPCResponseFields.initial) }
    hasBegun = true
    GRPCFrame.forEachPiece(of: message, response.send)
  }

  private func apply(_ status: GRPCStatus) {
    guard !isOver else { return }
    finish()
    guard !hasBegun else { return response.end(GRPCResponseFields.trailers(status)) }
    response.begin(200, GRPCResponseFields.trailersOnly(status))
    response.end()
  }

  private func finish() {
    isOver = true
    timer?.cancel()
    timer = nil
  }
}

/// The way of a call of an answer to the loop.
private enum Step {
  case nothing
  /// The loop will apply it with what waits already.
  case queued
  /// The caller is on the loop, and nothing waits.
  case apply
  /// The caller is on the loop, and has to apply first what waits.
  case applyAll
  case wakeLoop
}

extension GRPCAnswer.State {
  fileprivate mutating func add(_ event: GRPCAnswer.Event, isOnLoop: Bool) -> Step {
    if isOnLoop, events.isEmpty { return .apply }
    events.append(event)
    if isOnLoop { return .applyAll }
    return events.count == 1 ? .wakeLoop : .queued
  }
}
