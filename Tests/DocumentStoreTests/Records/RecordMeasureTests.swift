// The limits of documents, checked on the bytes of their records.

import Testing

@testable import DocumentStore

@Suite struct RecordMeasureTests {
  private let shapes = ShapedRecords()

  /// The document with its fields as a record, once with names and once with a shape.
  private func records(_ fields: StoredMap) -> [StoredDocument] {
    let document = StoredDocument(
      path: path("a", "b"), createTime: timestamp(1), updateTime: timestamp(1), fields: fields)
    return [shapes.encode(document).document, shapes.encode(document).document]
  }

  @Test(arguments: DocumentLimitsTests.sizes) func sizesMatchTheContract(value: StoredValue, bytes: Int) {
    for record in records(StoredMap([("name", value)])) {
      #expect(record.fields.record?.firestoreBytes == 5 + bytes)
      #expect(throws: Never.self) { try DocumentLimits.check(record) }
    }
  }

  @Test(
    arguments: [
      ("", .null), ("__a__", .null), ("__", .null), ("array", .array([.array([])])),
      ("vector", .vector(Array(repeating: 0, count: 2049))),
      ("large", .bytes(Array(repeating: 0, count: 1_048_488))),
      ("map", .map(StoredMap([("__x__", .null)]))),
    ] as [(String, StoredValue)])
  func theErrorIsThatOfTheDecodedFields(name: String, value: StoredValue) throws {
    for record in records(StoredMap([(name, value), ("z", .null)])) {
      #expect(record.fields.record?.firestoreBytes == nil)
      let expected = try #require(failure { _ = try DocumentLimits.check(record.decoded) })
      let found = try #require(failure { _ = try DocumentLimits.check(record) })
      #expect("\(found)" == "\(expected)")
    }
  }

  /// An encoder can write fields that are nested too deep to be decoded. No limit accepts them as a document
  /// without fields.
  @Test func fieldsThatDoNotDecodeAreBeyondTheLimits() async {
    #if DEBUG
    await #expect(processExitsWith: .failure) { try Self.checkFieldsThatAreTooDeep() }
    #else
    #expect(throws: DocumentStoreError.self) { try Self.checkFieldsThatAreTooDeep() }
    #endif
  }

  private static func checkFieldsThatAreTooDeep() throws {
    let fields = (0...RecordCodec.depthMax + 1).reduce(StoredMap()) { inner, _ in
      StoredMap([("m", .map(inner))])
    }
    let record = StoredMap(FieldsEncoder.record(of: fields, shapes: ShapeDictionary()))
    try DocumentLimits.check(
      StoredDocument(path: path("a", "b"), createTime: timestamp(1), updateTime: timestamp(1), fields: record)
    )
  }

  @Test func theWalkFindsAllShapes() {
    let inner = StoredMap([("x", .null)])
    let fields = StoredMap([
      ("array", .array([.map(inner)])), ("map", .map(StoredMap([("m", .map(inner))]))),
      ("pending", .pendingTimestamp(timestamp(1), previous: .map(StoredMap([("p", .null)])))),
    ])
    for _ in 0..<2 { _ = records(fields) }
    let document = StoredDocument(
      path: path("a", "b"), createTime: timestamp(1), updateTime: timestamp(1), fields: fields)
    let (record, used) = shapes.encode(document)
    #expect(used.count == 4)
    #expect(ShapedRecords.shapes(of: record) == used)
  }
}
