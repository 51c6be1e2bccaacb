// The documents of a history, and the queries for them. The documents are lists, which belong to groups, in
// two collections with the same id.

import ByteStore
import DocumentStore

extension TransactionRun {
  // MARK: Writes

  func writes(
    _ random: inout SeededRandom, _ record: inout RecordedTransaction, knowing known: [Int: [Int]]
  ) -> [Mutation] {
    var known = known
    return (0...random.below(3)).map { _ in
      let key = random.below(Self.keys)
      let path = Self.path(key)
      let element = state.withLock { state in
        state.nextElement += 1
        return state.nextElement
      }
      if key >= Self.firstRemovable, random.oneIn(3) {
        record.appends.append(.init(key, element, isRemoval: true))
        known[key] = []
        count(.removals)
        state.withLock { _ = $0.removed.insert(key) }
        return .delete(path)
      }
      if state.withLock({ $0.removed.remove(key) }) != nil { count(.returns) }
      let group = random.below(Self.groups)
      record.appends.append(.init(key, element, group: group))
      if let elements = known[key], random.oneIn(2) {
        // This write is correct only if the list has not changed since it was read.
        known[key] = elements + [element]
        return .set(path, Self.fields(elements + [element], group))
      }
      known[key] = nil
      count(.appendsWithoutReading)
      return .patch(
        path, Self.fields(nil, group), mask: FieldMask([Self.groupField]),
        transforms: [FieldTransform(Self.listField, .arrayUnion([.integer(Int64(element))]))])
    }
  }

  // MARK: Queries

  /// Runs a random query and records its result.
  func range(
    _ random: inout SeededRandom, _ ask: (StructuredQuery) throws -> [StoredDocument]
  ) throws -> RecordedTransaction.RangeRead {
    let lower = random.below(Self.groups)
    var range = RecordedTransaction.RangeRead(lower..<lower + 1 + random.below(2), [:])
    range.readsEvenKeysOnly = random.oneIn(2)
    if !range.readsEvenKeysOnly { count(.groupQueries) }
    var query = StructuredQuery(
      range.readsEvenKeysOnly ? .collection(Self.path(0).parent) : .collectionGroup("lists"))
    switch random.below(4) {
    case 0:
      let element = 1 + random.below(state.withLock { $0.nextElement } + 1)
      range.groups = 0..<Self.groups
      range.element = element
      query = try query.filtered(by: .field(Self.listField, .arrayContains, .integer(Int64(element))))
      count(.arrayQueries)
    case 1:
      query = try query.ordered(by: OrderBy(Self.groupField))
        .starting(.before, [.integer(Int64(range.groups.lowerBound))])
        .ending(.before, [.integer(Int64(range.groups.upperBound))])
      count(.cursors)
    default:
      query =
        try query
        .filtered(by: .field(Self.groupField, .greaterThanOrEqual, .integer(Int64(range.groups.lowerBound))))
        .filtered(by: .field(Self.groupField, .lessThan, .integer(Int64(range.groups.upperBound))))
    }
    if range.element == nil, random.oneIn(2) {
      let limit = 1 + random.below(3)
      range.limit = limit
      query = try query.limited(to: .first(limit))
      count(.limits)
    }
    let found = try ask(query)
    for document in found {
      if let key = Int(document.path.id) { range.found[key] = Self.elements(document) }
    }
    if let last = found.last, found.count == range.limit, let key = Int(last.path.id),
      case .integer(let group) = last.fields["group"]
    {
      range.last = RecordedTransaction.Place(key, Int(group))
    }
    return range
  }

  // MARK: Documents

  private static let listField = StoredFieldPath(unchecked: ["list"])
  private static let groupField = StoredFieldPath(unchecked: ["group"])

  static func path(_ key: Int) -> DocumentPath {
    DocumentPath(unchecked: (key % 2 == 0 ? [] : ["rooms", "r"]) + ["lists", "\(key)"])
  }

  private static func fields(_ elements: [Int]?, _ group: Int) -> StoredMap {
    var fields = StoredMap([("group", .integer(Int64(group)))])
    if let elements { fields["list"] = .array(elements.map { .integer(Int64($0)) }) }
    return fields
  }

  static func elements(_ document: StoredDocument?) -> [Int] {
    guard case .array(let elements) = document?.fields["list"] else { return [] }
    return elements.compactMap { if case .integer(let number) = $0 { Int(number) } else { nil } }
  }
}
