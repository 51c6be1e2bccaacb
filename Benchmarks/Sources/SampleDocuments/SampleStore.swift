// A store with the sample documents, and the calls whose costs the rows measure.

package import DocumentStore

/// Operations of the rows on a store. Queries are built once and get their values anew for each query, as
/// prepared statements do. Reads visit every field of each document and return sums of weights.
package struct SampleStore: Sendable {
  package let store: DocumentStore
  private let users: StructuredQuery
  private let usersByScore: StructuredQuery
  private let usersByCreatedAt: StructuredQuery
  private let posts: StructuredQuery
  private let postsByCreatedAt: StructuredQuery

  package init(_ store: DocumentStore) throws {
    self.store = store
    users = StructuredQuery(.collection(try CollectionPath(["users"])))
    usersByScore = try users.ordered(by: OrderBy(StoredFieldPath(["score"])))
    usersByCreatedAt = try users.ordered(by: OrderBy(StoredFieldPath(["createdAt"]), .descending))
    // The root collection `posts` is empty, so this collection group consists of the posts of the users.
    posts = StructuredQuery(.collectionGroup("posts"))
    postsByCreatedAt = try posts.ordered(by: OrderBy(StoredFieldPath(["createdAt"])))
  }

  /// Creates the three indexes that the queries need.
  package func makeIndexes() throws {
    try store.createIndex(IndexDefinition("users", .collection, [.init(StoredFieldPath(["score"]))]))
    try store.createIndex(
      IndexDefinition(
        "users", .collection,
        [.init(StoredFieldPath(["city"])), .init(StoredFieldPath(["createdAt"]), .value(.descending))]))
    try store.createIndex(
      IndexDefinition("posts", .collectionGroup, [.init(StoredFieldPath(["createdAt"]))]))
  }

  // MARK: Writing

  package static func writes(_ numbers: [Int]) throws -> [Mutation] {
    try numbers.map { number in
      let document = SampleDocument(number)
      return .set(try DocumentPath(document.segments), StoredMap(document))
    }
  }

  package static func updates(_ numbers: [Int], revision: Int) throws -> [Mutation] {
    let mask = FieldMask([try StoredFieldPath(["score"])])
    return try numbers.map { number in
      let document = SampleDocument(number, revision: revision)
      return .patch(
        try DocumentPath(document.segments), StoredMap([("score", .double(document.score))]), mask: mask)
    }
  }

  // MARK: Reading

  package static func key(_ number: Int) throws -> DocumentPath {
    try DocumentPath(SampleDocument(number).segments)
  }

  package func get(_ key: DocumentPath) throws -> Int {
    try store.withDocument(at: key) { Self.weight($0) } ?? -1
  }

  package func byScore(from score: Double, limit: Int) throws -> Int {
    try weight(inOrderOf: usersByScore.starting(.before, [.double(score)]).limited(to: .first(limit)))
  }

  package func usersInTown(_ town: String, limit: Int) throws -> Int {
    try weight(inOrderOf: newest(of: town).limited(to: .first(limit)))
  }

  package func usersInTown(_ town: String, until time: Int, limit: Int) throws -> Int {
    guard let timestamp = StoredTimestamp(microseconds: Int64(time)) else { return -1 }
    return try weight(
      inOrderOf: newest(of: town).starting(.before, [.timestamp(timestamp)]).limited(to: .first(limit)))
  }

  private func newest(of town: String) throws -> StructuredQuery {
    try usersByCreatedAt.filtered(by: FilterTree.field(StoredFieldPath(["city"]), .equal, .string(town)))
  }

  package func posts(from time: Int, limit: Int) throws -> Int {
    guard let timestamp = StoredTimestamp(microseconds: Int64(time)) else { return -1 }
    return try weight(
      inOrderOf: postsByCreatedAt.starting(.before, [.timestamp(timestamp)]).limited(to: .first(limit)))
  }

  package func scan() throws -> Int { try scanUsers() &+ scanPosts() }

  package func scanUsers() throws -> Int { try weight(of: users) }

  package func scanPosts() throws -> Int { try weight(of: posts) }

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
  package init(_ document: SampleDocument) {
    self.init(document.fields.map { ($0.name, StoredValue($0.value)) })
  }
}

extension StoredValue {
  package init(_ value: SampleDocument.Value) {
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
