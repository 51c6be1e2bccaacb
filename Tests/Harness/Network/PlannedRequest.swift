// One request of a simulated server, and its answer.

import HTTPTransport

/// Checks the calls of the transport, and answers as planned.
final class PlannedRequest: HTTPBodyReceiver, GRPCReceiver, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: a simulation has one thread.

  enum Outlet {
    case response(HTTPResponse)
    case call(GRPCAnswer, HTTPResponse)
  }

  private let record: PlannedHandler.Record
  private let outlet: Outlet
  private let network: SimulatedNetwork
  private let pauseBytes: Int
  private var timer: (any LoopTimer)?

  private var plan: RequestPlan { record.plan }

  init(
    _ record: PlannedHandler.Record, _ outlet: Outlet, _ network: SimulatedNetwork, pauseBytes: Int
  ) {
    self.pauseBytes = pauseBytes
    self.record = record
    self.outlet = outlet
    self.network = network
  }

  func begin() {
    switch plan.answer {
    case .atBegin: answer()
    case .onPoolAtOnce: answerOnPool()
    case .atFinish, .onPool, .afterTime, .never, .abort: break
    }
  }

  // MARK: Calls of the transport

  func receive(_ bytes: ArraySlice<UInt8>) { receiveBody(Array(bytes)) }

  func receive(_ message: [UInt8]) { receiveBody(message) }

  private func receiveBody(_ bytes: [UInt8]) {
    network.note(.body, -1, bytes.count)
    expectOpen("bytes")
    let range = record.bodyCount..<record.bodyCount + bytes.count
    if range.upperBound > plan.bodyBytes || bytes != RequestPlan.pattern(2 * plan.id, range) {
      network.violate("the body of request \(plan.id) has other bytes")
    }
    record.bodyCount = range.upperBound
  }

  func finish() {
    network.note(.finish, -1, plan.id)
    expectOpen("an end")
    record.isFinished = true
    if record.bodyCount != plan.bodyBytes {
      network.violate("request \(plan.id) ends after \(record.bodyCount) of \(plan.bodyBytes) bytes")
    }
    switch plan.answer {
    case .atFinish: answer()
    case .onPool: answerOnPool()
    case .afterTime: answerAfterTime()
    case .abort: abort()
    case .atBegin, .onPoolAtOnce, .never: break
    }
  }

  func cancel() {
    network.note(.cancel, -1, plan.id)
    if record.isCancelled { network.violate("request \(plan.id) is cancelled twice") }
    if record.isAborted { network.violate("request \(plan.id) is cancelled after its answer was given up") }
    record.isCancelled = true
    timer?.cancel()
    timer = nil
  }

  private func expectOpen(_ what: String) {
    if record.isCancelled { network.violate("request \(plan.id) gets \(what) after it was cancelled") }
    if record.isFinished { network.violate("request \(plan.id) gets \(what) after its end") }
  }

  // MARK: The answer

  private func answer() {
    beginAnswer()
    var start = 0
    while start < plan.answerBytes { start = sendPiece(from: start) }
    endAnswer()
  }

  private func answerOnPool() {
    queue.add { [self] in
      beginAnswer()
      continueOnPool(from: 0)
    }
  }

  private func continueOnPool(from start: Int) {
    guard !record.isCancelled else { return }
    guard start < plan.answerBytes else { return endAnswer() }
    let next = sendPiece(from: start)
    let waitingCount = record.sentCount - (record.link?.sentCount ?? 0)
    if waitingCount > waitingMax {
      network.violate("\(waitingCount) bytes of the answer to request \(plan.id) wait")
    }
    queue.add { [self] in continueOnPool(from: next) }
  }

  /// The bytes that a connection takes out of its protocol, those that a queue lets through, and those with
  /// which it pauses.
  private var waitingMax: Int { 256 * 1024 + 64 * 1024 + pauseBytes + 3 * plan.pieceBytes }

  private func answerAfterTime() {
    guard case .response(let response) = outlet else { return answer() }
    timer = response.after(plan.delay) { [self] in
      timer = nil
      answer()
    }
  }

  private func abort() {
    guard case .response(let response) = outlet else { return answer() }
    record.isAnswered = true
    record.isAborted = true
    response.abort()
  }

  private var queue: ResponseQueue {
    switch outlet {
    case .response(let response): response.queue
    case .call(let answer, _): answer.queue
    }
  }

  private func beginAnswer() {
    guard case .response(let response) = outlet else { return }
    response.begin(200, HTTPFields(["content-type": "application/octet-stream"]))
  }

  private func sendPiece(from start: Int) -> Int {
    let piece = plan.piece(from: start)
    record.sentCount += piece.count
    switch outlet {
    case .response(let response): response.send(piece)
    case .call(let answer, _): answer.send(piece)
    }
    return start + piece.count
  }

  private func endAnswer() {
    record.isAnswered = true
    switch outlet {
    case .response(let response): response.end()
    case .call(let answer, _): answer.end(.ok)
    }
  }
}
