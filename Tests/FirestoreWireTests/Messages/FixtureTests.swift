// Compares both encodings with messages that the official implementation has written.

import Foundation
import Harness
import Testing

@testable import FirestoreWire

@Suite struct FixtureTests {
  @Test func samplesAreWrittenWithTheSameBytes() throws {
    let samples = try WireFixtures.samples()
    #expect(samples.count > 1000)
    for sample in samples { try checkProtobuf(sample.type, sample) }
  }

  private func checkProtobuf<Message: WireMessage>(
    _ type: Message.Type, _ sample: WireFixtures.Sample
  ) throws {
    let message = try Message(protobuf: sample.protobuf)
    #expect(try message.protobuf() == sample.protobuf, "\(sample.testDescription)")
  }

  @Test func samplesAreTheSameMessagesInJSON() throws {
    for sample in try WireFixtures.samples() { try checkJSON(sample.type, sample) }
  }

  private func checkJSON<Message: WireMessage>(
    _ type: Message.Type, _ sample: WireFixtures.Sample
  ) throws {
    let message = try Message(json: sample.json)
    // Bytes, because Swift's strings are equal if they are canonically equivalent, and NaN equals nothing.
    #expect(try message.protobuf() == sample.protobuf, "\(sample.testDescription)")
  }

  @Test func samplesAreWrittenWithTheSameJSON() throws {
    for sample in try WireFixtures.samples() {
      let json = try sample.type.init(protobuf: sample.protobuf).json()
      let written = try JSONSerialization.jsonObject(with: Data(json)) as? NSDictionary
      let expected = try JSONSerialization.jsonObject(with: Data(sample.json)) as? NSDictionary
      #expect(
        expected != nil && written == expected,
        "\(sample.testDescription): \(String(decoding: json, as: UTF8.self))")
    }
  }
}
