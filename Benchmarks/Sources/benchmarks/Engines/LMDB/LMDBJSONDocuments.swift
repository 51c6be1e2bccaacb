#if LMDB
import Foundation
import SampleDocuments

/// LMDB with the keys and index entries of `KeyValueDocuments`, and with JSON texts instead of packed
/// records.
final class LMDBJSONDocuments: JSONDocuments {
  static let name = "lmdb-json"
  static let settings = """
    The settings, keys and index entries of lmdb. The value of a document is its JSON text, which is read in the mapped \
    page.
    """

  private let store: LMDBStore

  init(_ context: RunContext) throws {
    let directory = try context.stores.directory(named: Self.name) { directory in
      try Self.load(context.options.documents, in: directory)
    }
    store = try LMDBStore(directory, EngineSetup(cacheBytes: context.options.cacheBytes))
  }

  private static func load(_ count: Int, in directory: URL) throws {
    let store = try LMDBStore(directory, EngineSetup(purpose: .load))
    for start in stride(from: 0, to: count, by: 500) {
      let numbers = Array(start..<min(start + 500, count))
      try store.write(KeyValueKeys.changes(numbers) { Array(SampleJSON.text($0).utf8) })
    }
    try store.finishLoad()
    try store.close()
  }

  func close() throws { try store.close() }

  static func key(_ number: Int) -> [UInt8] { KeyValueKeys.document(SampleDocument(number).path) }

  func get(_ key: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Int) throws -> Int {
    try store.read { reader in try key.withUnsafeBytes { try Self.get($0, from: reader, body) } } ?? -1
  }

  func byScore(
    from score: Double, limit: Int, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let prefix = KeyValueKeys.usersByScore
    var left = limit
    try store.read { reader in
      try reader.walk(from: KeyValueKeys.score(score)) { entry, _ in
        guard let start = entry.baseAddress, entry.count > prefix.count + 8,
          memcmp(start, prefix, prefix.count) == 0
        else { return false }
        let key = UnsafeRawBufferPointer(rebasing: entry[(prefix.count + 8)...])
        let found = try Self.get(key, from: reader) { text in
          try body(text)
          return 0
        }
        guard found != nil else {
          throw BenchmarkFailure("an index of \(Self.name) names a document that is not there")
        }
        left -= 1
        return left > 0
      }
    }
  }

  private static func get(
    _ key: UnsafeRawBufferPointer, from reader: LMDBStore.Reader,
    _ body: (UnsafeRawBufferPointer) throws -> Int
  ) throws -> Int? {
    var result: Result<Int, any Error>?
    _ = try reader.get(key) { text in
      result = Result { try body(text) }
      return 0
    }
    return try result?.get()
  }
}
#endif
