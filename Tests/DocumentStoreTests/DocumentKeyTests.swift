// The key codec: keys sort like paths, and a key that decodes is the only key of its path.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct DocumentKeyTests {
  @Test func keyBytesMatchTheGrammar() throws {
    let key = DocumentKey.encode(path("a\0b", "__id-5__", "é", "__id9223372036854775807__"))
    let expected = [UInt8](
      hexadecimal: """
        02
          02 6100ff62 0001
          01 7ffffffffffffffb
          02 c3a9 0001
          01 ffffffffffffffff
        00
        """)
    #expect(key.hexadecimal == expected.hexadecimal)
  }

  @Test func everyPathComesBackFromItsKey() {
    var rng = SeededRNG(seed: 1)
    let paths = (0..<10_000).map { _ in DocumentPath.any(&rng) }
    #expect(paths.filter { DocumentKey.decode(DocumentKey.encode($0)) != $0 } == [])
  }

  @Test func everyOddNameComesBackFromItsKey() throws {
    let segments: [[String]] = (Names.odd + Names.numeric).flatMap { [["a", $0], [$0, "a"], [$0, $0]] }
    let paths = try segments.map { try DocumentPath($0) }
    #expect(paths.filter { DocumentKey.decode(DocumentKey.encode($0)) != $0 } == [])
  }

  /// Most keys are written in one pass; all others are appended segment by segment.
  @Test func aKeyConsistsOfItsSegments() throws {
    var rng = SeededRNG(seed: 2)
    let odd = Names.odd + Names.numeric + ["_", "__", "__id", "___", "_a", "plain", "twenty characters ab"]
    var paths = (0..<2000).map { _ in DocumentPath.any(&rng) }
    for name in odd {
      for other in odd { paths += [try? DocumentPath([name, other, "c", name])].compactMap { $0 } }
    }
    let wrong = paths.filter { path in
      var key = [DocumentKey.keyspace]
      DocumentKey.append(path, to: &key)
      return DocumentKey.encode(path) != key
    }
    #expect(wrong == [])
  }

  @Test func longestPathsHaveStorableKeys() throws {
    let zeros = String(repeating: "\0", count: 1500)
    let longest = [
      try DocumentPath([zeros, zeros, zeros, zeros, "\0", String(repeating: "\0", count: 121)]),
      try DocumentPath(Array(repeating: String(repeating: "\0", count: 29), count: 200)),
    ]
    let keys = longest.map(DocumentKey.encode)
    #expect(keys.map(\.count).filter { $0 > 16 << 10 } == [])
    #expect(keys.compactMap { DocumentKey.decode($0) } == longest)
  }

  // MARK: Order

  @Test func numericIDsComeFirstAndByNumber() {
    let ascending = [
      "__id-9223372036854775808__", "__id-10__", "__id-5__", "__id-1__", "__id0__", "__id1__",
      "__id9__", "__id10__", "__id9223372036854775807__", "\0", "\u{1}", "10", "9", "_", "__", "__id5",
      "a", "a\0", "a\0\0", "a\u{1}", "aa", "b", "e\u{301}", "\u{E9}", "\u{FFFF}", "\u{1F600}",
    ]
    let keys = ascending.map { DocumentKey.encode(path("c", $0)) }
    var wrong: [String] = []
    for (index, (key, next)) in zip(keys, keys.dropFirst()).enumerated()
    where !key.lexicographicallyPrecedes(next) {
      wrong.append("\(ascending[index].debugDescription) before \(ascending[index + 1].debugDescription)")
    }
    #expect(wrong == [])
  }

  @Test func sortOrderIsDocumentThenSubdocumentsThenSiblings() {
    let ascending = [
      path("c", "a"), path("c", "a", "__id-9223372036854775808__", "x"), path("c", "a", "\0", "x"),
      path("c", "a", "d", "x"), path("c", "a\0"), path("c", "b"), path("c\0", "a"), path("ca", "a"),
    ]
    #expect(ascending.map(DocumentKey.encode).isStrictlyAscending)
  }

  @Test func keysSortAsPathsDo() throws {
    let seed: UInt64 = 2
    var rng = SeededRNG(seed: seed)
    var paths = (0..<2000).map { _ in DocumentPath.any(&rng) }
    paths += paths.map { $0.neighbour(&rng) }
    paths += paths.map { $0.neighbour(&rng) }
    let keys = paths.map(DocumentKey.encode)
    var outcomes = [0, 0, 0]
    for round in 0..<100_000 {
      let left = rng.roll(paths.count)
      // Half of the pairs are close to each other, because random paths mostly differ in their first byte.
      let right = round % 2 == 0 ? rng.roll(paths.count) : (left + paths.count / 2) % paths.count
      let expected = contractOrder(paths[left].segments, paths[right].segments)
      let found = order(keys[left], keys[right])
      outcomes[expected + 1] += 1
      try #require(
        found == expected,
        "\(paths[left].segments) and \(paths[right].segments), seed \(seed), round \(round)")
    }
    #expect(outcomes.allSatisfy { $0 > 300 }, "\(outcomes): one of the outcomes hardly occurs")
  }

  // MARK: Hostile keys

  /// Returns false if the key does not decode. A key that decodes must be the only key of its path: two keys
  /// for one path would be two documents at this path.
  private func checkDecoding(_ key: [UInt8]) throws -> Bool {
    guard let path = DocumentKey.decode(key) else { return false }
    let again = DocumentKey.encode(path)
    try #require(again == key, "\(key.hexadecimal) decodes to \(path.segments), whose key is another")
    return true
  }

  @Test func aDamagedKeyIsRefusedOrIsTheKeyOfAnotherPath() throws {
    var rng = SeededRNG(seed: 3)
    let keys = (0..<500).map { _ in DocumentKey.encode(.any(&rng)) }.filter { $0.count < 200 }
    var accepted = 0
    for _ in 0..<100_000 {
      if try checkDecoding(rng.pick(keys).damaged(&rng, splicing: rng.pick(keys))) { accepted += 1 }
    }
    #expect((1000...99_000).contains(accepted), "\(accepted) of 100,000 damaged keys were accepted")
  }

  @Test func randomKeyTokensAreRefusedOrDecodeToAPath() throws {
    var rng = SeededRNG(seed: 4)
    let pieces: [[UInt8]] = [
      [0], [1], [2], [0xFF], [0, 1], [0, 0xFF], [2, 0x61, 0, 1], [1, 0x80, 0, 0, 0, 0, 0, 0, 5],
      [2] + Array("__id5__".utf8) + [0, 1], Array("__".utf8), Array("é".utf8), [0xC3], [0x2F], [0x2E],
    ]
    for _ in 0..<50_000 {
      let body = (0..<rng.roll(6)).flatMap { _ in rng.pick(pieces) }
      _ = try checkDecoding([DocumentKey.keyspace] + body + (rng.oneIn(4) ? [] : [0]))
    }
  }

  @Test func keysBelowAReservedCollectionAreReadBack() {
    let paths = [["__blobs__", "ab"], ["__buckets__", "=b", "__objects__", "=__x__"]]
      .map { DocumentPath(unchecked: $0) }
    #expect(paths.compactMap { DocumentKey.decode(DocumentKey.encode($0)) } == paths)
  }

  @Test func everyTruncationOfAKeyIsRefused() {
    var rng = SeededRNG(seed: 5)
    var accepted: [String] = []
    for _ in 0..<200 {
      let key = DocumentKey.encode(.any(&rng))
      for count in 0..<min(key.count, 300) where DocumentKey.decode(Array(key.prefix(count))) != nil {
        accepted.append("\(count) bytes of \(key.hexadecimal)")
      }
    }
    #expect(accepted == [])
  }

  @Test(arguments: [
    ("", "no bytes"), ("02", "no end"), ("0200", "no segments"), ("00", "another keyspace"),
    ("02 02610001 00", "one segment"), ("02 02610001 02620001 02630001 00", "three segments"),
    ("03 02610001 02620001 00", "another keyspace"), ("02 02610001 02620001 00 00", "more bytes"),
    ("02 02610001 02620001", "no end"), ("02 02610001 03620001 00", "an unknown tag"),
    ("02 02610001 02620002 00", "an unknown escape"), ("02 02610001 026200", "half an escape"),
    ("02 02610001 020001 00", "an empty name"), ("02 02610001 022e0001 00", "a dot"),
    ("02 02610001 02622f0001 00", "a slash"), ("02 02610001 025f5f625f5f0001 00", "a reserved name"),
    ("02 02610001 02c30001 00", "half a letter"), ("02 02610001 02c0800001 00", "an overlong zero"),
    ("02 02610001 02eda0800001 00", "half a surrogate pair"),
    ("02 02610001 01800000000000 00", "a short number"),
    ("02 02610001 025f5f6964355f5f0001 00", "the number 5 as text"),
  ])
  func aKeyWithAFaultIsRefused(key: String, fault: String) {
    #expect(DocumentKey.decode([UInt8](hexadecimal: key)) == nil, "\(fault)")
  }

  private static var paths: [DocumentPath] {
    var rng = SeededRNG(seed: 21)
    let names =
      Names.odd + Names.numeric + ["_", "__", "zero\0in\0it", String(repeating: "long", count: 200)]
    let pairs = names.flatMap { left in names.map { DocumentPath(unchecked: [left, $0]) } }
    return pairs + (0..<1000).map { _ in DocumentPath.any(&rng) }
  }

  @Test func collectionGroupContainsTheDocumentsOfItsCollectionID() {
    var rng = SeededRNG(seed: 23)
    let paths = Self.paths
    var wrong: [String] = []
    for path in paths {
      let key = DocumentKey.encode(path)
      let other = paths[rng.roll(paths.count)]
      for id in [path.collectionID, path.id, other.collectionID] + path.segments {
        var segment: [UInt8] = []
        DocumentKey.append(id, to: &segment)
        let expected = id.isSameUTF8(as: path.collectionID)
        if DocumentKey.isInGroup(segment, key.rawSpan) != expected { wrong.append("\(id) of \(path)") }
      }
    }
    #expect(wrong == [])
  }
}

// MARK: The order of the contract, without keys

/// Compares segment by segment, then by the number of segments. Returns −1, 0 or 1.
private func contractOrder(_ left: [String], _ right: [String]) -> Int {
  for (left, right) in zip(left, right) {
    let order = contractOrder(left, right)
    if order != 0 { return order }
  }
  return sign(left.count - right.count)
}

/// Numeric ids sort before all other ids and are ordered by number. Other ids are ordered by their UTF-8
/// bytes.
private func contractOrder(_ left: String, _ right: String) -> Int {
  switch (number(of: left), number(of: right)) {
  case (let left?, let right?): left < right ? -1 : left > right ? 1 : 0
  case (_?, nil): -1
  case (nil, _?): 1
  case (nil, nil): order(Array(left.utf8), Array(right.utf8))
  }
}

private func number(of name: String) -> Int64? {
  let bytes = Array(name.utf8)
  guard bytes.count > 6, bytes.prefix(4).elementsEqual("__id".utf8), bytes.suffix(2) == [95, 95] else {
    return nil
  }
  return Int64(String(decoding: bytes[4..<bytes.count - 2], as: UTF8.self))
}

private func order(_ left: [UInt8], _ right: [UInt8]) -> Int {
  for index in 0..<min(left.count, right.count) where left[index] != right[index] {
    return left[index] < right[index] ? -1 : 1
  }
  return sign(left.count - right.count)
}

private func sign(_ number: Int) -> Int { number.signum() }

extension [[UInt8]] {
  fileprivate var isStrictlyAscending: Bool {
    zip(self, dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }
  }
}
