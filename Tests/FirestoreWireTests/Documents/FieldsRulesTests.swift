// Fields that break a rule of Firestore are refused, with Firestore's sentence.

import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@testable import FirestoreWire

struct FieldsRulesTests {
  struct Broken: Sendable, CustomTestStringConvertible {
    var value: [UInt8]
    var json: String
    var message: String
    var testDescription: String { message }
  }

  static let values: [Broken] = [
    Broken(value: [], json: "{}", message: "Cannot convert firestore.v1.Value with type unset."),
    Broken(
      value: P.field(9, P.field(1, P.field(9, []))),
      json: #"{"arrayValue":{"values":[{"arrayValue":{}}]}}"#,
      message: "Cannot convert an array value in an array value."),
    Broken(
      value: P.field(8, P.geoPoint(91, 0)), json: #"{"geoPointValue":{"latitude":91}}"#,
      message: "Geo point latitude '91.0' outside permitted range -90.0 to 90.0."),
    Broken(
      value: P.field(8, P.geoPoint(.nan, 0)), json: #"{"geoPointValue":{"latitude":"NaN"}}"#,
      message: "Geo point latitude 'NaN' outside permitted range -90.0 to 90.0."),
    Broken(
      value: P.field(8, P.geoPoint(0, -181)), json: #"{"geoPointValue":{"longitude":-181}}"#,
      message: "Geo point longitude '-181.0' outside permitted range -180.0 to 180.0."),
    Broken(
      value: P.field(5, Array("projects/p".utf8)), json: #"{"referenceValue":"projects/p"}"#,
      message: #"Resource name "projects/p" lacks "/" at index 10."#),
    Broken(
      value: vector([.integer(1)]), json: vectorJSON(#"{"integerValue":"1"}"#),
      message: "Vector must only contain values of type 'double'."),
    Broken(value: vector([]), json: vectorJSON(""), message: "Cannot have a zero length vector."),
    Broken(
      value: vector([.double(.nan)]), json: vectorJSON(#"{"doubleValue":"NaN"}"#),
      message: "Vector cannot contain NaN values."),
    Broken(
      value: vector(Array(repeating: .double(0), count: 2049)),
      json: vectorJSON(Array(repeating: #"{"doubleValue":0}"#, count: 2049).joined(separator: ",")),
      message: "Vectors must be at most 2048 dimensions."),
    Broken(
      value: P.field(9, P.field(1, vector([.double(1)]))),
      json: #"{"arrayValue":{"values":[\#(vectorJSON(#"{"doubleValue":1}"#))]}}"#,
      message: "Cannot convert a vector value in an array value."),
    Broken(
      value: map([("__type__", .string("__vector__"))]),
      json: #"{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"}}}}"#,
      message: "Vector map is missing key 'value'."),
    Broken(
      value: map([("__type__", .string("__vector__")), ("value", .null)]),
      json: #"{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},"value":{"nullValue":null}}}}"#,
      message: "Vector Value type must be an array."),
    Broken(
      value: map([("__type__", .string("__vector__")), ("value", .array([.double(1)])), ("x", .null)]),
      json:
        #"{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},"value":{"arrayValue":{}},"x":{"nullValue":null}}}}"#,
      message: "Vector Value map has extraneous entries."),
    Broken(
      value: map([("__type__", .integer(1))]),
      json: #"{"mapValue":{"fields":{"__type__":{"integerValue":"1"}}}}"#,
      message: "Field __type__ is not a string."),
    Broken(
      value: map([("__x__", .null)]), json: #"{"mapValue":{"fields":{"__x__":{"nullValue":null}}}}"#,
      message: "field name __x__ is reserved."),
    Broken(
      value: deep(21), json: deepJSON(21), message: "Property f contains an invalid nested entity."),
    Broken(
      value: P.field(17, [UInt8](repeating: 0x61, count: 1_048_487)),
      json: #"{"stringValue":"\#(String(repeating: "a", count: 1_048_487))"}"#,
      message: #"The value of property "f" is longer than 1048487 bytes."#),
  ]

  @Test(arguments: values)
  func aBrokenValueIsRefused(_ broken: Broken) {
    #expect(throws: WireError(broken.message)) {
      try FieldsCoding.read(protobuf: P.entry("f", broken.value))
    }
    #expect(throws: WireError(broken.message)) { try FieldsCoding.read(json: #"{"f":\#(broken.json)}"#) }
  }

  @Test(arguments: [
    ("", "The property.name is the empty string."), ("__x__", "field name __x__ is reserved."),
    (String(repeating: "x", count: 1501), "The property.name is longer than 1500 bytes."),
  ])
  func aBrokenNameIsRefused(name: String, message: String) {
    #expect(throws: WireError(message)) { try FieldsCoding.read(protobuf: P.entry(name, P.value(.null))) }
    #expect(throws: WireError(message)) { try FieldsCoding.read(json: #"{"\#(name)":{"nullValue":null}}"#) }
  }

  @Test func valuesAtTheLimitsAreRead() throws {
    let deepest = try FieldsCoding.read(json: #"{"f":\#(Self.deepJSON(20))}"#)
    #expect(try FieldsCoding.read(protobuf: P.entry("f", Self.deep(20))) == deepest)
    let name = String(repeating: "x", count: 1500)
    #expect(try FieldsCoding.read(protobuf: P.entry(name, P.value(.null)))[name] == .null)
    let vector = StoredValue.vector(Array(repeating: 1, count: 2048))
    #expect(try FieldsCoding.read(protobuf: P.entry("f", P.value(vector)))["f"] == vector)
    let text = StoredValue.string(String(repeating: "a", count: 1_048_480))
    #expect(try FieldsCoding.read(protobuf: P.entry("f", P.value(text)))["f"] == text)
  }

  @Test func timesAreTruncatedToMicroseconds() throws {
    let entries = P.entry("t", P.field(10, P.timestamp(-1, 999_999_999)))
    #expect(try FieldsCoding.read(protobuf: entries)["t"] == .timestamp(time(-1)))
    let json = #"{"t":{"timestampValue":"1969-12-31T23:59:59.999999999Z"}}"#
    #expect(try FieldsCoding.read(json: json)["t"] == .timestamp(time(-1)))
    for bytes in [P.timestamp(253_402_300_800, 0), P.timestamp(0, 1_000_000_000), P.timestamp(0, -1)] {
      #expect(throws: WireError.self) { try FieldsCoding.read(protobuf: P.entry("t", P.field(10, bytes))) }
    }
  }

  @Test func textThatIsNotUTF8IsRefused() {
    let broken = WireError("The message contains a string that is not valid UTF-8.")
    for bytes: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80]] {
      #expect(throws: broken) { try FieldsCoding.read(protobuf: P.entry("f", P.field(17, bytes))) }
      #expect(throws: broken) {
        try FieldsCoding.read(protobuf: P.field(2, P.field(1, bytes) + P.field(2, P.value(.null))))
      }
    }
  }

  @Test func aClientAcceptsEveryVectorOfItsAuthority() throws {
    let fields = StoredMap([("v", .vector([])), ("x", .array([.vector([.nan])]))])
    let received = DocumentReading(.received)
    #expect(try FieldsCoding.read(protobuf: P.fields(fields), received) == fields)
    #expect(try FieldsCoding.read(json: FieldsCoding.json(fields), received) == fields)
  }

  @Test func anOperandMayHaveArraysInArrays() throws {
    let operand = StoredValue.array([.array([.array([.integer(1)])])])
    let bytes = P.field(1, P.value(operand))
    var reader = try ProtobufReader(bytes.rawSpan)
    _ = try reader.tag()
    var notes: [PipelineValue] = []
    #expect(try ValueReader.read(&reader, noting: &notes) == operand)
  }

  @Test func aDocumentThatIsTooLargeIsRefusedWhileItIsRead() {
    let entry = P.entry("f", P.value(.string(String(repeating: "a", count: 600_000))))
    let other = P.entry("g", P.value(.string(String(repeating: "a", count: 600_000))))
    #expect(throws: WireError("maximum entity size is 1048576 bytes.")) {
      try FieldsCoding.read(protobuf: entry + other)
    }
  }

  // MARK: Values

  private typealias P = PlainProtobuf

  private func time(_ microseconds: Int64) throws -> StoredTimestamp {
    try #require(StoredTimestamp(microseconds: microseconds))
  }

  private static func map(_ entries: [StoredMap.Entry]) -> [UInt8] { P.value(.map(StoredMap(entries))) }

  private static func vector(_ elements: [StoredValue]) -> [UInt8] {
    map([("__type__", .string("__vector__")), ("value", .array(elements))])
  }

  private static func vectorJSON(_ elements: String) -> String {
    #"{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},"value":{"arrayValue":{"values":[\#(elements)]}}}}}"#
  }

  private static func deep(_ depth: Int) -> [UInt8] {
    depth == 0 ? P.value(.null) : P.field(6, P.entry("m", deep(depth - 1), in: 1))
  }

  private static func deepJSON(_ depth: Int) -> String {
    depth == 0 ? #"{"nullValue":null}"# : #"{"mapValue":{"fields":{"m":\#(deepJSON(depth - 1))}}}"#
  }
}
