// The frames of WebChannel, as the clients of the tests read them.

import Harness
import Testing

@Suite struct ChannelFrameTests {
  private func frames(_ text: String, pieces: Int = 1) throws -> [String] {
    var reader = ChannelFrameReader()
    var frames: [[UInt8]] = []
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: pieces) {
      frames += try reader.take(bytes[start..<min(start + pieces, bytes.count)])
    }
    try #require(!reader.isWithinFrame)
    return frames.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(arguments: [1, 3, 1000]) func framesAreFoundInPieces(pieces: Int) throws {
    let text = "14\n[[1,[\"noop\"]]]15\n[[2,[\"close\"]]]3\n[]\n"
    #expect(
      try frames(text, pieces: pieces) == ["[[1,[\"noop\"]]]", "[[2,[\"close\"]]]", "[]\n"])
  }

  @Test func lengthsCountUnitsOfUTF16() throws {
    #expect(try frames("7\n[\"é😀\"]") == ["[\"é😀\"]"])
    #expect(throws: Violation.self) { try frames("10\n[\"é😀\"]2\n[]") }
    #expect(throws: Violation.self) { try frames("6\n[\"é😀\"]") }
  }

  @Test(arguments: [
    "13\n[[1,[\"noop\"]]]14\n", "15\n[[1,[\"noop\"]]]14\n[[2,[\"noop\"]]]", "16\n[[1,[\"noop\"]]]", "a\n[]",
    "2 \n[]", "\n[]",
    "0\n2\n[]", "2\n{}", "5\n[\"😀\"]", "3\n[\u{1}\u{80}]",
  ])
  func wrongLengthsAreViolations(text: String) {
    #expect(throws: Violation.self) { try frames(text) }
  }

  @Test func bytesThatAreNotUTF8AreViolations() {
    for bytes: [UInt8] in [[0x80], [0xC3, 0x22], [0xFF], [0xC0, 0x80]] {
      var reader = ChannelFrameReader()
      #expect(throws: Violation.self) { try reader.take(Array("9\n[\"".utf8) + bytes) }
    }
  }

  @Test func arraysHaveNumbersAndContents() throws {
    let frame =
      #"[[0,["c","s1","",8,12,30000]],[1,[{"a":"],["}]],[2,["noop"]],[3,["close"]]"#
      + #",[4,[{"error":{"code":3,"status":"INVALID_ARGUMENT","message":"x, \"y\""}}]]]"#
    let arrays = try ChannelArray.all(in: Array(frame.utf8))
    #expect(arrays.map(\.id) == [0, 1, 2, 3, 4])
    #expect(arrays[0].content == .session("s1"))
    #expect(arrays[1].content == .message(Array(#"{"a":"],["}"#.utf8)))
    #expect(arrays[2].content == .noop)
    #expect(arrays[3].content == .close)
    guard case .error(let error) = arrays[4].content else { return #expect(Bool(false)) }
    #expect(error.code == 3)
    #expect(error.status == "INVALID_ARGUMENT")
    #expect(error.message == "x, \"y\"")
  }

  @Test(arguments: [
    "[]", "[1]", "[[1]]", "[[-1,[\"noop\"]]]", "[[1,[]]]", "[[1,[\"other\"]]]", "[[1,[{},{}]]]", "[[1,[{]]]",
    "[[1.5,[\"noop\"]]]", "[[0,[\"c\",\"\",\"\",8,12,30000]]]",
  ])
  func otherArraysAreViolations(text: String) {
    #expect(throws: Violation.self) { try ChannelArray.all(in: Array(text.utf8)) }
  }

  @Test func theStatusHasThreeNumbers() throws {
    let status = try ChannelArray.status(in: Array("[1,7,120]".utf8))
    #expect(status == (true, 7, 120))
    for text in ["[1,7]", "[2,7,0]", "[1,-1,0]", "[1,\"7\",0]", "{}"] {
      #expect(throws: Violation.self) { try ChannelArray.status(in: Array(text.utf8)) }
    }
  }
}
