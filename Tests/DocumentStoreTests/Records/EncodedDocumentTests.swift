// A document that was read as a record can be passed on without decoding its fields.

import Testing

@testable import DocumentStore

@Suite struct EncodedDocumentTests {
  @Test func theFieldsOfAReadRecordStayEncoded() throws {
    let store = try DocumentStore.openInMemory()
    let path = try DocumentPath(["c", "a"])
    try store.commit([.set(path, StoredMap([("n", .integer(1)), ("t", .string("text"))]))])
    let record = try #require(try store.storedRecord(at: path))
    let document = record.encodedDocument
    #expect(document == record.document)
    #expect(document.fields.withRecordFields { _ in true } == true)
    #expect(record.document.fields.withRecordFields { _ in true } == nil)
  }

  @Test func aDecodedDocumentStaysDecoded() throws {
    let time = try #require(StoredTimestamp(microseconds: 5))
    let document = StoredDocument(
      path: try DocumentPath(["c", "a"]), createTime: time, updateTime: time,
      fields: StoredMap([("n", .null)]))
    #expect(DocumentRecord(document).encodedDocument == document)
  }
}
