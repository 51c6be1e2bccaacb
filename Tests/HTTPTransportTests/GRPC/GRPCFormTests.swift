// Messages, timeouts and status texts of gRPC as bytes.

import CAllocations
import Harness
import Testing

@testable import HTTPTransport

@Suite struct GRPCFormTests {
  // MARK: Messages

  @Test func everySplitOfABodyGivesTheSameMessages() throws {
    let messages: [[UInt8]] = [[1, 2, 3], [], [UInt8](repeating: 9, count: 300), [0]]
    let body = messages.flatMap { CallPeer.frame($0) }
    for first in 0...body.count {
      for second in stride(from: first, through: body.count, by: 37) {
        var decoder = GRPCFrameDecoder(messageBytesMax: 300)
        var decoded: [[UInt8]] = []
        for piece in [body[..<first], body[first..<second], body[second...]] {
          var rest = piece
          while let message = try decoder.next(&rest) { decoded.append(message) }
          #expect(rest.isEmpty)
        }
        try decoder.finish()
        #expect(decoded == messages, "split at \(first) and \(second)")
      }
    }
  }

  @Test func anAnnouncedMessageTakesNoMemory() throws {
    var decoder = GRPCFrameDecoder(messageBytesMax: 100_000_000)
    var rest = [0, 5, 0, 0, 0, 1, 2][...] as ArraySlice<UInt8>
    let before = allocated_bytes_of_this_thread()
    #expect(try decoder.next(&rest) == nil)
    let taken = allocated_bytes_of_this_thread() - before
    if allocations_are_counted() { #expect(taken < 1000) }
    #expect(throws: GRPCStatus.self) { try decoder.finish() }
  }

  @Test func aLengthAboveTheLimitIsRefusedWithItsPrefix() {
    for length in [301, 0x00FF_FFFF, 0xFFFF_FFFF] as [UInt32] {
      var decoder = GRPCFrameDecoder(messageBytesMax: 300)
      var rest = ([0] + (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) })[...]
      #expect(throws: GRPCStatus.self) { try decoder.next(&rest) }
    }
  }

  @Test func aMessageHasItsPrefix() {
    for count in [0, 1, 255, 256, 65_536, 65_537, 70_000] {
      let message = [UInt8](repeating: 3, count: count)
      var sent: [UInt8] = []
      GRPCFrame.forEachPiece(of: message) { sent += $0 }
      #expect(sent == CallPeer.frame(message))
    }
  }

  // MARK: Timeouts

  @Test(
    arguments: [
      ("1n", 1), ("250u", 250_000), ("7m", 7_000_000), ("10S", 10_000_000_000), ("2M", 120_000_000_000),
      ("1H", 3_600_000_000_000), ("00000001S", 1_000_000_000), ("0H", 0),
      ("99999999M", 5_999_999_940_000_000_000),
      ("99999999H", UInt64(Int64.max)), ("2562048H", UInt64(Int64.max)),
      ("2562047H", 9_223_369_200_000_000_000),
    ] as [(String, UInt64)])
  func aTimeoutIsANumberOfNanoseconds(text: String, nanoseconds: UInt64) {
    #expect(GRPCTimeout.nanoseconds(text.utf8) == nanoseconds)
  }

  @Test(arguments: [
    "", "S", "1", "1s", "1h", "123456789S", "-1S", "+1S", "1.5S", " 1S", "1S ", "1 S", "\u{661}S", "1SS",
  ])
  func aMalformedTimeoutIsNone(text: String) {
    #expect(GRPCTimeout.nanoseconds(text.utf8) == nil)
  }

  // MARK: Status texts

  @Test(arguments: [
    ("", ""), ("plain text", "plain text"), ("100 %", "100 %25"), ("a\r\nb\u{0}\u{7F}", "a%0D%0Ab%00%7F"),
    ("\u{E9}\u{1F600}", "%C3%A9%F0%9F%98%80"), (" a ", "%20a%20"), (" ", "%20"), ("  ", "%20%20"),
    ("~!\"#$&'()*+,-./:;<=>?@[\\]^_`{|}", "~!\"#$&'()*+,-./:;<=>?@[\\]^_`{|}"),
  ])
  func aTextIsPercentEncoded(text: String, encoded: String) {
    #expect(GRPCStatusText.encoded(text) == encoded)
  }

  @Test(arguments: ["x", "\u{E9}", "\u{20AC}", "\u{1F600}", "%", " ", "a\u{1F600}"])
  func aLongTextIsCutBetweenCharacters(piece: String) throws {
    for start in ["", "a", "ab", "abc", " "] {
      let text = start + String(repeating: piece, count: 5000)
      let encoded = GRPCStatusText.encoded(text)
      #expect(encoded.utf8.count <= 4096)
      #expect(encoded.utf8.count > 4096 - 17)
      let decoded = try #require(StatusTextModel.decoded(encoded))
      #expect(text.unicodeScalars.starts(with: decoded.unicodeScalars))
    }
  }
}
