// Fuzzes WebChannel: the whole server between requests of HTTP/1.1 and a store in memory.
//
// Whatever the requests are:
//   - each answer is well-formed, and each refusal is an error in JSON with the status of its answer
//   - requests other than back channels are answered at once
//   - frames have the right lengths, numbers are consecutive, and an array that comes again is the same
//   - a session has one back channel at most, and is unknown after its end
//   - sessions are over a minute after their clients are gone, and hold no memory then
//   - a server that shuts down opens no session, and waits for none that is over

import HTTPTransport

struct WebChannelTarget: FuzzTarget {
  static let name = "webchannel"
  let seeds = ChannelSeeds.sequences.map { $0.flatMap(\.written) }

  init(seed: UInt64) {}

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    let server: ChannelFuzzServer
    do { server = try ChannelFuzzServer() } catch { throw FuzzFinding("there is no server: \(error)") }
    defer { server.close() }
    var run = ChannelFuzzRun(server)
    for step in ChannelStep.all(in: input) { try run.perform(step) }
    try run.finish()
    return run.outcome
  }

  func variant(of input: [UInt8], other: [UInt8], _ random: inout SeededRandom) -> [UInt8]? {
    var steps = ChannelStep.all(in: input)
    guard !random.oneIn(12), !steps.isEmpty else { return nil }
    let another = ChannelStep.all(in: other).randomElement(using: &random) ?? ChannelStep(kind: .poll)
    for _ in 0..<1 + random.below(3) where !steps.isEmpty { Self.change(&steps, another, &random) }
    return steps.flatMap(\.written)
  }

  private static func change(
    _ steps: inout [ChannelStep], _ another: ChannelStep, _ random: inout SeededRandom
  ) {
    let place = random.below(steps.count)
    let piece = ChannelSeeds.pieces[random.below(ChannelSeeds.pieces.count)]
    switch random.below(11) {
    case 0: steps.insert(another, at: place)
    case 1: steps.insert(steps[place], at: random.below(steps.count))
    case 2: steps.remove(at: place)
    case 3: steps.swapAt(place, random.below(steps.count))
    case 4: steps[place].isLate.toggle()
    case 5: steps[place].session = UInt8(random.below(random.oneIn(3) ? 128 : 4))
    case 6: steps[place].parameters += (steps[place].parameters.isEmpty ? [] : [UInt8(ascii: "&")]) + piece
    case 7: steps[place].parameters = piece
    case 8: insert(random.oneIn(8) ? Growth.text(&random) : piece, into: &steps[place].body, &random)
    case 9: steps[place].body = another.body
    default:
      guard !steps[place].body.isEmpty else { return }
      steps[place].body[random.below(steps[place].body.count)] = UInt8(random.below(256))
    }
  }

  private static func insert(_ piece: [UInt8], into body: inout [UInt8], _ random: inout SeededRandom) {
    body.insert(contentsOf: piece, at: random.oneIn(2) ? body.count : random.below(body.count + 1))
  }
}

/// The steps of one input.
struct ChannelFuzzRun {
  private static let unknownID = String(repeating: "0", count: 32)

  private let server: ChannelFuzzServer
  private var sessions: [ChannelFuzzSession] = []
  private var connections: [ChannelFuzzConnection] = []
  private var outcomes: [String] = []
  private var lastRequest = 0
  private var isDraining = false

  init(_ server: ChannelFuzzServer) { self.server = server }

  var outcome: String { outcomes.suffix(2).joined(separator: ", ") }

  mutating func perform(_ step: ChannelStep) throws(FuzzFinding) {
    switch step.kind {
    case .openListen, .openWrite: try open(step)
    case .send, .stream, .poll, .terminate: try request(step)
    case .cut:
      guard let session = session(of: step), let back = session.openBack else { return }
      try server.cut(back)
      session.cut(now: server.loop.now)
    case .wait: try wait(seconds: Int(step.session))
    case .drain: try drain()
    }
    for session in sessions { try session.readBack(now: server.loop.now) }
    guard server.openChannels <= sessions.count else {
      throw FuzzFinding("\(server.openChannels) sessions are open, and \(sessions.count) were opened")
    }
  }

  /// All clients go. A minute later nothing is left.
  mutating func finish() throws(FuzzFinding) {
    for connection in connections where !connection.isOver { try server.cut(connection) }
    try server.awaitService()
    try server.advance(seconds: 61)
    try server.advance(seconds: 61)
    guard server.undeliveredSessions == 0 else {
      throw FuzzFinding("a shutdown waits for \(server.undeliveredSessions) sessions that are over")
    }
    guard server.openChannels == 0, server.openStreams == 0, server.heldBytes == 0 else {
      throw FuzzFinding(
        "\(server.openChannels) sessions, \(server.openStreams) calls and \(server.heldBytes) bytes are left")
    }
  }

  private func session(of step: ChannelStep) -> ChannelFuzzSession? {
    sessions.isEmpty ? nil : sessions[Int(step.session) % sessions.count]
  }

  // MARK: Requests

  private mutating func open(_ step: ChannelStep) throws(FuzzFinding) {
    let isListen = step.kind == .openListen
    let path = "/google.firestore.v1.Firestore/\(isListen ? "Listen" : "Write")/channel"
    let answer = try send(step, "POST", "\(path)?VER=8&CVER=22&RID=\(nextRequest())&zx=a", step.body)
    guard answer.hasEnded else { throw FuzzFinding("a request that opens a session has no answer") }
    note(step, answer)
    if !step.isPlain { noteUncertainty() }
    guard let id = openedID(answer) else {
      guard !step.isPlain || answer.status != 200 else {
        throw FuzzFinding("a session without an id is open")
      }
      return
    }
    try add(id, step)
  }

  private mutating func drain() throws(FuzzFinding) {
    guard !isDraining else { return }
    isDraining = true
    try server.drain()
    for session in sessions { session.noteDrain() }
  }

  /// Adds a session that a request has opened.
  private mutating func add(_ id: String, _ step: ChannelStep) throws(FuzzFinding) {
    guard !isDraining else { throw FuzzFinding("a server that shuts down opens a session") }
    guard !sessions.contains(where: { $0.id == id }), id.utf8.count == 32 else {
      throw FuzzFinding("the session \(id) is opened twice")
    }
    // A whole target can have another method.
    let target = String(decoding: step.parameters, as: UTF8.self)
    let isListen = target.hasPrefix("/") ? target.contains("/Listen/") : step.kind == .openListen
    let session = ChannelFuzzSession(id, isListen: isListen, now: server.loop.now)
    session.isUncertain = !step.isPlain
    sessions.append(session)
    try server.awaitService()
  }

  private func openedID(_ answer: ChannelFuzzConnection) -> String? {
    var reader = ChannelFrameReader()
    guard answer.status == 200, let frames = try? reader.take(answer.body), frames.count == 1,
      let arrays = try? ChannelArray.all(in: frames[0]), arrays.count == 1, arrays[0].id == 0,
      case .session(let id) = arrays[0].content
    else { return nil }
    return id
  }

  private mutating func request(_ step: ChannelStep) throws(FuzzFinding) {
    let session = session(of: step)
    let id = session?.id ?? Self.unknownID
    let number = session?.acknowledgement(isLate: step.isLate) ?? 0
    let path = session?.path ?? "/google.firestore.v1.Firestore/Listen/channel"
    let hadBack = session?.openBack
    let text = String(decoding: step.parameters, as: UTF8.self)
    let acknowledges = text.contains("AID=") ? "" : "&AID=\(number)"
    let target =
      switch step.kind {
      case .send: "\(path)?VER=8&SID=\(id)&RID=\(nextRequest())\(acknowledges)"
      case .terminate: "\(path)?VER=8&SID=\(id)&RID=\(nextRequest())&TYPE=terminate"
      default:
        "\(path)?VER=8&SID=\(id)&RID=rpc\(acknowledges)&CI=\(step.kind == .poll ? 1 : 0)&TYPE=xmlhttp"
      }
    let answer = try send(
      step, step.kind == .send ? "POST" : "GET", target, step.kind == .send ? step.body : nil)
    note(step, answer)
    guard step.isPlain, let session else {
      if !step.isPlain { noteUncertainty() }
      if !step.isPlain, let id = openedID(answer) { try add(id, step) }
      guard step.isPlain else { return }
      guard answer.status == 400 else {
        throw FuzzFinding("an unknown session has the status \(answer.status ?? 0)")
      }
      return
    }
    switch step.kind {
    case .send:
      try session.noteForward(answer, hadBack: hadBack, acknowledges: number)
      try server.awaitService()
    case .terminate: try session.noteTermination(answer)
    default:
      try session.begin(answer, isPoll: step.kind == .poll, after: number, now: server.loop.now)
    }
  }

  /// Sends a request of a step, and checks the form of its answer.
  private mutating func send(
    _ step: ChannelStep, _ method: String, _ target: String, _ body: [UInt8]?
  ) throws(FuzzFinding) -> ChannelFuzzConnection {
    let session = session(of: step)
    func filled(_ bytes: [UInt8]) -> [UInt8] {
      var text = bytes
      for (name, value) in [("{S}", session?.id ?? Self.unknownID), ("{T}", session?.token ?? "")] {
        text = Self.replaced(Array(name.utf8), by: Array(value.utf8), in: text)
      }
      return text
    }
    var whole = Array(target.utf8)
    let parameters = filled(step.parameters).map { $0 > 0x20 && $0 < 0x7F ? $0 : UInt8(ascii: "x") }
    if parameters.first == UInt8(ascii: "/") {
      whole = parameters
    } else if !parameters.isEmpty {
      whole += [UInt8(ascii: "&")] + parameters
    }
    let connection = try server.send(method, whole, body.map(filled))
    connections.append(connection)
    try checkRefusal(connection)
    return connection
  }

  private static func replaced(_ name: [UInt8], by value: [UInt8], in text: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var rest = text[...]
    while !rest.isEmpty {
      if rest.starts(with: name) {
        result += value
        rest = rest.dropFirst(name.count)
      } else {
        result.append(rest.removeFirst())
      }
    }
    return result
  }

  private func checkRefusal(_ answer: ChannelFuzzConnection) throws(FuzzFinding) {
    guard let status = answer.status, status != 200, status != 204 else { return }
    guard answer.hasEnded else { throw FuzzFinding("a refusal with \(status) does not end") }
    if answer.isMalformed {
      guard [400, 413, 414, 431].contains(status) else {
        throw FuzzFinding("a malformed request has the status \(status)")
      }
      return
    }
    let error = JSONTree(answer.body)["error"]
    guard error?["code"] == .number(Double(status)), error?["message"]?.text != nil,
      error?["status"]?.text != nil
    else {
      throw FuzzFinding(
        "a refusal with \(status) is \(String(decoding: answer.body.prefix(200), as: UTF8.self))")
    }
    guard status < 500 || status == 501 || status == 503 else {
      throw FuzzFinding("an answer has the status \(status): \(error?["message"]?.text ?? "")")
    }
  }

  private mutating func wait(seconds: Int) throws(FuzzFinding) {
    let counts = sessions.map { $0.openBack?.body.count ?? 0 }
    try server.advance(seconds: seconds)
    for (session, count) in zip(sessions, counts) {
      try session.notePassed(seconds: seconds, countBefore: count, now: server.loop.now)
    }
  }

  private mutating func nextRequest() -> Int {
    lastRequest += 1
    return lastRequest
  }

  /// A request may have meant any session.
  private func noteUncertainty() { for session in sessions { session.isUncertain = true } }

  private mutating func note(_ step: ChannelStep, _ answer: ChannelFuzzConnection) {
    var text = "\(step.kind) \(answer.status == 200 ? "ok" : answer.status == nil ? "open" : "refused")"
    if answer.status != 200, let message = JSONTree(answer.body)["error"]?["message"]?.text {
      text += " " + message.withoutNumbers.prefix(40)
    }
    if !outcomes.contains(text) { outcomes.append(text) }
  }
}
