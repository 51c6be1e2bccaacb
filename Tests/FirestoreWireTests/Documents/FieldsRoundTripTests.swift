// Fields of documents survive the wire in both forms, as records and as trees.

import Harness
import OfflineSync
import Testing

@testable import DocumentStore
@testable import FirestoreWire

struct FieldsRoundTripTests {
  @Test(arguments: 0..<40)
  func protobufIsTheOneOfAPlainWriter(seed: UInt64) throws {
    var generator = WireFields(seed: seed)
    let encoder = FieldsEncoder.ofNewStore()
    for _ in 0..<20 {
      let fields = generator.next()
      let expected = PlainProtobuf.fields(fields)
      #expect(try FieldsCoding.protobuf(fields) == expected)
      for record in records(of: fields, encoder) { #expect(try FieldsCoding.protobuf(record) == expected) }
    }
  }

  @Test(arguments: 0..<40)
  func fieldsSurviveBothForms(seed: UInt64) throws {
    var generator = WireFields(seed: seed)
    let encoder = FieldsEncoder.ofNewStore()
    for _ in 0..<20 {
      let fields = generator.next()
      let protobuf = try FieldsCoding.protobuf(fields)
      let json = try FieldsCoding.json(fields)
      #expect(try FieldsCoding.readTree(protobuf: protobuf) == fields)
      #expect(try FieldsCoding.readTree(json: json) == fields)
      for reading in [DocumentReading.standard, DocumentReading(encoder: encoder)] {
        #expect(try FieldsCoding.read(protobuf: protobuf, reading) == fields)
        #expect(try FieldsCoding.read(json: json, reading) == fields)
      }
      for record in records(of: fields, encoder) { #expect(try FieldsCoding.json(record) == json) }
    }
  }

  @Test func usualFieldsAreReadAsARecord() throws {
    let fields = StoredMap([
      ("a", .integer(1)), ("m", .map(StoredMap([("v", .vector([1, 2]))]))), ("r", .array([.string("x")])),
    ])
    let read = try FieldsCoding.read(protobuf: PlainProtobuf.fields(fields))
    #expect(
      read.record?.checkedSize == records(of: fields, FieldsEncoder.ofNewStore())[0].record?.checkedSize
    )
    #expect(try FieldsCoding.read(json: #"{"a":{"integerValue":"1"}}"#).record != nil)
  }

  @Test func fieldsOfAStoreAreReadWithItsShapes() throws {
    let encoder = FieldsEncoder.ofNewStore()
    let fields = StoredMap([("a", .integer(1)), ("m", .map(StoredMap([("b", .null)])))])
    _ = records(of: fields, encoder)
    let (protobuf, json) = (PlainProtobuf.fields(fields), try FieldsCoding.json(fields))
    for read in [
      try FieldsCoding.read(protobuf: protobuf, DocumentReading(encoder: encoder)),
      try FieldsCoding.read(json: json, DocumentReading(encoder: encoder)),
    ] {
      let record = try #require(read.record)
      #expect(!record.lacksShapes)
      #expect(FieldsEncoder.record(of: read, shapes: encoder.shapes) === record)
    }
  }

  @Test func aCommitGivesShapesToTheFieldsOfAMessage() throws {
    let directory = TemporaryDirectory()
    let store = try DocumentStore.open(directory.path)
    let encoder = store.fieldsEncoder
    let (path, fields) = (try DocumentPath(["c", "d"]), StoredMap([("a", .integer(1)), ("b", .null)]))
    let message = PlainProtobuf.fields(fields)
    for _ in 0..<3 {
      let read = try FieldsCoding.read(protobuf: message, DocumentReading(encoder: encoder))
      try store.commit([.set(path, read, precondition: .none)])
      #expect(try store.document(at: path)?.fields == fields)
    }
    #expect(encoder.shapes.version == 1)
    let known = try FieldsCoding.read(protobuf: message, DocumentReading(encoder: encoder))
    #expect(known.record?.lacksShapes == false)
    try store.close()
  }

  @Test func aPendingTimeIsNullForOthers() throws {
    let pending = StoredValue.pendingTimestamp(.epoch, previous: .string("before"))
    let fields = StoredMap([("t", pending), ("x", .array([.map(StoredMap([("t", pending)]))]))])
    let expected = StoredMap([("t", .null), ("x", .array([.map(StoredMap([("t", .null)]))]))])
    for form in [fields] + records(of: fields, FieldsEncoder.ofNewStore()) {
      #expect(try FieldsCoding.read(protobuf: FieldsCoding.protobuf(form)) == expected)
      #expect(try FieldsCoding.read(json: FieldsCoding.json(form)) == expected)
    }
  }

  /// The fields as records: first with names in the maps, then with shapes.
  private func records(of fields: StoredMap, _ encoder: FieldsEncoder) -> [StoredMap] {
    (0..<3).map { _ in StoredMap(FieldsEncoder.record(of: fields, shapes: encoder.shapes)) }
  }
}

extension FieldsEncoder {
  /// The encoder of a new store, which creates shapes.
  static func ofNewStore() -> FieldsEncoder {
    let shapes = ShapeDictionary()
    shapes.begin(from: 0)
    return FieldsEncoder(shapes)
  }
}
