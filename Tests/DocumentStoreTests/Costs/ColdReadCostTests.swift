// The number of waits for the disk with cold caches.
//
// The number is the same on every machine. A change that increases it fails here.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct ColdReadCostTests {
  private let directory = TemporaryDirectory()
  private let watched = WatchedFileSystem(PosixFileSystem())

  private static let documents = 5000
  private static let segments = 5

  /// Creates a store and closes it cleanly. It has several segments, each with a document larger than a page,
  /// and four trees with several levels.
  private func make() throws {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open(directory.path, options: options)
    try store.createIndex(IndexDefinition("c", .collection, [.init("score")]))
    try store.createIndex(IndexDefinition("c", .collection, [.init("town"), .init("score")]))
    try store.createIndex(IndexDefinition("c", .collectionGroup, [.init("score")]))
    for part in 0..<Self.segments {
      // Documents with neighboring numbers, and therefore neighboring scores, are in different segments.
      let numbers = Array(stride(from: part, to: Self.documents, by: Self.segments))
      for half in [numbers.prefix(numbers.count / 2), numbers.dropFirst(numbers.count / 2)] {
        try store.commit(half.map { .set(path("c", "d\($0)"), CostDocument.fields($0)) })
      }
      var rng = SeededRandom(seed: UInt64(part))
      let letters = (0..<20_000).map { _ in UInt8.random(in: 97...122, using: &rng) }
      let long = String(decoding: letters, as: UTF8.self)
      try store.commit([.set(path("c", "long\(part)"), StoredMap([("bio", .string(long))]))])
      try store.bytes.flush()
    }
    #expect(store.bytes.statistics.segments.count == Self.segments)
    try store.close()
  }

  private func open() throws -> DocumentStore {
    var platform = Platform.real
    platform.fileSystem = watched
    var options = DocumentStore.Options()
    options.maintenance = .manual
    watched.countWaits()
    return try DocumentStore.open(directory.path, options: options, platform: platform)
  }

  private func waits(_ body: () throws -> Void) rethrows -> Int {
    let before = watched.counters.waitsForReads
    try body()
    return watched.counters.waitsForReads - before
  }

  @Test func openAndFirstReadsNeedFewDiskWaits() throws {
    try make()
    var opened: DocumentStore?
    let ofOpen = try waits { opened = try open() }
    let store = try #require(opened)
    var document: StoredDocument?
    let ofGet = try waits { document = try store.document(at: path("c", "d2501")) }
    #expect(document != nil)
    // The first document is in a segment that is already open. Most of the other documents are in other
    // segments.
    let query = try StructuredQuery.ofC.order("score").starting(.after, [.double(100)]).limited(
      to: .first(20))
    let ofQuery = try waits {
      var found = 0
      try store.forEach(query) { _ in
        found += 1
        return true
      }
      #expect(found == 20)
    }
    // The waits of an open are for the manifest, for a header and the WAL, for the checkpoint's layout, and
    // for pages of the key directory for three keys.
    #expect(ofOpen <= 4, "\(ofOpen) waits for an open")
    // The waits of a get are for two pages of the key directory and for a segment.
    #expect(ofGet <= 3, "\(ofGet) waits for a get")
    // The waits of a query are for leaves at both ends, for locations of documents, and for five segments.
    #expect(ofQuery <= 3, "\(ofQuery) waits for a query")
    try store.close()
  }
}
