// Fuzzes connections of HTTP/1.1.
//
//   input := byte*                                          what a client sends
//
// However the bytes are split, the handler sees the same requests, and the client gets the same responses. A
// client can read the output as responses to its requests. The memory is in proportion to the input.

import HTTPTransport

struct HTTPTarget: FuzzTarget {
  static let name = "http"

  /// Memory that a session may take for an input, and for each byte of it.
  private static let bytesMax = 1024 * 1024
  private static let bytesPerByteMax = 512

  let seeds = HTTPSeeds.all
  private var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    var whole: HTTPExchanges?
    let taken = AllocatedBytes.during { whole = HTTPExchanges(input, [], endsTurns: false) }
    guard let whole, (taken ?? 0) <= Self.bytesMax + Self.bytesPerByteMax * input.count else {
      throw FuzzFinding("\(input.count) bytes took \(taken ?? 0) bytes of memory")
    }
    try whole.check()
    let cuts = input.count <= 200 && random.oneIn(4) ? Array(0..<input.count) : cuts(of: input)
    let split = HTTPExchanges(input, cuts, endsTurns: false)
    guard split == whole else { throw FuzzFinding("the cuts of the input change its meaning") }
    // Responses that leave before their requests are complete have another form, and can end the connection.
    try HTTPExchanges(input, cuts, endsTurns: true).check()
    return whole.outcome
  }

  private mutating func cuts(of input: [UInt8]) -> [Int] {
    (0..<1 + random.below(8)).map { _ in random.below(input.count + 1) }.sorted()
  }

  func variant(of input: [UInt8], other: [UInt8], _ random: inout SeededRandom) -> [UInt8]? {
    guard !random.oneIn(3) else { return nil }
    var lines = HTTPSeeds.lines(of: input)
    let others = HTTPSeeds.lines(of: other)
    guard !lines.isEmpty, let another = others.randomElement(using: &random) else { return nil }
    let place = random.below(lines.count)
    switch random.below(7) {
    case 0: lines.insert(another, at: place)
    case 1: lines[place] = another
    case 2: lines.remove(at: place)
    case 3: lines.insert(lines[place], at: random.below(lines.count))
    case 4: lines.insert(HTTPSeeds.pieces[random.below(HTTPSeeds.pieces.count)], at: place)
    case 5: lines[place].insert(contentsOf: Growth.text(&random), at: random.below(lines[place].count + 1))
    default: lines += others
    }
    return lines.flatMap { $0 }
  }
}

/// The requests and responses that a session makes of an input.
struct HTTPExchanges: Equatable {
  let events: [ScriptedHandler.Event]
  let error: SessionError?
  private let text: String
  private let output: [UInt8]
  private let openRequests: Int

  static func == (left: HTTPExchanges, right: HTTPExchanges) -> Bool {
    left.events == right.events && left.error == right.error && left.text == right.text
  }

  init(_ input: [UInt8], _ cuts: [Int], endsTurns: Bool) {
    let handler = ScriptedHandler(
      respond: { request, response in
        if request.target.utf8.starts(with: "/now".utf8) { Self.answer(response) }
        if request.target.utf8.starts(with: "/begin".utf8) { response.begin(200) }
        if request.target.utf8.starts(with: "/abort".utf8) { response.abort() }
      },
      finish: { response in
        response.send([0x61])
        Self.answer(response)
      })
    var limits = HTTPLimits()
    limits.headerBytesMax = 600
    limits.headerFieldsMax = 12
    limits.bodyBytesMax = 2000
    // Responses that wait for room make the requests depend on the turns of the loop.
    limits.pauseBytes = .max
    let peer = SessionPeer(handler, limits)
    var start = 0
    for cut in cuts + [input.count] {
      peer.send(input[start..<cut])
      if endsTurns { peer.takeAll() }
      start = cut
    }
    peer.takeAll()
    error = peer.error
    peer.session.close()
    openRequests = peer.session.openRequests
    events = handler.events
    text = peer.text
    output = peer.output
  }

  private static func answer(_ response: HTTPResponse) {
    response.begin(200, HTTPFields(["content-type": "text/plain"]))
    response.send(Array("answer".utf8))
    response.end(HTTPFields(["x-end": "1"]))
  }

  /// Checks that each request ends once, and that the output is responses to the requests.
  func check() throws(FuzzFinding) {
    guard openRequests == 0 else { throw FuzzFinding("a request is open after the end") }
    var isOpen = false
    var methods: [String] = []
    for event in events {
      switch event {
      case .request(let method, _, _, _):
        isOpen = true
        methods.append(method)
      case .body: guard isOpen else { throw FuzzFinding("bytes after the end of a request") }
      case .finish, .cancel:
        guard isOpen else { throw FuzzFinding("a second end of a request") }
        isOpen = false
      }
    }
    try ResponseReader.check(output, methods)
  }

  /// The shape of the exchanges, without their content.
  var outcome: String {
    let kinds = events.map { event in
      switch event {
      case .request(let method, _, _, _): method.count > 7 ? "X" : method
      case .body: "body"
      case .finish: "finish"
      case .cancel: "cancel"
      }
    }
    let reason = error.map { "\($0.refusal) \($0.detail.withoutNumbers)" } ?? "open"
    return kinds.prefix(6).joined(separator: " ") + ": " + reason
  }
}
