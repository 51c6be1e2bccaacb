// A client of a simulated server: a script of steps, and the answers that it reads meanwhile.

import HTTPTransport

enum ClientStep {
  case connect
  case send([UInt8])
  /// Waits until this number of requests is answered, or one is refused.
  case awaitAnswers(Int)
  case pause(UInt64)
  case stopReading
  /// Answers no pings and opens no windows any more.
  case stopReplies
  /// Ends what the client sends.
  case finish
  /// Waits until the server ends the connection.
  case awaitEnd
  case close
  case reset
}

final class SimulatedClient {
  /// The outcome that the connection of the client must have.
  enum Expectation: Equatable {
    /// All requests are answered, and nothing is refused.
    case answers
    /// The server refuses the client once, for this reason.
    case refusal(Refusal)
    /// The bytes of answers are right, but all of this can be cut.
    case nothing
  }

  let number: Int
  let network: SimulatedNetwork
  let expectation: Expectation
  let answersAll: Bool
  let plans: [RequestPlan]
  private(set) var answers: any ClientAnswers
  private(set) var link: SimulatedLink?
  /// Whether the connection can end anywhere.
  private let isLossy: Bool
  private var steps: ArraySlice<ClientStep>
  /// The bytes of the current step that are not sent, and those that the answers demand.
  private var unsent: ArraySlice<UInt8> = []
  private var replies: [UInt8] = []
  private var isInReply = false
  private var pausedUntil: UInt64?
  private var isReading = true
  private var sendsReplies = true
  private(set) var hasSeenEnd = false
  private(set) var hasSeenReset = false
  private(set) var isClosed = false
  /// The time at which the last part of the script began to be sent, and that of the last complete answer.
  private(set) var sendBegan: UInt64 = 0
  private(set) var lastAnswered: UInt64 = 0

  var isHTTP2: Bool { answers is HTTP2Answers }

  var peer: String { "10.0.0.\(number)" }

  init(_ number: Int, _ script: ClientScript, _ network: SimulatedNetwork, isLossy: Bool) {
    self.isLossy = isLossy
    self.number = number
    self.network = network
    steps = script.steps[...]
    expectation = script.expectation
    answers = script.answers
    answersAll = script.answersAll
    plans = script.plans
    for plan in script.plans { answers.expect(plan) }
  }

  // MARK: Steps

  func canStep(at now: UInt64) -> Bool { !isClosed && (canRead || canReply || canRunScript(at: now)) }

  /// Whether the client does nothing more: it has closed its connection, or the server has closed that of a
  /// client that does not read.
  var isDone: Bool {
    guard !isClosed else { return true }
    guard let link, !isReading else { return false }
    return link.isClosedByServer || link.resetOfClient == .arrived
  }

  /// The time at which a pause ends.
  var wakes: UInt64? { isClosed ? nil : pausedUntil }

  func step(_ random: inout SeededRandom) throws(NetworkViolation) {
    let now = network.now
    let reads = canRead
    guard reads, !(canReply || canRunScript(at: now)) || random.oneIn(2) else {
      return canReply ? reply() : try runScript(&random)
    }
    try read(&random)
  }

  private var canRead: Bool { isReading && !hasSeenEnd && !hasSeenReset && link?.clientCanRead == true }

  /// Replies go between the parts of the script, because both have whole frames.
  private var canReply: Bool {
    guard let link else { return false }
    guard unsent.isEmpty, !replies.isEmpty, sendsReplies || isInReply else { return false }
    return link.toServer.room > 0 || link.resetOfClient == .arrived
  }

  private func canRunScript(at now: UInt64) -> Bool {
    if isInReply { return false }
    if !unsent.isEmpty { return canSend }
    guard let step = steps.first else { return true }
    switch step {
    case .connect, .stopReading, .stopReplies, .finish, .close, .reset: return true
    case .send: return canSend
    case .awaitAnswers(let count): return answers.answered.count >= count || answers.hasRefusal || isOver
    case .pause: return pausedUntil.map { now >= $0 } ?? true
    case .awaitEnd: return isOver
    }
  }

  private var canSend: Bool {
    guard let link else { return true }
    return link.toServer.room > 0 || link.resetOfClient == .arrived || link.toServer.isEnded
  }

  private var isOver: Bool { hasSeenEnd || hasSeenReset || link == nil }

  private func reply() {
    guard let link else { return }
    let count = link.clientSend(replies[...])
    network.note(.clientSends, Int32(number), count)
    replies.removeFirst(count)
    isInReply = !replies.isEmpty
  }

  private func runScript(_ random: inout SeededRandom) throws(NetworkViolation) {
    if !unsent.isEmpty { return send(&random) }
    guard let step = steps.popFirst() else { return close(resets: false) }
    switch step {
    case .connect:
      link = network.connect(from: peer)
      if link == nil { close(resets: false) }
    case .send(let bytes):
      unsent = bytes[...]
      sendBegan = network.now
    case .awaitAnswers: break
    case .pause(let time): pause(time, step)
    case .stopReading: isReading = false
    case .stopReplies: sendsReplies = false
    case .finish: link?.clientFinish()
    case .awaitEnd: break
    case .close: close(resets: false)
    case .reset: close(resets: true)
    }
  }

  private func pause(_ time: UInt64, _ step: ClientStep) {
    guard pausedUntil == nil else {
      pausedUntil = nil
      return
    }
    pausedUntil = network.now + time
    steps = [step] + steps
  }

  private func send(_ random: inout SeededRandom) {
    guard let link else { return unsent = [] }
    let most = random.oneIn(4) ? 1 + random.below(unsent.count) : unsent.count
    let count = link.clientSend(unsent.prefix(most))
    network.note(.clientSends, Int32(number), count)
    unsent = unsent.dropFirst(count)
  }

  private func read(_ random: inout SeededRandom) throws(NetworkViolation) {
    guard let link else { return }
    let reading = link.clientReceive(random.oneIn(4) ? 1 + random.below(100) : 100_000)
    switch reading {
    case .nothing: break
    case .bytes(let bytes):
      network.note(.clientReads, Int32(number), bytes.count)
      let count = answers.answered.count
      replies += try answers.receive(bytes)
      if answers.answered.count > count { lastAnswered = network.now }
    case .end:
      network.note(.clientEnds, Int32(number), 0)
      hasSeenEnd = true
      do throws(NetworkViolation) { try answers.receiveEnd() } catch {
        guard expectation == .nothing || isLossy else { throw error }
      }
    case .reset:
      network.note(.clientEnds, Int32(number), 1)
      hasSeenReset = true
    }
    if isOver { steps = steps.filter { if case .send = $0 { false } else { true } }[...] }
  }

  private func close(resets: Bool) {
    link?.clientClose(resets: resets)
    isClosed = true
    network.note(.clientEnds, Int32(number), 2)
  }
}
