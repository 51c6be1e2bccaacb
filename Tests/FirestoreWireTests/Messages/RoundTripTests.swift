// Random messages through both encodings, and damaged ones.

import Harness
import OfflineSync
import Testing

@testable import FirestoreWire

@Suite struct RoundTripTests {
  private static let seeds: Range<UInt64> = 0..<60

  @Test func randomMessagesSurviveBothEncodings() throws {
    var sizes: Set<Int> = []
    for type in WireMessages.all + WireMessages.own {
      for seed in Self.seeds { sizes.insert(try checkRoundTrip(type, seed: seed)) }
    }
    #expect(sizes.count > 200)
  }

  /// Returns the size of the message.
  private func checkRoundTrip<Message: WireMessage>(_ type: Message.Type, seed: UInt64) throws -> Int {
    var generator = RandomFields(seed: seed)
    let message = try generator.filled(type)
    let bytes = try message.protobuf()
    #expect(try Message(protobuf: bytes) == message, "\(type), seed \(seed)")
    let json = try message.json()
    let read = try Message(json: json)
    #expect(read == message, "\(type), seed \(seed)")
    // Strings are equal in Swift if they are canonically equivalent. The bytes tell them apart.
    #expect(try read.protobuf() == bytes, "\(type), seed \(seed)")
    #expect(try Message(protobuf: bytes).json() == json, "\(type), seed \(seed)")
    return bytes.count
  }

  /// A message that is cut anywhere is a message with fewer fields, or an error.
  @Test func cutMessagesAreReadOrRefused() throws {
    for type in WireMessages.all + WireMessages.own {
      var generator = RandomFields(seed: 7)
      let message = try filled(type, &generator)
      let bytes = try message.protobuf()
      let json = try message.json()
      for count in 0..<bytes.count { expectMessageOrRefusal(type, protobuf: Array(bytes.prefix(count))) }
      // A JSON text has an end, so no part of it is a message.
      for count in 0..<json.count {
        #expect(throws: WireError.self) { try type.init(json: Array(json.prefix(count))) }
      }
    }
  }

  @Test func messagesWithFlippedBitsAreReadOrRefused() throws {
    for type in WireMessages.all + WireMessages.own {
      var generator = RandomFields(seed: 8)
      let message = try filled(type, &generator)
      let bytes = try message.protobuf()
      let json = try message.json()
      for bit in bits(of: bytes) { expectMessageOrRefusal(type, protobuf: flipped(bytes, bit)) }
      for bit in bits(of: json) { expectMessageOrRefusal(type, json: flipped(json, bit)) }
    }
  }

  /// All bits of short messages, and 1,000 to 2,000 bits of long ones, at all places in their bytes.
  private func bits(of bytes: [UInt8]) -> StrideTo<Int> {
    stride(from: 0, to: bytes.count * 8, by: bytes.count * 8 / 1000 | 1)
  }

  private func flipped(_ bytes: [UInt8], _ bit: Int) -> [UInt8] {
    var bytes = bytes
    bytes[bit / 8] ^= 1 << UInt8(bit % 8)
    return bytes
  }

  private func filled<Message: WireMessage>(
    _ type: Message.Type, _ generator: inout RandomFields
  ) throws -> any WireMessage {
    try generator.filled(type)
  }

  /// A message that is read can be written, and is then read as the same message.
  private func expectMessageOrRefusal<Message: WireMessage>(_ type: Message.Type, protobuf bytes: [UInt8]) {
    do {
      let message = try Message(protobuf: bytes)
      #expect(try Message(protobuf: message.protobuf()) == message, "\(type): \(bytes)")
    } catch {
      expectRefusal(error)
    }
  }

  private func expectMessageOrRefusal<Message: WireMessage>(_ type: Message.Type, json: [UInt8]) {
    do {
      let message = try Message(json: json)
      #expect(
        try Message(json: message.json()) == message, "\(type): \(String(decoding: json, as: UTF8.self))")
    } catch {
      expectRefusal(error)
    }
  }

  private func expectRefusal(_ error: WireError) {
    #expect(error.code == .invalidArgument)
    #expect(!error.message.isEmpty)
  }
}
