// The checks of the fuzz target for messages find messages that change on their way.

import FirestoreWire
import Testing

@testable import Harness

/// A message whose encoders are wrong: JSON has its text composed and its zero without a sign, and protobuf
/// has its text reversed.
private struct UnstableMessage: WireMessage {
  var text = ""
  var reversed = ""
  var number = 0.0

  mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
    try visitor.string(1, "text", in: &text)
    try visitor.string(2, "reversed", in: &reversed)
    try visitor.double(3, "number", in: &number)
  }

  mutating func visitFields(_ encoder: inout JSONMessageEncoder) throws(WireError) {
    var changed = self
    if text == "e\u{301}" { changed.text = "\u{E9}" }
    changed.number = number + 0
    try changed.visit(&encoder)
  }

  mutating func visitFields(_ encoder: inout ProtobufEncoder) throws(WireError) {
    var changed = self
    changed.reversed = String(reversed.reversed())
    try changed.visit(&encoder)
  }
}

@Suite struct WireAgreementTests {
  private func check(_ json: String) throws {
    _ = try WireAgreement.check(Array(json.utf8), as: UnstableMessage.self, .json)
  }

  @Test func aMessageThatStaysTheSamePasses() throws {
    try check(#"{"text":"a","reversed":"aba","number":"NaN"}"#)
  }

  @Test(arguments: [#"{"text":"e\u0301"}"#, #"{"reversed":"ab"}"#, #"{"number":-0.0}"#])
  func aMessageThatChangesIsFound(json: String) {
    #expect(throws: FuzzFinding.self) { try check(json) }
  }

  @Test func memoryOutOfProportionIsFound() {
    // A decoder that takes a fixed mebibyte for a few bytes.
    #expect(throws: FuzzFinding.self) { try WireAgreement.check([8, 1], as: LargeMessage.self, .protobuf) }
  }
}

/// A message whose decoder takes memory before it has read anything.
private struct LargeMessage: WireMessage {
  var number: Int32 = 0

  mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
    try visitor.int32(1, "number", in: &number)
  }

  mutating func visitFields(_ decoder: inout ProtobufDecoder) throws(WireError) {
    let room = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1 << 20)
    try visit(&decoder)
    if room.isEmpty { number = 1 }
  }
}
