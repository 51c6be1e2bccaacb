import DocumentStore
import Foundation

final class DugoutWriter: DocumentWriter {
  static let name = "dugout"
  private let store: DocumentStore

  init(_ directory: URL) throws {
    store = try DocumentStore.open(directory.appendingPathComponent("store").path)
    try makeIndexes()
  }

  private func makeIndexes() throws {
    try store.createIndex(IndexDefinition("users", .collection, [.init(StoredFieldPath(["score"]))]))
    try store.createIndex(
      IndexDefinition(
        "users", .collection,
        [.init(StoredFieldPath(["city"])), .init(StoredFieldPath(["createdAt"]))]))
    try store.createIndex(
      IndexDefinition("users", .collectionGroup, [.init(StoredFieldPath(["createdAt"]))]))
  }

  func write(_ numbers: Range<Int>) throws {
    try store.commit(
      numbers.map { .set(try SampleDocument.path($0), SampleDocument.fields($0)) })
  }

  func load(_ count: Int) throws {
    for start in stride(from: 0, to: count, by: 500) { try write(start..<min(start + 500, count)) }
    try store.compact()
  }

  func update(_ numbers: Range<Int>, score: Double) throws {
    let field = try StoredFieldPath(["score"])
    try store.commit(
      numbers.map { number in
        .patch(
          try SampleDocument.path(number),
          StoredMap([("score", .double(score + Double(number % 10_000) / 7))]),
          mask: FieldMask([field]))
      })
  }

  func close() throws { try store.close() }
}
