// The encoding of stored queries.

import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct QueryCodecTests {
  private static func queries(seed: UInt64, count: Int) -> [StructuredQuery] {
    var documents = DocumentGenerator(seed: seed)
    var generator = QueryGenerator(seed: seed, about: documents.documents(20))
    return (0..<count).map { _ in generator.query() }.filter { (try? $0.check()) != nil }
  }

  @Test func everyQueryIsDecodedAsItWas() {
    var wrong: [String] = []
    var checkedCount = 0
    for seed in 1...20 {
      for query in Self.queries(seed: UInt64(seed), count: 100) {
        let id = query.canonicalID
        guard let decoded = QueryCodec.decode(QueryCodec.encode(query)) else {
          // A filter may compare with a map whose names are too long for a document.
          if id.utf8.count <= 1500 { wrong.append(id) }
          continue
        }
        checkedCount += 1
        // Equality is not used, because a query with a NaN is not equal to itself.
        if decoded.canonicalID != id || decoded.scope != query.scope { wrong.append(id) }
      }
    }
    #expect(wrong == [])
    #expect(checkedCount > 1000)
  }

  @Test func damagedBytesAreRefusedOrAnotherQuery() throws {
    var random = SeededRandom(seed: 7)
    for query in Self.queries(seed: 3, count: 100) {
      let bytes = QueryCodec.encode(query)
      for count in 0..<bytes.count { #expect(QueryCodec.decode(Array(bytes.prefix(count))) == nil) }
      #expect(QueryCodec.decode(bytes + [0]) == nil)
      for _ in 0..<50 {
        var changed = bytes
        changed[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
        try QueryCodec.decode(changed)?.check()
      }
    }
  }

  @Test func deeplyNestedFiltersAreRefused() {
    // A collection, and one filter that nests a million times.
    let bytes: [UInt8] =
      [1, 0, 1, 1, UInt8(ascii: "a"), 1] + (0..<1_000_000).flatMap { _ in [1, 1] as [UInt8] }
    #expect(QueryCodec.decode(bytes) == nil)
  }
}
