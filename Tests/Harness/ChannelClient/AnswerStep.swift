// The inputs of the fuzz target of WebChannel's client.

import FirestoreRemote
import HTTPClient

/// One step of an input.
struct AnswerStep: Equatable {
  enum Kind: UInt8, CaseIterable {
    case head, bytes, end, fail
    case timer, send
  }

  var kind: Kind
  /// The request that the step answers, among those that are open.
  var which: UInt8 = 0
  /// The bytes of an answer or of a message. For a head, the status as text, and the id of a session of HTTP.
  var text: [UInt8] = []

  init(_ kind: Kind, which: UInt8 = 0, _ text: String = "") {
    self.kind = kind
    self.which = which
    self.text = Array(text.utf8)
  }

  var head: WebEvent {
    let parts = text.split(separator: UInt8(ascii: " "), maxSplits: 1).map {
      String(decoding: $0, as: UTF8.self)
    }
    let status = parts.first.flatMap { Int($0) } ?? 200
    return .head(status: status, fields: parts.count > 1 ? ["x-http-session-id": parts[1]] : [:])
  }

  static func all(in input: [UInt8]) -> [AnswerStep] {
    var rest = input[...]
    var steps: [AnswerStep] = []
    while rest.count >= 4, steps.count < 80 {
      var step = AnswerStep(Kind.allCases[Int(rest.removeFirst()) % Kind.allCases.count])
      step.which = rest.removeFirst()
      let size = Int(rest.removeFirst()) | Int(rest.removeFirst()) << 8
      step.text = Array(rest.prefix(size))
      rest = rest.dropFirst(size)
      steps.append(step)
    }
    return steps
  }

  var written: [UInt8] {
    let count = min(text.count, Int(UInt16.max))
    return [kind.rawValue, which, UInt8(count & 0xFF), UInt8(count >> 8)] + text.prefix(count)
  }

  mutating func mutateText(_ random: inout SeededRandom) {
    guard !random.oneIn(3), !text.isEmpty else {
      let piece = Self.pieces[random.below(Self.pieces.count)]
      text.insert(contentsOf: Array(piece.utf8), at: random.below(text.count + 1))
      return
    }
    text[random.below(text.count)] = UInt8(random.below(256))
  }

  private static let pieces = [
    "2\n[]", "13\n[[1,[\"noop\"]]", "[", "]", "\"", "\\", "\n", "9", "0", "1", "é😀", ",", "{", "}",
    "99999999\n",
    "[[2,[{\"error\":{\"code\":7}}]]]", "[\"close\"]", "[\"c\",\"s\",\"\",8,12,1]",
  ]

  private static func framed(_ text: String) -> String { "\(text.utf16.count)\n\(text)" }

  private static let opening = [
    AnswerStep(.head, "200 g+s"), AnswerStep(.bytes, framed(#"[[0,["c","sid","",8,12,30000]]]"#)),
    AnswerStep(.end),
  ]

  /// Valid and invalid inputs for the fuzzer to start from.
  static let seeds: [[AnswerStep]] = [
    opening + [
      AnswerStep(.head, "200"),
      AnswerStep(.bytes, framed(#"[[1,["noop"]]]"#) + framed(#"[[2,[{"é":"😀"}]],[3,[{}]]]"#)),
      AnswerStep(.send, "{}"), AnswerStep(.head, which: 1, "200"),
      AnswerStep(.bytes, which: 1, framed("[1,3,0]")),
      AnswerStep(.end, which: 1), AnswerStep(.bytes, framed(#"[[4,["close"]]]"#)),
    ],
    opening + [
      AnswerStep(.timer), AnswerStep(.head, "200"), AnswerStep(.bytes, framed(#"[[1,[{}]]]"#)),
      AnswerStep(.end),
      AnswerStep(.fail), AnswerStep(.timer), AnswerStep(.timer), AnswerStep(.head, "400"),
      AnswerStep(.bytes, #"{"error":{"code":400,"message":"Unknown SID","status":"INVALID_ARGUMENT"}}"#),
      AnswerStep(.end),
    ],
    opening + [
      AnswerStep(.head, "200"),
      AnswerStep(.bytes, framed(#"[[1,[{"error":{"code":7,"status":"ABORTED"}}]]]"#)),
    ],
    opening + [
      AnswerStep(.send, "1"), AnswerStep(.head, which: 1, "503"), AnswerStep(.end, which: 1),
      AnswerStep(.timer),
      AnswerStep(.timer), AnswerStep(.head, which: 0, "200"), AnswerStep(.bytes, framed("[[7,[{}]]]")),
    ],
    [
      AnswerStep(.head, "403"), AnswerStep(.bytes, #"{"error":{"status":"PERMISSION_DENIED"}}"#),
      AnswerStep(.end),
    ],
    [AnswerStep(.fail), AnswerStep(.timer), AnswerStep(.fail)],
  ]
}
