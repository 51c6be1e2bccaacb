// The inputs of the fuzz target of WebChannel: sequences of requests, cuts and time.
//
//   input := step*
//   step  := kind:u8 session:u8 parameters:text body:text          text := size:u16 byte{size}
//
// Sizes are little-endian, and the last text may be shorter. `session` is one of the sessions that the server
// has opened. `{S}` stands for its id, and `{T}` for the last stream token that it has sent.

/// One step of an input.
struct ChannelStep: Equatable {
  enum Kind: UInt8, CaseIterable {
    case openListen, openWrite, send, stream, poll, terminate
    /// The client drops the back channel.
    case cut
    /// `session` seconds pass.
    case wait
    /// The server begins to shut down.
    case drain
  }

  /// A bit of `kind`: the request acknowledges as little as it may.
  private static let acknowledgesLess: UInt8 = 0x80

  var kind: Kind
  var isLate = false
  var session: UInt8 = 0
  /// Parameters in addition to those of the kind, or a whole target if they begin with a slash.
  var parameters: [UInt8] = []
  var body: [UInt8] = []

  /// Whether the model of the checker knows what the request means.
  var isPlain: Bool { parameters.isEmpty }

  static func all(in input: [UInt8]) -> [ChannelStep] {
    var rest = input[...]
    var steps: [ChannelStep] = []
    while rest.count >= 2, steps.count < 60 {
      let code = rest.removeFirst()
      let kind = Kind.allCases[Int(code & ~acknowledgesLess) % Kind.allCases.count]
      var step = ChannelStep(kind: kind, isLate: code & acknowledgesLess != 0)
      step.session = rest.removeFirst()
      step.parameters = text(&rest)
      step.body = text(&rest)
      steps.append(step)
    }
    return steps
  }

  private static func text(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
    guard rest.count >= 2 else { return [] }
    let size = Int(rest.removeFirst()) | Int(rest.removeFirst()) << 8
    let text = Array(rest.prefix(size))
    rest = rest.dropFirst(size)
    return text
  }

  var written: [UInt8] {
    func text(_ bytes: [UInt8]) -> [UInt8] {
      let count = min(bytes.count, Int(UInt16.max))
      return [UInt8(count & 0xFF), UInt8(count >> 8)] + bytes.prefix(count)
    }
    return [kind.rawValue | (isLate ? Self.acknowledgesLess : 0), session] + text(parameters) + text(body)
  }
}

// MARK: Seeds

/// Valid and invalid sequences for the fuzzer to start from.
enum ChannelSeeds {
  private static let documents = ServiceSeeds.documentsName
  private static let headers = "headers=Authorization%3ABearer%20owner%0D%0AX-Goog-Api-Client%3Aa%0D%0A&"
  private static let handshake = form([#"{"database":"\#(ServiceSeeds.database)"}"#], offset: 0)
  private static let query =
    #"{"database":"\#(ServiceSeeds.database)","addTarget":{"query":{"parent":"\#(documents)","structuredQuery":\#(ServiceSeeds.query)},"targetId":2}}"#
  private static let removal = #"{"database":"\#(ServiceSeeds.database)","removeTarget":2}"#
  private static let write =
    #"{"streamToken":"{T}","writes":[{"update":{"name":"\#(documents)/c/9","fields":{"n":{"integerValue":"5"},"t":{"stringValue":"é😀"}}}}]}"#
  private static let end = #"{"streamToken":"{T}","writes":[]}"#
  private static let failing =
    #"{"streamToken":"{T}","writes":[{"delete":"\#(documents)/c/none","currentDocument":{"exists":true}}]}"#

  static let sequences: [[ChannelStep]] = [
    [
      step(.openListen, headers + form([query], offset: 0)), step(.stream), step(.cut), late(.stream),
      step(.send, form([removal], offset: 1)), step(.poll), step(.terminate), step(.stream),
    ],
    [
      step(.openWrite, headers + handshake), step(.poll), step(.send, form([write], offset: 1)),
      step(.send, form([write], offset: 1)), step(.stream), step(.send, form([write, write], offset: 1)),
      step(.wait, seconds: 31), step(.stream), step(.wait, seconds: 62),
    ],
    [
      step(.openWrite, handshake), step(.stream), step(.send, form([write, end], offset: 1)), step(.stream),
      step(.poll), step(.send, form([], offset: 3)),
    ],
    [
      step(.openWrite, handshake), step(.stream), step(.send, form([failing], offset: 1)), late(.poll),
      step(.poll),
      step(.terminate),
    ],
    [
      step(.openWrite, handshake), step(.poll), step(.send, form([write], offset: 3)),
      step(.send, form([write], offset: 2)), step(.send, form([write], offset: 1)), step(.poll),
      step(.poll, parameters: "TO=1000"), step(.wait, seconds: 1), step(.wait, seconds: 62), step(.poll),
    ],
    [
      step(.openListen, form([query, query], offset: 0)), step(.openListen, form([removal], offset: 0)),
      step(.poll), step(.poll, parameters: "AID=1"), step(.poll, parameters: "AID=99"),
      step(.stream, parameters: "AID=0"), step(.stream, parameters: "AID=0"),
    ],
    [
      step(.openWrite, handshake), step(.poll), step(.send, form([write, write], offset: 1)), step(.drain),
      step(.openWrite, handshake), step(.send, form([write], offset: 3)), step(.poll), late(.stream),
      step(.stream), step(.poll),
    ],
    [
      step(.openListen, form([query], offset: 0)), step(.stream), step(.openWrite, handshake),
      step(.drain), step(.cut), late(.poll), step(.poll), step(.openListen, form([query], offset: 0)),
    ],
    [
      step(.openListen, "count=2&ofs=0&req0___data__=%7B"), step(.openListen, "headers=%FF&count=0"),
      step(.openListen, parameters: "/google.firestore.v1.Firestore/Other/channel"),
      step(.openListen, "count=0&ofs=0"), step(.poll), step(.send, "count=1&ofs=0&req0___data__=x"),
      step(.stream, parameters: "/google.firestore.v1.Firestore/Listen/channel?SID={S}&TYPE=terminate"),
    ],
  ]

  static let pieces: [[UInt8]] = [
    "AID=0", "AID=1", "AID=99999999999999999999", "AID=-1", "AID=", "CI=2", "CI=1", "TO=0",
    "TO=18446744073709551615", "RID=x", "RID=rpc", "VER=9", "CVER=1", "TYPE=html", "TYPE=terminate",
    "TYPE=init",
    "SID=0", "SID={S}", "X-HTTP-Session-Id=gsessionid", "%24httpHeaders=Authorization%3Aowner%0D%0A", "%",
    "&&", "=",
    "&count=1", "&count=0", "&count=99999", "&ofs=1", "&ofs=9007199254740991", "&req0___data__=%7B%7D",
    "&req1___data__=%7B%7D", "&req___data__=", "&req99999999999999999999___data__=", "headers=a", "+",
    "%F0%9F%98%80",
    "/google.firestore.v1.Firestore/Write/channel?SID={S}", "/google.firestore.v1.Firestore/Listen/channel?",
  ].map { Array($0.utf8) }

  private static func step(
    _ kind: ChannelStep.Kind, _ body: String = "", parameters: String = "", seconds: UInt8 = 0
  ) -> ChannelStep {
    ChannelStep(kind: kind, session: seconds, parameters: Array(parameters.utf8), body: Array(body.utf8))
  }

  private static func late(_ kind: ChannelStep.Kind) -> ChannelStep { ChannelStep(kind: kind, isLate: true) }

  /// A form with these messages, whose placeholders stay as they are.
  static func form(_ messages: [String], offset: Int) -> String {
    var text = "count=\(messages.count)&ofs=\(offset)"
    for (number, message) in messages.enumerated() {
      text += "&req\(number)___data__=\(FormText.encoded(message, except: "{}"))"
    }
    return text
  }
}
