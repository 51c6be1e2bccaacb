// Scripts of clients that exceed a time, break off, or send garbage.

import HTTPTransport

extension ScriptMaker {
  // MARK: Clients that exceed a time

  mutating func refuses(_ refusal: Refusal) {
    script.expectation = .refusal(refusal)
    script.steps.append(.awaitEnd)
  }

  mutating func addSlowHead() {
    if random.oneIn(3) { addHTTP1(1 + random.below(2), staysOpen: true) }
    let head = Array("GET /x HTTP/1.1\r\nhost: localhost\r\nx: y\r\n".utf8)
    add(Array(head.prefix(1 + random.below(head.count))))
    refuses(.headerTimeout)
  }

  mutating func addSlowBody() {
    var plan = plan()
    plan.answer = .atFinish
    plan.bodyBytes = 3000
    script.plans.append(plan)
    let isNew = random.oneIn(2)
    if isNew {
      script.answers = HTTP2Answers()
      var writer = FrameWriter.opened()
      writer.request(1, path: plan.path, endsStream: false)
      writer.data(1, Array(plan.body.prefix(1 + random.below(2000))), endsStream: false)
      add(writer.bytes)
    } else {
      let bytes = requestOf(plan, closes: false)
      add(Array(bytes.prefix(bytes.count - 1 - random.below(2000))))
    }
    refuses(.bodyRate)
  }

  mutating func addIdle() {
    let count = 1 + random.below(3)
    if random.oneIn(2) { addHTTP1(count, staysOpen: true) } else { addHTTP2(count) }
    refuses(.idle)
  }

  mutating func addDeaf() {
    addHTTP2(1 + random.below(3))
    guard var answers = script.answers as? HTTP2Answers else { return }
    answers.answersPings = false
    script.answers = answers
    refuses(.pingTimeout)
  }

  mutating func addNeverReads() {
    var plan = plan()
    plan.answer = random.oneIn(3) ? .onPool : .atFinish
    plan.answerBytes = plan.answer == .onPool ? 600_000 : 60_000
    plan.pieceBytes = plan.answer == .onPool ? 5000 : 60_000
    script.plans = [plan]
    if random.oneIn(2) {
      script.answers = HTTP2Answers()
      var writer = FrameWriter.opened()
      addRequest(plan, stream: 1, &writer)
      add(writer.bytes)
    } else {
      add(requestOf(plan, closes: false))
    }
    script.steps.insert(.stopReading, at: random.oneIn(2) ? 1 : script.steps.count)
    refuses(.unread)
  }

  mutating func addLateCall() {
    var plan = plan()
    plan.answer = .never
    plan.isCall = true
    plan.bodyBytes = 0
    plan.answerBytes = 10
    plan.delay = UInt64(1 + random.below(4000)) * 1_000_000
    script.plans = [plan]
    script.answers = HTTP2Answers()
    var writer = FrameWriter.opened()
    writer.request(
      1, path: plan.path,
      fields: [
        ("content-type", "application/grpc"), ("te", "trailers"),
        ("grpc-timeout", "\(plan.delay / 1_000_000)m"),
      ])
    add(writer.bytes)
    script.expectation = .refusal(.deadline)
    script.steps.append(.awaitAnswers(1))
  }

  // MARK: Clients that break off

  mutating func addCut() {
    switch random.below(3) {
    case 0: addHTTP1(1 + random.below(6))
    case 1: addHTTP2(1 + random.below(6))
    default: addHTTP2(1 + random.below(6), areCalls: true)
    }
    script.expectation = .nothing
    for index in script.plans.indices where random.oneIn(4) {
      script.plans[index].answer = random.oneIn(2) ? .never : .abort
    }
    if script.plans.contains(where: { $0.answer == .never }) {
      script.steps.removeAll { step in
        switch step {
        case .awaitAnswers, .awaitEnd: true
        default: false
        }
      }
    }
    let place = 1 + random.below(script.steps.count)
    script.steps.removeSubrange(place...)
    if case .send(let bytes)? = script.steps.last {
      script.steps[place - 1] = .send(Array(bytes.prefix(random.below(bytes.count + 1))))
      // A reply within a request would be a part of it.
      script.steps.insert(.stopReplies, at: place - 1)
    }
    if random.oneIn(3) { script.steps.append(.stopReading) }
    if random.oneIn(2) { script.steps.append(.pause(UInt64(random.below(20_000)) * 1_000_000)) }
    // A server cannot see that a client has closed both sides while it waits for the application.
    let isAnswered = !script.plans.contains { $0.answer == .never }
    if isAnswered, random.oneIn(3) { script.steps.append(.finish) }
    if random.oneIn(3) { script.steps.append(.pause(UInt64(random.below(5_000)) * 1_000_000)) }
    script.steps.append(isAnswered && random.oneIn(2) ? .close : .reset)
  }

  /// Good requests, then bytes that are none, and often the end of what the client sends.
  mutating func addBadEnd() {
    addHTTP1(1 + random.below(4), staysOpen: true)
    script.steps.removeAll { if case .awaitAnswers = $0 { random.oneIn(2) } else { false } }
    add(Array("no request\r\n\r\n".utf8))
    if !random.oneIn(3) { script.steps.append(.finish) }
    script.answersAll = true
    refuses(.malformed)
  }

  mutating func addGarbage() {
    script.expectation = .nothing
    let seeds = HTTPSeeds.all
    var bytes = seeds[random.below(seeds.count)]
    if random.oneIn(2) {
      var writer = FrameWriter.opened()
      writer.request(1, path: "/x", endsStream: false)
      bytes = writer.bytes
    }
    var mutator = ByteMutator(random: random)
    for _ in 0..<random.below(4) { bytes = mutator.mutated(bytes, other: seeds[0]) }
    random = mutator.random
    add(bytes)
    if random.oneIn(2) { script.steps.append(.finish) }
    script.steps.append(random.oneIn(2) ? .awaitEnd : .pause(UInt64(random.below(20_000)) * 1_000_000))
    script.answers = AnyAnswers()
  }
}
