// The parts of a document key, found without decoding the path.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct DocumentKeyPartsTests {
  private func segment(_ name: String) -> [UInt8] {
    var segment: [UInt8] = []
    DocumentKey.append(name, to: &segment)
    return segment
  }

  /// Returns a description of the parts if they are wrong.
  private func fault(_ key: [UInt8], group: [UInt8]) -> String? {
    let path = DocumentKey.decode(key)
    let isExpected = path.map { segment($0.collectionID) == group } ?? false
    guard let parts = DocumentKeyParts(key.rawSpan, inGroup: group.rawSpan) else {
      return isExpected ? "no parts of \(key.hexadecimal)" : nil
    }
    guard isExpected, let path else { return "parts of \(key.hexadecimal)" }
    let isSame =
      [UInt8](copying: parts.collection) == segment(path.collectionID)
      && [UInt8](copying: parts.document) == segment(path.id)
      && [UInt8](copying: parts.parent) == path.segments.dropLast(2).flatMap(segment)
      && [UInt8](copying: parts.path) == Array(key.dropFirst())
    return isSame ? nil : "wrong parts of \(key.hexadecimal)"
  }

  @Test func everyKeyHasThePartsOfItsPath() {
    var rng = SeededRNG(seed: 1)
    var faults: [String] = []
    for _ in 0..<10_000 {
      let path = DocumentPath.any(&rng)
      let group = rng.oneIn(4) ? Names.any(&rng) : path.collectionID
      if let fault = fault(DocumentKey.encode(path), group: segment(group)) { faults.append(fault) }
    }
    #expect(faults == [])
  }

  @Test func aKeyHasPartsOnlyIfItDecodes() {
    var rng = SeededRNG(seed: 2)
    var faults: [String] = []
    var invalid = 0
    for _ in 0..<60_000 {
      let path = rng.oneIn(2) ? path("users", "u\(rng.roll(1000))") : DocumentPath.any(&rng)
      let other = DocumentKey.encode(DocumentPath.any(&rng))
      let key = DocumentKey.encode(path).damaged(&rng, splicing: other)
      if DocumentKey.decode(key) == nil { invalid += 1 }
      if let fault = fault(key, group: segment(path.collectionID)) { faults.append(fault) }
    }
    #expect(faults == [])
    #expect((10_000...58_000).contains(invalid), "\(invalid)")
  }

  /// Each byte at each place of a name, so each position in a word.
  @Test func everyByteOfANameIsJudgedAsInDecoding() {
    var faults: [String] = []
    for count in 1...18 {
      for place in 0..<count {
        for byte in UInt8.min...UInt8.max {
          var name = [UInt8](repeating: UInt8(ascii: "n"), count: count)
          name[place] = byte
          let key = [2] + segment("users") + [2] + name + [0, 1, 0]
          if let fault = fault(key, group: segment("users")) { faults.append(fault) }
        }
      }
    }
    #expect(faults == [])
  }

  @Test func longAndDeepKeysHaveParts() throws {
    var faults: [String] = []
    for count in [1, 50, 100, 101, 150] {
      let path = try DocumentPath((0..<2 * count / 2 * 2).map { "s\($0)" }.suffix(min(2 * count, 200)))
      if let fault = fault(DocumentKey.encode(path), group: segment(path.collectionID)) {
        faults.append(fault)
      }
    }
    for bytes in [1000, 1010, 1020, 1500] {
      let path = path("users", String(repeating: "n", count: bytes))
      if let fault = fault(DocumentKey.encode(path), group: segment("users")) { faults.append(fault) }
    }
    #expect(faults == [])
  }
}
