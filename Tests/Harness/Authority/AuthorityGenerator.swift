// Random documents, changes and targets of a history.
//
// Half of the documents have simple fields and few values, so that changes move them into and out of targets.
// The other half have every kind of value and name, and half of the queries every kind of filter and order.

import DocumentStore
import OfflineSync

struct AuthorityGenerator {
  var random: SeededRandom
  private var strange: DocumentGenerator
  /// The number of simple documents in each collection.
  private let documentsMax: Int

  init(seed: UInt64, documentsMax: Int) {
    random = SeededRandom(seed: seed)
    strange = DocumentGenerator(seed: SeededRandom.seed(seed, 1))
    self.documentsMax = documentsMax
  }

  static let collections = [["c"], ["d"], ["c", "x", "c"], ["d", "x", "c"]]
  private static let simpleFields = ["a", "b", "tags"]

  // MARK: Documents

  mutating func path() -> DocumentPath {
    guard !random.oneIn(4) else { return strange.path() }
    let collection = Self.collections[random.oneIn(2) ? 0 : random.below(Self.collections.count)]
    return DocumentPath(unchecked: collection + ["n\(random.below(documentsMax))"])
  }

  mutating func fields() -> StoredMap {
    guard !random.oneIn(4) else { return strange.document().fields.storable }
    var fields = StoredMap()
    if !random.oneIn(8) { fields["a"] = .integer(Int64(random.below(4))) }
    if !random.oneIn(8) { fields["b"] = .integer(Int64(random.below(20))) }
    if random.oneIn(2) {
      fields["tags"] = .array((0..<random.below(3)).map { _ in .integer(Int64(random.below(3))) })
    }
    return fields
  }

  /// Returns changes of distinct documents that need no precondition to hold.
  mutating func mutations() -> [Mutation] {
    var paths: Set<DocumentPath> = []
    let count = random.oneIn(10) ? 1 + random.below(20) : 1 + random.below(3)
    return (0..<count).compactMap { _ in
      let path = path()
      return paths.insert(path).inserted ? mutation(path) : nil
    }
  }

  private mutating func mutation(_ path: DocumentPath) -> Mutation {
    let (a, b) = (StoredFieldPath(unchecked: ["a"]), StoredFieldPath(unchecked: ["b"]))
    switch random.below(8) {
    case 0, 1: return .delete(path)
    case 2:
      return .patch(path, StoredMap([("a", .integer(Int64(random.below(4))))]), mask: FieldMask([a]))
    case 3:
      return .patch(
        path, StoredMap(), mask: FieldMask([]), transforms: [FieldTransform(b, .increment(.integer(1)))])
    case 4:
      let time = StoredFieldPath(unchecked: ["at"])
      return .patch(
        path, StoredMap(), mask: FieldMask([]), transforms: [FieldTransform(time, .serverTimestamp)])
    default: return .set(path, fields())
    }
  }

  // MARK: Targets

  /// Returns what a target asks for. Half of the queries are about the given documents.
  mutating func subject(about documents: [StoredDocument]) -> ModelTarget.Subject {
    if random.oneIn(10) {
      return .documents(Array(Set((0...random.below(Self.documentsPerTargetMax)).map { _ in path() })))
    }
    while true {
      let query = random.oneIn(2) || documents.isEmpty ? try? simpleQuery() : anyQuery(about: documents)
      // A limit on the last documents is sent as the reversed query.
      guard let query = query?.executableForm, (try? query.check()) != nil else { continue }
      // The protocol asks for documents by name alone, without conditions.
      if case .document = query.scope { continue }
      return .query(query)
    }
  }

  private static let documentsPerTargetMax = 4

  private mutating func anyQuery(about documents: [StoredDocument]) -> StructuredQuery {
    var queries = QueryGenerator(seed: random.next(), about: documents)
    return random.oneIn(2) ? queries.query() : queries.selectiveQuery()
  }

  private mutating func simpleQuery() throws -> StructuredQuery {
    var query = StructuredQuery(
      random.oneIn(3)
        ? .collectionGroup(random.oneIn(4) ? "d" : "c")
        : .collection(
          CollectionPath(unchecked: Self.collections[random.below(Self.collections.count)])))
    if random.oneIn(2) { query = try query.filtered(by: simpleFilter()) }
    if random.oneIn(2) {
      let direction = random.oneIn(2) ? OrderBy.Direction.ascending : .descending
      query = try query.ordered(by: OrderBy(StoredFieldPath(unchecked: ["b"]), direction))
    }
    if random.oneIn(2) {
      let count = 1 + random.below(5)
      query = try query.limited(to: random.oneIn(3) ? .last(count) : .first(count))
    }
    return query
  }

  private mutating func simpleFilter() -> FilterTree {
    let (a, b) = (StoredFieldPath(unchecked: ["a"]), StoredFieldPath(unchecked: ["b"]))
    let tags = StoredFieldPath(unchecked: ["tags"])
    let small = StoredValue.integer(Int64(random.below(4)))
    switch random.below(5) {
    case 0: return .field(a, .equal, small)
    case 1: return .field(b, .greaterThan, .integer(Int64(random.below(20))))
    case 2: return .field(tags, .arrayContains, small)
    case 3: return .field(a, .isIn, .array([small, .integer(0)]))
    default: return .any([.field(a, .equal, small), .field(b, .lessThan, .integer(4))])
    }
  }
}
