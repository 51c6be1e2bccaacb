// Checks of the answers that the clients of a history have got, and of their times.

#if Server
import HTTPTransport

extension ConnectionHistory {
  private static let second: UInt64 = 1_000_000_000
  /// The clock has steps, and the steps of a history take time.
  private static let slack: UInt64 = 50_000_000
  /// The time over which the rate of a body is measured, and for which a closed connection is read from.
  private static let rateSeconds = 10
  private static let lingerSeconds = 2

  func checkClients() throws(NetworkViolation) {
    for client in clients {
      do throws(NetworkViolation) { try check(client) } catch {
        throw NetworkViolation("client \(client.number): \(error.text)")
      }
    }
  }

  private func check(_ client: SimulatedClient) throws(NetworkViolation) {
    let connection = observer.connections[client.peer] ?? NetworkObserver.Connection()
    try checkUnbegun(client)
    switch client.expectation {
    case .nothing: break
    case .answers:
      try checkDrained(client)
      guard isStrict else { return }
      guard connection.refusals.isEmpty else { throw NetworkViolation("refused: \(connection.refusals)") }
      try checkAnswers(client)
    case .refusal(let refusal):
      if isStrict { try checkReasons(connection, client, refusal) }
      if isStrict, client.answersAll { try checkAnswers(client) }
      try checkTimes(connection, client, refusal)
    }
  }

  private func checkAnswers(_ client: SimulatedClient) throws(NetworkViolation) {
    let (count, planned) = (client.answers.answered.count, client.plans.count)
    guard count < planned else { return }
    throw NetworkViolation("\(count) of \(planned) requests are answered")
  }

  private func checkUnbegun(_ client: SimulatedClient) throws(NetworkViolation) {
    guard let answers = client.answers as? HTTP2Answers else { return }
    for id in answers.unbegunRequests where handler.records[id] != nil {
      throw NetworkViolation("request \(id) begins although the server has said otherwise")
    }
  }

  /// A drain ends no request that has begun.
  private func checkDrained(_ client: SimulatedClient) throws(NetworkViolation) {
    guard let drained, isHarmless else { return }
    for plan in client.plans {
      guard let record = handler.records[plan.id], record.begun < drained else { continue }
      guard client.answers.answered.contains(plan.id) else {
        throw NetworkViolation("request \(plan.id) has begun before the drain, and has no answer")
      }
    }
  }

  private func checkReasons(
    _ connection: NetworkObserver.Connection, _ client: SimulatedClient, _ refusal: Refusal
  ) throws(NetworkViolation) {
    var allowed: [Refusal] = []
    // A client whose request was refused can still be idle, or leave pings without an answer.
    if client.isHTTP2, [.unread, .bodyRate, .deadline].contains(refusal) { allowed = [.idle, .pingTimeout] }
    if refusal == .unread { allowed.append(.unread) }
    let reasons = connection.refusals.map(\.refusal)
    let isFirst =
      reasons.first == refusal || refusal == .unread && reasons.first.map(allowed.contains) == true
    guard isFirst, reasons.contains(refusal),
      reasons.dropFirst().allSatisfy({ $0 == refusal && refusal == .unread || allowed.contains($0) })
    else { throw NetworkViolation("\(reasons) instead of \(refusal)") }
  }

  private func checkTimes(
    _ connection: NetworkObserver.Connection, _ client: SimulatedClient, _ refusal: Refusal
  ) throws(NetworkViolation) {
    guard let first = connection.refusals.first(where: { $0.refusal == refusal }),
      let times = times(of: refusal, client, connection)
    else { return }
    // A client that comes late may send after its connection was refused.
    guard isStrict || client.sendBegan < first.time else { return }
    guard first.time >= times.lowerBound, first.time <= times.upperBound || !isStrict else {
      throw NetworkViolation(
        "\(refusal) at \(first.time), and not from \(times.lowerBound) to \(times.upperBound)")
    }
    guard isStrict, endsConnection(refusal, client), let closed = connection.closed else { return }
    let seconds = UInt64(Self.lingerSeconds + 1)
    guard closed <= first.time + seconds * Self.second + Self.slack else {
      throw NetworkViolation("closed \(closed - first.time) ns after \(refusal)")
    }
  }

  private func endsConnection(_ refusal: Refusal, _ client: SimulatedClient) -> Bool {
    switch refusal {
    case .firstByteTimeout, .headerTimeout, .idle, .pingTimeout: true
    case .bodyRate: !client.isHTTP2
    default: false
    }
  }

  /// The times between which a refusal has to come. Loops look at times once a second.
  private func times(
    of refusal: Refusal, _ client: SimulatedClient, _ connection: NetworkObserver.Connection
  ) -> ClosedRange<UInt64>? {
    guard let opened = connection.opened, let link = client.link else { return nil }
    func range(_ first: UInt64, _ last: UInt64, _ seconds: Int, ticks: Int = 1) -> ClosedRange<UInt64> {
      let from = min(first, last) + UInt64(seconds) * Self.second - Self.slack
      return from...max(from, last + UInt64(seconds + ticks) * Self.second + Self.slack)
    }
    switch refusal {
    case .firstByteTimeout: return range(opened, opened, limits.firstByteSeconds)
    case .headerTimeout: return range(client.sendBegan, link.lastReceived, limits.headerSeconds)
    case .bodyRate:
      let times = range(client.sendBegan, link.lastReceived, Self.rateSeconds, ticks: 2)
      // A window with enough bytes is followed by another one.
      return times.lowerBound...times.upperBound + UInt64(Self.rateSeconds + 1) * Self.second
    case .idle: return range(client.sendBegan, client.lastAnswered, limits.idleSeconds, ticks: 2)
    case .pingTimeout:
      // What arrives later is dropped.
      guard let time = connection.refusals.first?.time, link.lastReceived < time else { return nil }
      let seconds = limits.pingSeconds + limits.pingAnswerSeconds
      return range(link.lastReceived, link.lastReceived, seconds, ticks: 2)
    case .unread:
      guard limits.unsentBytesMax > 1_000_000 else { return nil }
      let start = client.isHTTP2 ? client.sendBegan : link.lastSent
      return range(start, max(start, link.lastSent), limits.unreadSeconds)
    case .deadline:
      guard let record = client.plans.first.flatMap({ handler.records[$0.id] }) else { return nil }
      return record.begun + record.plan.delay - Self.slack...record.begun + record.plan.delay + Self.slack
    default: return nil
    }
  }
}
#endif
