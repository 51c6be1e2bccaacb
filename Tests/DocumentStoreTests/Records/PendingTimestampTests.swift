// Timestamps that a remote has yet to set.

import DocumentStore
import Testing

@Suite struct PendingTimestampTests {
  private let time = StoredTimestamp(seconds: 1000, nanoseconds: 0)!

  private func document(_ value: StoredValue) throws -> StoredDocument {
    StoredDocument(
      path: try DocumentPath(["rooms", "eros"]), createTime: time, updateTime: time,
      fields: StoredMap([("at", value)]))
  }

  @Test(arguments: [
    nil, StoredValue.integer(7), .string("before"), .map(StoredMap([("deep", .array([.null]))])),
  ])
  func pendingTimesAreStoredWithThePreviousValue(_ previous: StoredValue?) throws {
    let document = try document(.pendingTimestamp(time, previous: previous))
    let read = try StoredDocument(path: document.path, record: document.record)
    #expect(read == document)
    let store = try DocumentStore.openInMemory()
    try store.commit([.place(document)])
    #expect(try store.document(at: document.path) == document)
  }

  @Test func nestedPendingTimestampIsNoValidRecord() throws {
    let inner = StoredValue.pendingTimestamp(time, previous: nil)
    let document = try document(.pendingTimestamp(time, previous: inner))
    #expect(throws: RecordError.self) {
      try StoredDocument(path: document.path, record: document.record)
    }
  }

  @Test func pendingTimestampsSortAfterTimestampsAndBeforeStrings() throws {
    let store = try DocumentStore.openInMemory()
    let values: [StoredValue] = [
      .timestamp(StoredTimestamp(microseconds: 200_000_000_000_000)!), .pendingTimestamp(time, previous: nil),
      .pendingTimestamp(StoredTimestamp(seconds: 2000, nanoseconds: 0)!, previous: .integer(1)), .string(""),
    ]
    for (index, value) in values.enumerated() {
      let path = try DocumentPath(["rooms", "\(9 - index)"])
      try store.commit([
        .place(
          StoredDocument(
            path: path, createTime: time, updateTime: time, fields: StoredMap([("at", value)])))
      ])
    }
    let field = try StoredFieldPath(["at"])
    let query = try StructuredQuery(.collection(try CollectionPath(["rooms"])))
      .ordered(by: OrderBy(field, .ascending))
    #expect(try store.documents(query).map(\.path.id) == ["9", "8", "7", "6"])
    let later = try query.filtered(by: .field(field, .greaterThan, .timestamp(time)))
    #expect(try store.documents(later).map(\.path.id) == ["9"])
    let pending = StoredValue.pendingTimestamp(time, previous: nil)
    let since = try query.filtered(by: .field(field, .greaterThanOrEqual, pending))
    #expect(try store.documents(since).map(\.path.id) == ["8", "7"])
    // Now the order comes from the index keys alone, in which both kinds of timestamps are adjacent.
    try store.createIndex(IndexDefinition("rooms", .collection, [IndexDefinition.Field(field)]))
    #expect(try !store.explain(later).isFiltered)
    #expect(try store.documents(later).map(\.path.id) == ["9"])
    #expect(try store.documents(since).map(\.path.id) == ["8", "7"])
  }
}
