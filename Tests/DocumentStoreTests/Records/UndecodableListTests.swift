// Listings of a collection that contains undecodable records: records with long names, and a large number of
// records.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct UndecodableListTests {
  private func open(_ directory: TemporaryDirectory) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    return try DocumentStore.open(directory.path, options: options, platform: .real)
  }

  private func poison(_ directory: TemporaryDirectory, _ ids: [String]) throws -> DocumentStore {
    var options = ByteStore.Options()
    options.maintenance = .manual
    let bytes = try ByteStore.open(directory.path, options: options)
    var batch = Batch(stamp: bytes.lastStamp + 1)
    for id in ids { try batch.put([9, 9, 9], for: DocumentKey.encode(path("c", id))) }
    try bytes.commit(batch)
    try bytes.close()
    return try open(directory)
  }

  /// Guards against decoding whole documents only to sort names that the index trees store truncated.
  @Test func aLongNameIsListedThoughItsRecordCannotBeDecoded() throws {
    let directory = TemporaryDirectory()
    var store = try open(directory)
    let start = String(repeating: "x", count: 1400)
    for id in ["a", start + "1", start + "3", "z"] {
      try store.commit([.set(path("c", id), StoredMap([("n", 1)]))])
    }
    try store.close()
    store = try poison(directory, [start + "2"])
    let bad = path("c", start + "2")
    let queries = try [StructuredQuery.ofC, .ofC.where("n", .equal, 1), .ofGroupC]
    let answers = try queries.map { try store.decodableDocuments($0) }
    let ids = ["a", start + "1", start + "3", "z"]
    #expect(answers.map { $0.documents.map(\.path.id) } == [ids, ids, ids])
    #expect(answers.map { $0.skipped } == [[bad], [bad], [bad]])
    #expect(try store.count(.ofC) == 5)
    let lastTwo = try StructuredQuery.ofC.ordered(by: OrderBy(.documentID, .ascending)).limited(to: .last(2))
    let (last, skipped) = try store.decodableDocuments(lastTwo)
    #expect(last.map(\.path.id) == [start + "3", "z"] && skipped.isEmpty)
    try store.close()
  }

  @Test func eachOfManyUndecodableDocumentsIsListedOnce() throws {
    let directory = TemporaryDirectory()
    try open(directory).close()
    let ids = (0..<20_000).map { "d\(100_000 + $0)" }
    let store = try poison(directory, ids)
    let query = try StructuredQuery.ofC.where("n", .isIn, [1, 2])
    #expect(try store.decodableDocuments(query).skipped.map(\.id).sorted() == ids)
    #expect(try store.decodableDocuments(.ofC).skipped.count == ids.count)
    try store.close()
  }
}
