// Chunked bodies, compared with a decoder that has all bytes at once.

import Harness
import Testing

@testable import HTTPTransport

@Suite struct HTTP1ChunkTests {
  private static let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

  @Test func decodedBodiesAreThoseOfTheModel() throws {
    var random = SeededRandom(seed: 11)
    var counts: [ChunkModel.Outcome: Int] = [:]
    for round in 0..<4000 {
      let bytes = Self.randomBody(&random)
      let (outcome, body, used) = ChunkModel.decode(bytes)
      counts[outcome, default: 0] += 1
      // What follows a complete body is the next request.
      let input = Array(Self.head.utf8) + (outcome == .complete ? Array(bytes[..<used]) : bytes)
      let places = (0..<random.below(4)).map { _ in random.below(input.count + 1) }.sorted()
      let parsed = ParsedBytes(input, splitAt: places)
      #expect(parsed.refusal == nil || outcome == .malformed, "round \(round): \(text(bytes))")
      switch outcome {
      case .complete:
        #expect(parsed.events == [parsed.events[0]] + (body.isEmpty ? [] : [.body(body)]) + [.end])
      case .incomplete:
        #expect(!parsed.events.contains(.end), "round \(round): \(text(bytes))")
        #expect(Self.body(parsed) == body, "round \(round): \(text(bytes))")
      case .malformed:
        #expect(parsed.refusal?.status == 400, "round \(round): \(text(bytes))")
        #expect(Self.body(parsed) == body, "round \(round): \(text(bytes))")
      }
    }
    for outcome in ChunkModel.Outcome.allCases { #expect(counts[outcome, default: 0] > 200, "\(outcome)") }
  }

  @Test func chunksAreCountedTogether() {
    var limits = HTTPLimits()
    limits.bodyBytesMax = 8
    func status(_ body: String) -> Int? { ParsedBytes((Self.head + body).utf8, limits).refusal?.status }
    #expect(status("4\r\nabcd\r\n4\r\nabcd\r\n0\r\n\r\n") == nil)
    #expect(status("4\r\nabcd\r\n5") == 413)
    #expect(status("9") == 413)
    #expect(status("8\r\nabcdefgh\r\n00\r\n\r\n") == nil)
  }

  private static func body(_ parsed: ParsedBytes) -> [UInt8] {
    parsed.events.flatMap { event -> [UInt8] in if case .body(let bytes) = event { bytes } else { [] } }
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self).debugDescription }

  /// A valid body, or one with a change.
  private static func randomBody(_ random: inout SeededRandom) -> [UInt8] {
    var bytes: [UInt8] = []
    for _ in 0..<random.below(4) {
      let content = random.bytes(1 + random.below(20))
      let zeros = String(repeating: "0", count: random.below(3))
      let size = String(content.count, radix: 16, uppercase: random.oneIn(2))
      bytes += "\(zeros)\(size)\(random.oneIn(3) ? ";a=\"b\"" : "")\r\n".utf8
      bytes += content + Array("\r\n".utf8)
    }
    bytes += (random.oneIn(3) ? "00;x\r\n" : "0\r\n").utf8
    if random.oneIn(3) { bytes += "Sum: 7\r\nX:\r\n".utf8 }
    bytes += "\r\n".utf8
    if random.oneIn(4) { bytes.removeLast(random.below(bytes.count) + 1) }
    if random.oneIn(3), !bytes.isEmpty {
      let signs = Array("\r\n;0aG \t".utf8)
      let place = random.below(bytes.count)
      let sign = signs[random.below(signs.count)]
      if random.oneIn(2) { bytes[place] = sign } else { bytes.insert(sign, at: place) }
    }
    return bytes
  }
}

/// Decodes a body that is an array. Knows no limits.
private enum ChunkModel {
  enum Outcome: CaseIterable { case complete, incomplete, malformed }

  /// The outcome, the body as far as it is known, and the number of bytes until its end.
  static func decode(_ bytes: [UInt8]) -> (outcome: Outcome, body: [UInt8], used: Int) {
    var body: [UInt8] = []
    var rest = bytes[...]
    while true {
      let (line, state) = takeLine(&rest, isSize: true)
      guard let line else { return (state, body, 0) }
      let digits = line.prefix { $0 != UInt8(ascii: ";") }
      guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16) else {
        return (.malformed, body, 0)
      }
      if size == 0 { break }
      body += rest.prefix(size)
      rest = rest.dropFirst(size)
      for expected in "\r\n".utf8 {
        guard let byte = rest.popFirst() else { return (.incomplete, body, 0) }
        guard byte == expected else { return (.malformed, body, 0) }
      }
    }
    while true {
      let (line, state) = takeLine(&rest, isSize: false)
      guard let line else { return (state, body, 0) }
      if line.isEmpty { return (.complete, body, rest.startIndex) }
    }
  }

  /// A line without its end; nil if it is incomplete or malformed.
  private static func takeLine(
    _ rest: inout ArraySlice<UInt8>, isSize: Bool
  ) -> (ArraySlice<UInt8>?, Outcome) {
    let line = rest.prefix { $0 != 0x0D && $0 != 0x0A }
    let digits = line.prefix { $0 != UInt8(ascii: ";") }
    let isValid = line.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
    if !isValid { return (nil, .malformed) }
    if isSize {
      let isHex = digits.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit && $0 < 0x80 }
      if !isHex || digits.count > 15 || (digits.isEmpty && !line.isEmpty) { return (nil, .malformed) }
    }
    let end = rest[line.endIndex...]
    guard let first = end.first else { return (nil, .incomplete) }
    guard first == 0x0D else { return (nil, .malformed) }
    guard let second = end.dropFirst().first else { return (nil, .incomplete) }
    guard second == 0x0A, !isSize || !digits.isEmpty else { return (nil, .malformed) }
    rest = end.dropFirst(2)
    return (line, .complete)
  }
}
