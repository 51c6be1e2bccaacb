// Answers of HTTP/1.1: one after the other, in the order of the requests.

struct HTTP1Answers: ClientAnswers {
  private enum Framing {
    case length(Int)
    case chunks
    /// Within a chunk, or 0 within the line end behind it.
    case chunk(Int)
    case connection
  }

  private enum Phase {
    case head
    case body(Framing)
    case refusal
  }

  private var plans: [RequestPlan] = []
  private var phase = Phase.head
  private var input: [UInt8] = []
  /// The bytes of the current answer that have arrived.
  private var count = 0
  private(set) var answered: [Int] = []
  private(set) var hasRefusal = false

  mutating func expect(_ plan: RequestPlan) { plans.append(plan) }

  mutating func receive(_ bytes: [UInt8]) throws(NetworkViolation) -> [UInt8] {
    input += bytes
    while try step() {}
    return []
  }

  mutating func receiveEnd() throws(NetworkViolation) {
    switch phase {
    case .head:
      guard input.isEmpty else { throw NetworkViolation("a connection ends within a head") }
    case .body(.connection): complete()
    case .refusal: break
    case .body:
      // The application, or a time, can end a connection within an answer.
      break
    }
  }

  private mutating func step() throws(NetworkViolation) -> Bool {
    switch phase {
    case .head: return try takeHead()
    case .refusal:
      input = []
      return false
    case .body(.length(let left)):
      guard left > 0 else { return complete() }
      let taken = try take(min(left, input.count))
      phase = .body(.length(left - taken))
      return taken > 0
    case .body(.connection): return try take(input.count) > 0
    case .body(.chunks): return try takeChunkHead()
    case .body(.chunk(let left)):
      guard left > 0 else {
        guard input.count >= 2 else { return false }
        guard input.starts(with: [13, 10]) else { throw NetworkViolation("a chunk has no end") }
        input.removeFirst(2)
        phase = .body(.chunks)
        return true
      }
      let taken = try take(min(left, input.count))
      phase = .body(.chunk(left - taken))
      return taken > 0
    }
  }

  private mutating func takeHead() throws(NetworkViolation) -> Bool {
    guard let text = takeText(upTo: "\r\n\r\n") else { return false }
    let lines = text.split(separator: "\r\n").map(String.init)
    let parts = (lines.first ?? "").split(separator: " ")
    guard parts.count >= 2, parts[0] == "HTTP/1.1", let status = Int(parts[1]) else {
      throw NetworkViolation("a status line is malformed: \(lines.first ?? "")")
    }
    if status == 100 { return true }
    guard status == 200, !plans.isEmpty else {
      guard status != 200 else { throw NetworkViolation("an answer without a request") }
      hasRefusal = true
      phase = .refusal
      return true
    }
    count = 0
    let length = lines.first { $0.hasPrefix("content-length: ") }.flatMap { Int($0.dropFirst(16)) }
    if let length {
      guard length == plans[0].answerBytes else {
        throw NetworkViolation("the answer to request \(plans[0].id) has \(length) bytes")
      }
      phase = .body(.length(length))
    } else {
      phase = .body(lines.contains("transfer-encoding: chunked") ? .chunks : .connection)
    }
    return true
  }

  private mutating func takeChunkHead() throws(NetworkViolation) -> Bool {
    guard let text = takeText(upTo: "\r\n") else { return false }
    guard let size = Int(text, radix: 16) else { throw NetworkViolation("a chunk is malformed: \(text)") }
    guard size == 0 else {
      phase = .body(.chunk(size))
      return true
    }
    // The empty line behind the last chunk. There are no trailers.
    phase = .body(.chunk(0))
    guard input.count >= 2 else {
      input = Array("0\r\n".utf8) + input
      phase = .body(.chunks)
      return false
    }
    guard input.starts(with: [13, 10]) else { throw NetworkViolation("an answer has no end") }
    input.removeFirst(2)
    return complete()
  }

  private mutating func take(_ byteCount: Int) throws(NetworkViolation) -> Int {
    guard byteCount > 0, let plan = plans.first else { return 0 }
    let expected = RequestPlan.pattern(2 * plan.id + 1, count..<count + byteCount)
    guard count + byteCount <= plan.answerBytes, input.starts(with: expected) else {
      throw NetworkViolation("the answer to request \(plan.id) has other bytes after \(count)")
    }
    input.removeFirst(byteCount)
    count += byteCount
    return byteCount
  }

  @discardableResult
  private mutating func complete() -> Bool {
    guard count == plans[0].answerBytes else { return false }
    answered.append(plans.removeFirst().id)
    phase = .head
    return true
  }

  private mutating func takeText(upTo end: String) -> String? {
    let end = Array(end.utf8)
    guard input.count >= end.count else { return nil }
    for start in 0...input.count - end.count where input[start..<start + end.count].elementsEqual(end) {
      let text = String(decoding: input[..<start], as: UTF8.self)
      input.removeFirst(start + end.count)
      return text
    }
    return nil
  }
}
