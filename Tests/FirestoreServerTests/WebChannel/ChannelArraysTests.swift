// Numbered arrays: their form, their lengths, their acknowledgement.

import Testing

@testable import FirestoreServer

@Suite struct ChannelArraysTests {
  private func arrays(_ contents: String...) -> ChannelArrays {
    var arrays = ChannelArrays()
    for content in contents { arrays.append(Array(content.utf8)) }
    return arrays
  }

  private func text(_ arrays: ChannelArrays, after number: UInt64, bytesMax: Int = 1000, arraysMax: Int = 100)
    -> String?
  {
    arrays.piece(after: number, bytesMax: bytesMax, arraysMax: arraysMax)
      .map { String(decoding: $0.bytes, as: UTF8.self) }
  }

  @Test func pieceHasLengthAndNumbers() {
    let arrays = arrays(#"{"a":1}"#, #""noop""#)
    #expect(text(arrays, after: 0) == "28\n" + #"[[1,[{"a":1}]],[2,["noop"]]]"#)
    #expect(text(arrays, after: 1) == "14\n" + #"[[2,["noop"]]]"#)
    #expect(text(arrays, after: 2) == nil)
  }

  @Test(arguments: ["", "a", "é", "ह", "😀", "é😀ह\u{10FFFF}", "\u{FFFF}\u{10000}", "👩‍👩‍👧‍👦"])
  func lengthsAreThoseOfJavaScript(_ text: String) {
    #expect(UTF16Length.of(Array(text.utf8)) == text.utf16.count)
    let piece = self.text(arrays("\"\(text)\""), after: 0) ?? ""
    let body = piece.drop { $0 != "\n" }.dropFirst()
    #expect(Int(piece.prefix { $0 != "\n" }) == body.utf16.count)
  }

  @Test func acknowledgementDropsArrays() {
    var arrays = arrays("1", "22", "333")
    let drops = arrays.acknowledge(2)
    #expect(drops)
    #expect(arrays.count == 1)
    #expect(arrays.contentBytes == 3)
    #expect(arrays.acknowledged == 2)
    // An acknowledgement that was late on its way changes nothing.
    let isLate = arrays.acknowledge(1)
    #expect(isLate)
    #expect(arrays.acknowledged == 2)
    let isImpossible = arrays.acknowledge(4)
    #expect(!isImpossible)
    #expect(text(arrays, after: 1) == nil)
    #expect(text(arrays, after: 2)?.hasSuffix("[[3,[333]]]") == true)
    let dropsAll = arrays.acknowledge(3)
    #expect(dropsAll)
    #expect(arrays.heldBytes == 0)
    arrays.append([0x34])
    #expect(text(arrays, after: 3)?.hasSuffix("[[4,[4]]]") == true)
  }

  @Test func numbersGainDigits() {
    var arrays = ChannelArrays()
    for number in 1...1000 {
      arrays.append([0x31])
      let isLast = arrays.acknowledge(UInt64(number - 1))
      #expect(isLast)
      let body = "[[\(number),[1]]]"
      #expect(text(arrays, after: UInt64(number - 1)) == "\(body.utf8.count)\n\(body)")
    }
    let three = self.arrays("1", "é", "😀")
    #expect(text(three, after: 0) == "26\n[[1,[1]],[2,[é]],[3,[😀]]]")
  }

  @Test func piecesHaveBounds() {
    let arrays = arrays("1234567890", "1234567890", "1234567890")
    #expect(text(arrays, after: 0, bytesMax: 1)?.hasSuffix("\n[[1,[1234567890]]]") == true)
    #expect(text(arrays, after: 0, bytesMax: 40)?.hasSuffix("[[1,[1234567890]],[2,[1234567890]]]") == true)
    #expect(text(arrays, after: 0, arraysMax: 2)?.hasSuffix("[[1,[1234567890]],[2,[1234567890]]]") == true)
    #expect(arrays.piece(after: 0, bytesMax: 1000, arraysMax: 9)?.count == 3)
  }
}
