// Scripts of clients that send requests and read their answers.

import HTTPTransport

/// Makes one script.
struct ScriptMaker {
  let firstID: Int
  let limits: HTTPLimits
  var random: SeededRandom
  var script = ClientScript()

  init(firstID: Int, limits: HTTPLimits, random: SeededRandom) {
    self.firstID = firstID
    self.limits = limits
    self.random = random
  }

  mutating func make(_ kind: ClientScript.Kind) -> ClientScript {
    script.steps = [.connect]
    switch kind {
    case .http1: addHTTP1(1 + random.below(6))
    case .http2: addHTTP2(1 + random.below(6))
    case .calls: addHTTP2(1 + random.below(6), areCalls: true)
    case .silent: refuses(.firstByteTimeout)
    case .slowHead: addSlowHead()
    case .slowBody: addSlowBody()
    case .idle: addIdle()
    case .deaf: addDeaf()
    case .neverReads: addNeverReads()
    case .lateCall: addLateCall()
    case .badEnd: addBadEnd()
    case .cut: addCut()
    case .garbage: addGarbage()
    }
    return script
  }

  // MARK: Requests

  mutating func plan() -> RequestPlan {
    let answers = RequestPlan.Answer.allCases.filter { $0 != .never && $0 != .abort }
    let sizes = [0, 1, 5, 100, 1000, 5000, 30_000]
    var plan = RequestPlan(
      id: firstID + script.plans.count, answer: answers[random.below(answers.count)],
      answerBytes: sizes[random.below(sizes.count)], pieceBytes: 1 + random.below(6000),
      bodyBytes: random.oneIn(2) ? 0 : sizes[random.below(6)])
    if random.oneIn(40) { plan.answerBytes = 200_000 }
    plan.pieceBytes = max(plan.pieceBytes, plan.answerBytes / 50)
    plan.delay = UInt64(random.below(3000)) * 1_000_000
    return plan
  }

  mutating func addHTTP1(_ count: Int, staysOpen: Bool = false) {
    let isPipeline = random.oneIn(2)
    let end = staysOpen ? 3 : random.below(4)
    for index in 0..<count {
      let plan = plan()
      script.plans.append(plan)
      let isLast = index == count - 1
      add(requestOf(plan, closes: isLast && end == 0))
      if !isPipeline { script.steps.append(.awaitAnswers(index + 1)) }
      if random.oneIn(10) { script.steps.append(.pause(UInt64(random.below(1000)) * 1_000_000)) }
    }
    if end == 1 { script.steps.append(.finish) }
    if end <= 1 { script.steps.append(.awaitEnd) }
    if end >= 2 { script.steps.append(.awaitAnswers(count)) }
  }

  mutating func requestOf(_ plan: RequestPlan, closes: Bool) -> [UInt8] {
    let isOld = closes && random.oneIn(3)
    let isChunked = plan.bodyBytes > 0 && !isOld && random.oneIn(3)
    let version = isOld ? "1.0" : "1.1"
    var head = "\(plan.bodyBytes > 0 ? "POST" : "GET") \(plan.path) HTTP/\(version)\r\nhost: localhost\r\n"
    if closes { head += isOld ? "" : "connection: close\r\n" }
    if closes, plan.bodyBytes > 0, !isOld, random.oneIn(3) { head += "expect: 100-continue\r\n" }
    guard isChunked else {
      if plan.bodyBytes > 0 { head += "content-length: \(plan.bodyBytes)\r\n" }
      return Array((head + "\r\n").utf8) + plan.body
    }
    let size = 1 + random.below(plan.bodyBytes)
    var bytes = Array((head + "transfer-encoding: chunked\r\n\r\n").utf8)
    let body = plan.body
    for start in stride(from: 0, to: body.count, by: max(size, body.count / 20 + 1)) {
      let chunk = body[start..<min(body.count, start + max(size, body.count / 20 + 1))]
      bytes += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [13, 10]
    }
    return bytes + Array("0\r\n\r\n".utf8)
  }

  mutating func addHTTP2(_ count: Int, areCalls: Bool = false) {
    var answers = HTTP2Answers()
    answers.opensWindows = true
    script.answers = answers
    var writer = FrameWriter.opened()
    for index in 0..<count {
      var plan = plan()
      plan.isCall = areCalls
      plan.bodyBytes = min(plan.bodyBytes, 5000)
      script.plans.append(plan)
      addRequest(plan, stream: UInt32(2 * index + 1), &writer)
      guard random.oneIn(2) else { continue }
      add(writer.bytes)
      writer = FrameWriter()
      if random.oneIn(2) { script.steps.append(.awaitAnswers(index + 1)) }
    }
    add(writer.bytes)
    script.steps.append(.awaitAnswers(count))
  }

  mutating func addRequest(_ plan: RequestPlan, stream: UInt32, _ writer: inout FrameWriter) {
    let fields = plan.isCall ? [("content-type", "application/grpc"), ("te", "trailers")] : []
    let body = plan.isCall ? CallPeer.frame(plan.body) : plan.body
    writer.request(stream, path: plan.path, fields: fields, endsStream: body.isEmpty)
    var start = 0
    while start < body.count {
      let end = min(body.count, start + 1 + random.below(3000))
      writer.data(stream, Array(body[start..<end]), endsStream: end == body.count)
      start = end
    }
  }

  mutating func add(_ bytes: [UInt8]) {
    if !bytes.isEmpty { script.steps.append(.send(bytes)) }
  }
}
