// Pieces of answers that arrive in parts, and the arrays in them.

import OfflineSync
import Testing

@testable import FirestoreRemote

@Suite struct PieceReaderTests {
  private func read(_ parts: [[UInt8]], lengthMax: Int = 1000) throws(ChannelFault) -> [String] {
    var reader = PieceReader(lengthMax: lengthMax)
    var pieces: [String] = []
    for part in parts {
      reader.add(part)
      while let piece = try reader.next() { pieces.append(String(decoding: piece, as: UTF8.self)) }
    }
    return pieces
  }

  private func arrays(_ text: String) throws(ChannelFault) -> [ReceivedArray] {
    try ReceivedArray.all(in: Array(text.utf8))
  }

  private func framed(_ text: String) -> [UInt8] { Array("\(text.utf16.count)\n\(text)".utf8) }

  @Test func anAnswerCanBeCutAtTwoBytes() throws {
    let texts = [#"[[1,["noop"]]]"#, #"[[2,[{"é":"😀ü漢"}]]]"#, "[]", #"[[3,["😀😀"]]]"#]
    let bytes = texts.flatMap(framed)
    for first in 0...bytes.count {
      for second in first...bytes.count {
        let parts = [Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])]
        #expect(try read(parts) == texts)
      }
    }
    #expect(try read(bytes.map { [$0] }) == texts)
  }

  @Test func aPieceThatIsNotCompleteIsHeld() throws {
    var reader = PieceReader(lengthMax: 100)
    reader.add(Array("1".utf8))
    #expect(try reader.next() == nil)
    #expect(reader.isWithinPiece)
    reader.add(Array("0\n[12345".utf8))
    #expect(try reader.next() == nil)
    #expect(reader.heldBytes == 6)
    reader.add(Array("678]".utf8))
    #expect(try reader.next()?.count == 10)
    #expect(try reader.next() == nil)
    #expect(!reader.isWithinPiece && reader.heldBytes == 0)
  }

  @Test(arguments: [
    "x", "-1\n", " 1\n1", "\n", "0\n", "1\r\n1", "1.0\n1", "<html>", "2\n é", "3\n[😀", "1\n\u{80}",
  ])
  func aLengthThatIsNoneIsRefused(text: String) {
    #expect(throws: ChannelFault.malformed) { try read([Array(text.utf8)]) }
  }

  @Test(arguments: ["1001\n", "9999999999", "00000000001\n", "18446744073709551616\n"])
  func aLongPieceIsRefusedBeforeItIsRead(text: String) {
    #expect(throws: ChannelFault.tooLong) { try read([Array(text.utf8)]) }
  }

  /// A document of 1 MiB can have 24 MiB in JSON.
  @Test func theLongestMessageOfAServerIsRead() throws {
    let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 20)
    let count = 24
    var reader = PieceReader(lengthMax: ChannelSettings().pieceLengthMax)
    reader.add(Array("\(count << 20)\n".utf8))
    #expect(try reader.next() == nil && reader.heldBytes == 0)
    for number in 1..<count {
      reader.add(bytes)
      #expect(try reader.next() == nil && reader.heldBytes == number << 20)
    }
    reader.add(bytes)
    #expect(try reader.next()?.count == count << 20)
    #expect(ChannelSettings().pieceLengthMax > 64 << 20)
  }

  /// A text of few units can have three times as many bytes.
  @Test func theBytesOfAPieceAreBounded() throws {
    let text = String(repeating: "漢", count: 40) + "]"
    #expect(try read([Array("41\n\(text)".utf8)], lengthMax: 121) == [text])
    #expect(throws: ChannelFault.tooLong) { try read([Array("41\n\(text)".utf8)], lengthMax: 120) }
  }

  @Test func bytesThatCountAsNoUnitAreBounded() {
    let bytes = Array("5\n[".utf8) + [UInt8](repeating: 0x80, count: 1_000)
    #expect(throws: ChannelFault.malformed) { try read([bytes]) }
  }

  @Test func allKindsOfArraysAreRead() throws {
    #expect(
      try arrays(
        #" [ [1,["noop"]], [2,[{"a": "]\"[", "b": [{}]}]],[3,["close"]],[4,["stop"]],[5,[]],[6,null],[7,[1]],[8,{"__sm__":{}}],[9,["later",1]],[10,[{"a":1},{"b":2}]]] "#
      )
        == [
          ReceivedArray(number: 1, content: .ignored),
          ReceivedArray(number: 2, content: .message(Array(#"{"a": "]\"[", "b": [{}]}"#.utf8))),
          ReceivedArray(number: 3, content: .close), ReceivedArray(number: 4, content: .stop),
          ReceivedArray(number: 5, content: .ignored), ReceivedArray(number: 6, content: .ignored),
          ReceivedArray(number: 7, content: .ignored), ReceivedArray(number: 8, content: .ignored),
          ReceivedArray(number: 9, content: .ignored),
          ReceivedArray(number: 10, content: .message(Array(#"{"a":1}"#.utf8))),
        ])
    #expect(try arrays("[]") == [])
  }

  @Test(arguments: [
    #"[[1,[{"error":{"code":7,"message":"no","status":"PERMISSION_DENIED"}}]]]"#,
    #"[[1,[ { "error" : { "status" : "PERMISSION_DENIED", "details": [{"a": []}], "message" : "no" } } ]]]"#,
    #"[[1,[[{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}]]]]"#,
    #"[[1,[{"error":{"code":403,"message":"no"}}]]]"#,
  ])
  func anErrorIsRead(text: String) throws {
    #expect(
      try arrays(text) == [
        ReceivedArray(number: 1, content: .error(RemoteError(.permissionDenied, "no")))
      ])
  }

  @Test func aGreetingIsRead() throws {
    #expect(
      try arrays(#"[[0,["c","a-b_c.D","",8,12,30000]]]"#).first?.content
        == .greeting(
          try ChannelGreeting([Array(#""a-b_c.D""#.utf8)[...], [], [], [], Array("30000".utf8)[...]])))
    for (text, keepAlive) in [
      (#"[[0,["c","a"]]]"#, nil), (#"[[0,["c","a",null,8,12,-1]]]"#, nil),
      (#"[[0,["c","a","",8,12,1]]]"#, 1_000_000),
      (#"[[0,["c","a","",8,12,1e99]]]"#, nil), (#"[[0,["c","a","",8,12,999999999999999999]]]"#, nil),
    ] as [(String, Int64?)] {
      guard case .greeting(let greeting) = try arrays(text).first?.content else {
        Issue.record("no greeting: \(text)")
        continue
      }
      #expect(greeting.keepAlive == keepAlive)
    }
  }

  @Test(arguments: [
    "", "[", "]", "[[", "[[1]]", "[[1,]]", "[[,[]]]", "[[-1,[]]]", "[[1.5,[]]]", "[[1e3,[]]]", "[[1,[]]",
    "[[1,[]]]]",
    "[[1,[]],]", "[[1,[\"a]]]", "[[1,[\"a\\\"]]]", "[[1,[\"\\", "[[1,[{]]]", "[[9007199254740992,[]]]",
    "[[99999999999999999999,[]]]", "{}", "null", "[[1,[]]] x", "[[0,[\"c\"]]]", "[[0,[\"c\",1]]]",
    "[[0,[\"c\",\"\"]]]",
    "[[0,[\"c\",\"a b\"]]]", "[[0,[\"c\",\"a\\n\"]]]", "[[0,[\"c\",\"é\"]]]", "[[1,[{} {}]]]", "[[1 1,[]]]",
    "[[1,[!]]]",
  ])
  func anotherTextIsRefused(text: String) {
    #expect(throws: ChannelFault.malformed) { try arrays(text) }
  }

  @Test func aTextThatIsCutIsRefused() throws {
    let text = Array(#"[[1,["noop"]],[2,[{"a":["\\",{"é":"😀"}]}]],[3,[{"error":{"code":7}}]]]"#.utf8)
    for end in 0..<text.count {
      #expect(throws: ChannelFault.malformed) { try ReceivedArray.all(in: Array(text[..<end])) }
    }
  }

  @Test func deepNestingTakesNoStack() throws {
    let depth = 500_000
    let open = String(repeating: "[", count: depth)
    let close = String(repeating: "]", count: depth)
    #expect(try arrays("[[1,[\(open)\(close)]]]") == [ReceivedArray(number: 1, content: .ignored)])
    #expect(
      try arrays("[[1,[{\"error\":\(open)\(close)}]]]").count == 1)
  }

  @Test func anAnswerToAForwardRequestIsRead() throws {
    let status = try ForwardStatus(framed("[1,17,12000]"))
    #expect(status.hasBackChannel && status.last == 17)
    #expect(try !ForwardStatus(framed("[0,0]")).hasBackChannel)
    for text in ["[1]", "[]", "{}", "[1,x]", "[1,2", "[\"a\",1]"] {
      #expect(throws: ChannelFault.malformed) { try ForwardStatus(framed(text)) }
    }
    #expect(throws: ChannelFault.malformed) { try ForwardStatus([]) }
  }
}
