// Indexes and references that disagree with the documents. Checksums do not detect such a disagreement, but a
// check does.

import ByteStore
import Testing

@testable import DocumentStore
@testable import ObjectStore

@Suite struct AgreementTests {
  /// A store with documents, two indexes (one on array elements), and an object with its content.
  private func makeStore() throws -> DocumentStore {
    let store = try DocumentStore.openInMemory()
    for number in 0..<50 {
      let tags = StoredValue.array([.string("a"), .string("tag \(number % 3)"), .string("a")])
      try store.commit([
        .set(
          try DocumentPath(["c", "\(number)"]), StoredMap([("n", .integer(Int64(number))), ("tags", tags)])),
        .set(try DocumentPath(["c", "\(number)", "d", "x"]), StoredMap([("n", .double(0.5))])),
      ])
    }
    for field in [
      IndexDefinition.Field(try StoredFieldPath(dotted: "n")),
      .init(try StoredFieldPath(dotted: "tags"), .element),
    ] {
      try store.createIndex(try IndexDefinition("c", .collection, [field]))
    }
    let source = UploadSource(file: nil, byteCount: 5, modified: 0)
    let path = ObjectPath(bucket: "bucket", name: try ObjectName("letter"))
    let upload = store.objects.upload(to: path, from: source, attributes: ObjectAttributes())
    try upload.append([1, 2, 3, 4, 5])
    _ = try upload.finish(token: "token")
    _ = try store.documents(StructuredQuery(.collectionGroup("d")))
    return store
  }

  @Test func aHealthyStoreHasNoContradictions() throws {
    let store = try makeStore()
    let agreement = try store.agreement()
    #expect(agreement.contradictions == [])
    #expect(agreement.contents == 1 && agreement.unreferencedContents == 0)
    #expect(agreement.objects == 1 && agreement.records == 102 && agreement.documents == 100)
    #expect(agreement.indexes >= 3 && agreement.indexKeys >= 50 + 100)
    try store.close()
  }

  @Test func anIndexWithoutADocumentsEntryIsReported() throws {
    let store = try makeStore()
    store.indexes.state.withLock { $0.indexes[0].tree = OrderedIndex() }
    let agreement = try store.agreement()
    #expect(agreement.contradictions.contains { $0.contains("c/7 is missing in the index c(n)") })
    #expect(agreement.contradictions.contains { $0.contains("has 0 keys, and the documents have 50") })
    try store.close()
  }

  @Test func contradictionsOfAWrongIndexAreReportedUpToALimit() throws {
    let store = try makeStore()
    store.indexes.state.withLock { state in
      let tree = state.indexes[1].tree
      state.indexes[1].tree = state.indexes[0].tree
      state.indexes[0].tree = tree
    }
    let agreement = try store.agreement()
    #expect(agreement.contradictions.count == StoreAgreement.contradictionsMax)
    #expect(agreement.contradictionsOmitted > 0)
    try store.close()
  }

  @Test func anObjectWithoutItsContentIsReported() throws {
    let store = try makeStore()
    let contents = try store.documents(StructuredQuery(.collection(ReservedPath.allBlobs)))
    #expect(contents.count == 1)
    try store.commit([.delete(DocumentPath(unchecked: contents[0].path.segments))])
    #expect(
      try store.agreement().contradictions == ["the object letter in bucket has a content that is missing"])
    try store.close()
  }

  @Test func anUnreferencedContentIsCounted() throws {
    let store = try makeStore()
    let path = ObjectPath(bucket: "bucket", name: try ObjectName("letter"))
    try store.commit([.delete(path.document)])
    var agreement = try store.agreement()
    #expect(agreement.contradictions == [])
    #expect(agreement.objects == 0 && agreement.contents == 1 && agreement.unreferencedContents == 1)
    try store.objects.sweep(.everything)
    agreement = try store.agreement()
    #expect(agreement.contents == 0 && agreement.unreferencedContents == 0)
    try store.close()
  }

  /// A pending change is not an object, but the content of the change is still referenced.
  @Test func aPendingChangeReferencesItsContent() throws {
    let store = try makeStore()
    let path = ObjectPath(bucket: "bucket", name: try ObjectName("letter"))
    let record = try #require(try store.document(at: path.document))
    try store.commit([.set(OutboxRecord.base(path), record.fields), .delete(path.document)])
    #expect(try store.agreement().unreferencedContents == 0)
    try store.close()
  }
}
