import DocumentStore
import Foundation

final class DugoutDocuments: DocumentEngine {
  static let name = "dugout"
  private let store: DocumentStore
  private let users: CollectionPath

  init(_ directory: URL) throws {
    store = try DocumentStore.open(directory.appendingPathComponent("store").path)
    users = try CollectionPath(["users"])
  }

  func load(_ count: Int) throws {
    var mutations: [Mutation] = []
    for number in 0..<count {
      mutations.append(.set(try SampleDocument.path(number), SampleDocument.fields(number)))
      if mutations.count == 500 || number == count - 1 {
        try store.commit(mutations)
        mutations = []
      }
    }
    try store.compact()
    // What a query would make, made ahead as the peers do.
    try store.createIndex(IndexDefinition("users", .collection, [.init(StoredFieldPath(["score"]))]))
    try store.createIndex(
      IndexDefinition(
        "users", .collection,
        [.init(StoredFieldPath(["city"])), .init(StoredFieldPath(["createdAt"]))]))
    try store.createIndex(
      IndexDefinition("users", .collectionGroup, [.init(StoredFieldPath(["createdAt"]))]))
  }

  func get(_ number: Int) throws -> Int {
    try store.withDocument(at: SampleDocument.path(number)) { Self.weight($0) } ?? -1
  }

  func byScore(from score: Double, limit: Int) throws -> Int {
    let query = try StructuredQuery(.collection(users)).ordered(by: OrderBy(StoredFieldPath(["score"])))
      .starting(.before, [.double(score)]).limited(to: .first(limit))
    return try weight(of: query)
  }

  func ofTown(_ town: String, limit: Int) throws -> Int {
    let query = try StructuredQuery(.collection(users))
      .filtered(by: .field(StoredFieldPath(["city"]), .equal, .string(town)))
      .ordered(by: OrderBy(StoredFieldPath(["createdAt"]), .descending)).limited(to: .first(limit))
    return try weight(of: query)
  }

  func anywhere(from createdAt: Int, limit: Int) throws -> Int {
    let query = try StructuredQuery(.collectionGroup("users"))
      .ordered(by: OrderBy(StoredFieldPath(["createdAt"]))).starting(.before, [.integer(Int64(createdAt))])
      .limited(to: .first(limit))
    return try weight(of: query)
  }

  func scan() throws -> Int {
    try weight(of: StructuredQuery(.collectionGroup("users")))
  }

  func close() throws { try store.close() }

  private func weight(of query: StructuredQuery) throws -> Int {
    var sum = 0
    try store.forEach(query) { document in
      sum += Self.weight(document)
      return true
    }
    return sum
  }

  private static func weight(_ document: borrowing DocumentView) -> Int {
    var sum = 0
    let isWhole = document.forEachField { _, value in sum += weight(value) }
    return isWhole ? sum : -1
  }

  private static func weight(_ value: borrowing ValueView) -> Int {
    if let number = value.integer { return Int(number) }
    if let number = value.double { return Int(number) }
    if let count = value.withText({ $0.bytes.byteCount }) { return count }
    if let flag = value.boolean { return flag ? 1 : 0 }
    var sum = 0
    if value.withMap({ map in map.forEachField { _, value in sum += weight(value) } }) != nil { return sum }
    _ = value.forEachElement { sum += weight($0) }
    return sum
  }
}
