// The stores in the directory of a run.

@_spi(Measure) import DocumentStore
import Foundation
import SampleDocuments

/// Stores with sample documents. They are created without callgrind, which would take fifty times as long.
struct PreparedStores {
  static let documents = 20_000
  private static let batch = 500

  private let directory: URL

  init(_ directory: URL) { self.directory = directory }

  /// Creates the stores for the rows that read and for the rows that update documents.
  func create() throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    for url in [readStore, updateStore] {
      let sample = try open(url, seed: 1)
      for batch in try Self.batches(0..<Self.documents) { try sample.store.commit(batch) }
      try sample.makeIndexes()
      try sample.store.compact()
      guard try sample.scan() == (0..<Self.documents).reduce(0, { $0 &+ SampleDocument($1).weight }) else {
        throw Failure("a scan does not find the documents that were written")
      }
      try sample.store.close()
    }
  }

  var readStore: URL { directory.appendingPathComponent("reads") }
  var updateStore: URL { directory.appendingPathComponent("updates") }
  func newStore(_ name: String) -> URL { directory.appendingPathComponent(name) }

  /// Opens a store that does the same work in every run.
  func open(_ url: URL, seed: UInt64 = 2) throws -> SampleStore {
    try SampleStore(MeasuredDocumentStore.openRepeatable(url.path, cacheBytesMax: 1 << 30, seed: seed))
  }

  /// Returns the writes of these documents in batches of 500.
  static func batches(_ numbers: Range<Int>) throws -> [[Mutation]] {
    try stride(from: numbers.lowerBound, to: numbers.upperBound, by: batch).map {
      try SampleStore.writes(Array($0..<min($0 + batch, numbers.upperBound)))
    }
  }
}
