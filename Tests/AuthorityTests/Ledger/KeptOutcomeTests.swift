// The stored outcome of a batch: its bytes, and damaged bytes.

import Harness
import OfflineSync
import Testing

@testable import Authority
@testable import DocumentStore

@Suite struct KeptOutcomeTests {
  private let path = DocumentPath(unchecked: ["rooms", "a"])

  private func time(_ microseconds: Int64) throws -> StoredTimestamp {
    try #require(StoredTimestamp(microseconds: microseconds))
  }

  /// The five documents were created, changed, left unchanged, deleted, and ahead of the clock when deleted.
  private func outcome() throws -> KeptOutcome {
    let writes: [CommitOutcome.Write] = [
      .init(updateTime: try time(10), previousUpdateTime: nil, transformResults: []),
      .init(
        updateTime: try time(10), previousUpdateTime: try time(4), transformResults: [.integer(3), .null]),
      .init(updateTime: try time(7), previousUpdateTime: try time(7), transformResults: []),
      .init(updateTime: nil, previousUpdateTime: try time(6), transformResults: []),
      .init(updateTime: nil, previousUpdateTime: try time(20), transformResults: []),
    ]
    let digest = Array(UInt8(0)..<16)
    return KeptOutcome(
      BatchID(2), [Mutation](repeating: .delete(path), count: 5), digest: digest,
      outcome: CommitOutcome(time: try time(10), writes: writes))
  }

  @Test func versionsAreThoseOfTheDocuments() throws {
    let results = try outcome().results
    #expect(results.map(\.version.microseconds) == [10, 10, 7, 10, 21])
    #expect(results.map(\.versionBefore?.microseconds) == [0, 4, 7, 6, 20])
  }

  /// docs/format.md has these bytes.
  @Test func theBytesAreStable() throws {
    let bytes = try outcome().encoded
    let expected =
      "01 0200000000000000 0a00000000000000 000102030405060708090a0b0c0d0e0f 05"
      + " 00 06 0400000000000000 02 01"
    let text = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(text.hasPrefix(expected.replacing(" ", with: "")))
    let end =
      "00 03 0700000000000000 0700000000000000 02 0600000000000000 03 1500000000000000 1400000000000000"
    #expect(text.hasSuffix(end.replacing(" ", with: "")))
    #expect(try KeptOutcome(bytes) == outcome())
  }

  @Test func noDamagedBytesTrap() throws {
    let bytes = try outcome().encoded
    for count in 0..<bytes.count { #expect(KeptOutcome(Array(bytes.prefix(count))) == nil) }
    #expect(KeptOutcome(bytes + [0]) == nil)
    var random = SeededRandom(seed: 1)
    for _ in 0..<20_000 {
      var damaged = bytes
      for _ in 0...random.below(3) { damaged[random.below(damaged.count)] = UInt8(random.below(256)) }
      for result in KeptOutcome(damaged)?.results ?? [] { _ = result.version.stored }
    }
  }

  @Test func documentsOfAnyFormAreReadWithoutATrap() throws {
    let values: [StoredValue] = [
      .null, .integer(.min), .integer(.max), .string("x"), .bytes([1, 2]), .array([.integer(1)]),
      .array([.integer(.max), .integer(.min)]), .array([.bytes([]), .bytes([1])]), .map(StoredMap()),
    ]
    for name in ["a", "d", "f", "g", "k", "t", "r"] {
      for value in values {
        var fields = StoredMap([("a", .array([])), ("d", .integer(1)), ("r", .array([]))])
        fields[name] = value
        _ = RunRecord(fields)?.fields
        _ = FinishedRuns(fields)?.fields
        _ = AcceptedBatches(ends: [.max, .max, .min, .min], floor: .max).isOpen(BatchID(.max))
      }
    }
  }
}
