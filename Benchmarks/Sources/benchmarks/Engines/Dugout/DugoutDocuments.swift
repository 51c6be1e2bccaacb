@_spi(Measure) import DocumentStore
import Foundation

/// Dugout, through the public interface of its engine.
final class DugoutDocuments: DocumentEngine {
  static let name = "dugout"
  static let settings = """
    With its defaults, and a cache for the pages of segments of the given size. Queries are built once and get their \
    values anew for each query, as prepared statements do. Loads commit batches of 500, build the indexes, and \
    compact.
    """

  let store: DocumentStore
  private let isLoad: Bool
  private let users: StructuredQuery
  private let usersByScore: StructuredQuery
  private let usersByCreatedAt: StructuredQuery
  private let posts: StructuredQuery
  private let postsByCreatedAt: StructuredQuery

  static func path(in directory: URL) -> String { directory.appendingPathComponent("store").path }

  init(_ directory: URL, _ setup: EngineSetup) throws {
    let path = Self.path(in: directory)
    let isNew = !FileManager.default.fileExists(atPath: path)
    store = try MeasuredDocumentStore.open(path, cacheBytesMax: setup.cacheBytes)
    isLoad = setup.purpose == .load
    users = StructuredQuery(.collection(try CollectionPath(["users"])))
    usersByScore = try users.ordered(by: OrderBy(StoredFieldPath(["score"])))
    usersByCreatedAt = try users.ordered(by: OrderBy(StoredFieldPath(["createdAt"]), .descending))
    // The root collection `posts` is empty, so this collection group consists of the posts of the users.
    posts = StructuredQuery(.collectionGroup("posts"))
    postsByCreatedAt = try posts.ordered(by: OrderBy(StoredFieldPath(["createdAt"])))
    if isNew && !isLoad { try makeIndexes() }
  }

  /// Creates the indexes in advance, as the peers do. Otherwise the queries would create them.
  private func makeIndexes() throws {
    try store.createIndex(IndexDefinition("users", .collection, [.init(StoredFieldPath(["score"]))]))
    try store.createIndex(
      IndexDefinition(
        "users", .collection,
        [.init(StoredFieldPath(["city"])), .init(StoredFieldPath(["createdAt"]), .value(.descending))]))
    try store.createIndex(
      IndexDefinition("posts", .collectionGroup, [.init(StoredFieldPath(["createdAt"]))]))
  }

  func close() throws {
    let automatic = store.indexList.first { $0.isAutomatic }
    try store.close()
    // In Dugout, as in all engines, the declared indexes must be sufficient for every query. An automatic
    // index shows that they were not.
    if let automatic { throw BenchmarkFailure("a query caused \(automatic.definition) to be built") }
  }

  // MARK: Writing

  static func writes(_ numbers: [Int]) throws -> [Mutation] {
    try numbers.map { number in
      let document = SampleDocument(number)
      return .set(try DocumentPath(document.segments), StoredMap(document))
    }
  }

  static func updates(_ numbers: [Int], revision: Int) throws -> [Mutation] {
    let mask = FieldMask([try StoredFieldPath(["score"])])
    return try numbers.map { number in
      let document = SampleDocument(number, revision: revision)
      return .patch(
        try DocumentPath(document.segments), StoredMap([("score", .double(document.score))]), mask: mask)
    }
  }

  func write(_ writes: [Mutation]) throws { try store.commit(writes) }

  func update(_ updates: [Mutation]) throws { try store.commit(updates) }

  func finishLoad() throws {
    try makeIndexes()
    try store.compact()
  }

  // MARK: Reading

  static func key(_ number: Int) throws -> DocumentPath { try DocumentPath(SampleDocument(number).segments) }

  func get(_ key: DocumentPath) throws -> Int { try store.withDocument(at: key) { Self.weight($0) } ?? -1 }

  func byScore(from score: Double, limit: Int) throws -> Int {
    try weight(inOrderOf: usersByScore.starting(.before, [.double(score)]).limited(to: .first(limit)))
  }

  func usersInTown(_ town: String, limit: Int) throws -> Int {
    try weight(inOrderOf: newest(of: town).limited(to: .first(limit)))
  }

  func usersInTown(_ town: String, until time: Int, limit: Int) throws -> Int {
    guard let timestamp = StoredTimestamp(microseconds: Int64(time)) else { return -1 }
    return try weight(
      inOrderOf: newest(of: town).starting(.before, [.timestamp(timestamp)]).limited(to: .first(limit)))
  }

  private func newest(of town: String) throws -> StructuredQuery {
    try usersByCreatedAt.filtered(by: FilterTree.field(StoredFieldPath(["city"]), .equal, .string(town)))
  }

  func posts(from time: Int, limit: Int) throws -> Int {
    guard let timestamp = StoredTimestamp(microseconds: Int64(time)) else { return -1 }
    return try weight(
      inOrderOf: postsByCreatedAt.starting(.before, [.timestamp(timestamp)]).limited(to: .first(limit)))
  }

  func scan() throws -> Int { try weight(of: users) &+ weight(of: posts) }

  func scanInTwo() throws -> Int {
    try TwoThreads.sum({ try self.weight(of: self.users) }, { try self.weight(of: self.posts) })
  }

  private func weight(of query: StructuredQuery) throws -> Int {
    var sum = 0
    try store.forEach(query) { document in
      sum &+= Self.weight(document)
      return true
    }
    return sum
  }

  private func weight(inOrderOf query: StructuredQuery) throws -> Int {
    var sum = 0
    try store.forEach(query) { document in
      sum = SampleDocument.next(sum, Self.weight(document))
      return true
    }
    return sum
  }

  private static func weight(_ document: borrowing DocumentView) -> Int {
    var sum = 0
    let isWhole = document.forEachField { _, value in sum &+= weight(value) }
    return isWhole ? sum : -1
  }

  private static func weight(_ value: borrowing ValueView) -> Int {
    switch value.kind {
    case .integer: return Int(value.integer ?? 0)
    case .double: return Int(value.double ?? 0)
    case .timestamp: return Int(value.timestamp?.microseconds ?? 0)
    case .boolean: return value.boolean == true ? 1 : 0
    case .text:
      return value.withText { text in
        let bytes = text.bytes
        guard bytes.byteCount > 0 else { return 0 }
        return bytes.byteCount &+ Int(bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self))
      } ?? 0
    case .map:
      var sum = 0
      _ = value.withMap { map in map.forEachField { _, value in sum &+= weight(value) } }
      return sum
    default:
      var sum = 0
      _ = value.forEachElement { sum &+= weight($0) }
      return sum
    }
  }
}

extension StoredMap {
  init(_ document: SampleDocument) { self.init(document.fields.map { ($0.name, StoredValue($0.value)) }) }
}

extension StoredValue {
  init(_ value: SampleDocument.Value) {
    switch value {
    case .text(let text): self = .string(text)
    case .integer(let number): self = .integer(Int64(number))
    case .real(let number): self = .double(number)
    case .boolean(let flag): self = .boolean(flag)
    case .timestamp(let number):
      self = StoredTimestamp(microseconds: Int64(number)).map { .timestamp($0) } ?? .null
    case .list(let values): self = .array(values.map { StoredValue($0) })
    case .map(let fields): self = .map(StoredMap(fields.map { ($0.name, StoredValue($0.value)) }))
    }
  }
}
