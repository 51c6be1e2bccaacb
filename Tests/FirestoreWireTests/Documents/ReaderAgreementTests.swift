// The reader of records and the reader of trees agree about all bytes, also damaged ones.

import ByteStore
import Harness
import OfflineSync
import Testing

@testable import DocumentStore
@testable import FirestoreWire

struct ReaderAgreementTests {
  @Test(arguments: 0..<60)
  func changedProtobufIsReadEquallyByBoth(seed: UInt64) {
    var generator = WireFields(seed: seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<40 {
      var bytes = PlainProtobuf.fields(generator.next())
      for _ in 0...random.below(3) where !bytes.isEmpty { change(&bytes, &random) }
      // The first byte is the tag, which both readers need.
      guard bytes.first == 0x12 else { continue }
      let tree = Result { try FieldsCoding.readTree(protobuf: bytes) }
      switch (record(bytes), tree) {
      case (nil, _): continue
      case (let record?, .success(let tree)): #expect(record == tree)
      case (_?, .failure(let error)): Issue.record("only the record was accepted, and the tree has \(error)")
      }
    }
  }

  @Test(arguments: 0..<30)
  func changedJSONIsReadEquallyByBoth(seed: UInt64) throws {
    var generator = WireFields(seed: seed)
    var random = SeededRandom(seed: seed)
    for _ in 0..<40 {
      var bytes = Array(try FieldsCoding.json(generator.next()).utf8)
      for _ in 0..<random.below(3) { change(&bytes, &random) }
      let text = String(decoding: bytes, as: UTF8.self)
      let tree = Result { try FieldsCoding.readTree(json: text) }
      let both = Result { try FieldsCoding.read(json: text) }
      switch (both, tree) {
      case (.success(let record), .success(let tree)): #expect(record == tree)
      // Bytes behind the object are not read by the reader of trees.
      case (.failure, _): continue
      case (.success, .failure(let error)):
        Issue.record("only the record was accepted, and the tree has \(error)")
      }
    }
  }

  private func change(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
    let place = random.below(bytes.count)
    switch random.below(5) {
    case 0: bytes[place] = UInt8(random.below(256))
    case 1: bytes[place] ^= 1 << UInt8(random.below(8))
    case 2: bytes.remove(at: place)
    case 3: bytes.insert(UInt8(random.below(256)), at: place)
    default: bytes.removeLast(bytes.count - place)
    }
  }

  private struct GivesUp: Error {}

  /// Reads entries with the reader of records only. Nil unless it reads all bytes.
  private func record(_ bytes: [UInt8]) -> StoredMap? {
    let rest = Array(bytes.dropFirst())
    let reader = ProtobufRecordReader(rest.rawSpan)
    return try? FieldsEncoder.withoutStore.encode { writer, map throws(GivesUp) in
      guard reader.fields(behind: 0x12, of: map, into: &writer) == rest.count else { throw GivesUp() }
    }
  }
}
