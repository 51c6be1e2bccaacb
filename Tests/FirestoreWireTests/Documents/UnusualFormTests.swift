// Messages in a form that encoders do not write are read as protobuf defines.

import ByteStore
import CAllocations
import DocumentStore
import Harness
import OfflineSync
import Testing

@testable import FirestoreWire

struct UnusualFormTests {
  private typealias P = PlainProtobuf

  private let one = P.value(.integer(1))
  private let two = P.value(.integer(2))

  @Test func theLastEntryWithANameWins() throws {
    #expect(try read(P.entry("a", one) + P.entry("b", one) + P.entry("a", two)) == numbers(["a": 2, "b": 1]))
    #expect(
      try FieldsCoding.read(json: #"{"a":{"integerValue":"1"},"a":{"integerValue":"2"}}"#)["a"] == .integer(2)
    )
  }

  @Test func theLastContentOfAValueWins() throws {
    #expect(try read(P.entry("a", P.value(.string("x")) + one + two)) == numbers(["a": 2]))
  }

  @Test func mapsOfOneValueAreMerged() throws {
    let maps = [("a", one), ("b", one), ("a", two)].flatMap { P.field(6, P.entry($0.0, $0.1, in: 1)) }
    let expected = StoredMap([("m", .map(StoredMap([("a", .integer(2)), ("b", .integer(1))])))])
    #expect(try FieldsCoding.read(protobuf: P.entry("m", maps)) == expected)
  }

  @Test func arraysOfOneValueAreJoinedUnlessAnotherContentIsBetweenThem() throws {
    let first = P.field(9, P.field(1, one))
    let second = P.field(9, P.field(1, two))
    let both = StoredMap([("a", .array([.integer(1), .integer(2)]))])
    #expect(try FieldsCoding.read(protobuf: P.entry("a", first + second)) == both)
    let last = StoredMap([("a", .array([.integer(2)]))])
    #expect(try FieldsCoding.read(protobuf: P.entry("a", first + one + second)) == last)
  }

  @Test func aValueInTwoPartsIsMerged() throws {
    let entry = P.field(2, P.field(1, Array("a".utf8)) + P.field(2, one) + P.field(2, two))
    #expect(try read(entry) == numbers(["a": 2]))
  }

  @Test func aValueMayComeBeforeItsName() throws {
    #expect(try read(P.field(2, P.field(2, one) + P.field(1, Array("a".utf8)))) == numbers(["a": 1]))
  }

  /// As everywhere in JSON, null means absent, and a field that occurs twice is refused.
  @Test(arguments: [
    #"{"mapValue":{"fields":{},"fields":{}}}"#, #"{"arrayValue":{"values":[],"values":[]}}"#,
    #"{"geoPointValue":{"latitude":1,"latitude":2}}"#, #"{"nullValue":{"a":1}}"#, #"{"nullValue":"NULL"}"#,
    #"{"nullValue":1}"#,
  ]) func contentsThatOccurTwiceAreRefused(json: String) {
    #expect(throws: WireError.self) { try FieldsCoding.read(json: #"{"a":\#(json)}"#) }
  }

  @Test func nullIsAnAbsentContent() throws {
    let json =
      #"{"a":{"geoPointValue":{"latitude":null,"longitude":2}},"b":{"mapValue":{"fields":null,"fields":{}}},"#
      + #""c":{"nullValue":"NULL_VALUE"},"d":{"nullValue":0},"e":{"arrayValue":{"values":null}}}"#
    let fields = try FieldsCoding.read(json: json)
    #expect(fields["a"] == StoredGeoPoint(latitude: 0, longitude: 2).map { .geoPoint($0) })
    #expect(fields["b"] == .map(StoredMap()) && fields["e"] == .array([]))
    #expect(fields["c"] == .null && fields["d"] == .null)
  }

  /// Strings with many combining characters are slow to compare.
  @Test func aLongNameOfATypeIsSkipped() throws {
    guard allocations_are_counted() else { return }
    let name = "a" + String(repeating: "\u{301}", count: 100_000)
    let json = Array(#"{"a":{"\#(name)":1,"integerValue":"1"}}"#.utf8)
    let before = allocated_bytes_of_this_thread()
    #expect(try FieldsCoding.read(json: String(decoding: json, as: UTF8.self))["a"] == .integer(1))
    #expect(allocated_bytes_of_this_thread() - before < UInt(50 * json.count))
  }

  /// Arrays have no size of their own.
  @Test func emptyArraysAreCounted() {
    let arrays = Array(repeating: P.field(1, P.field(9, [])), count: 300_000).flatMap(\.self)
    let bytes = P.field(1, P.field(9, arrays))
    #expect(throws: WireError("A document or an operand has at most 262144 arrays.")) {
      var reader = try ProtobufReader(bytes.rawSpan)
      _ = try reader.tag()
      var notes: [PipelineValue] = []
      _ = try ValueReader.read(&reader, noting: &notes)
    }
  }

  @Test func unknownFieldsAreSkipped() throws {
    let unknown =
      P.field(99, varint: 7) + P.field(98, double: 1) + P.field(97, [1, 2, 3]) + P.varint(96 << 3 | 5) + [
        1, 2, 3, 4,
      ]
      + P.varint(95 << 3 | 3) + P.field(1, varint: 1) + P.varint(95 << 3 | 4)
    #expect(try read(P.entry("a", unknown + one + unknown)) == numbers(["a": 1]))
    #expect(
      try read(P.field(2, unknown + P.field(1, Array("a".utf8)) + P.field(2, one))) == numbers(["a": 1]))
    let json = #"{"a":{"future":[1,{"x":null}],"integerValue":"1"}}"#
    #expect(try FieldsCoding.read(json: json)["a"] == .integer(1))
  }

  @Test func entriesOfAMapMayBeApart() throws {
    let name = P.field(1, Array("projects/p/databases/d/documents/c/a".utf8))
    let document = P.entry("a", one) + name + P.entry("b", one) + P.entry("a", two)
    #expect(try read(document) == numbers(["a": 2, "b": 1]))
  }

  @Test func aVectorWithItsFieldsInAnyOrderIsAVector() throws {
    let type = P.entry("__type__", P.value(.string("__vector__")), in: 1)
    let value = P.entry("value", P.value(.array([.double(1), .double(-0.0)])), in: 1)
    for map in [type + value, value + type, value + type + value] {
      let fields = try FieldsCoding.read(protobuf: P.entry("v", P.field(6, map)))
      #expect(fields["v"] == .vector([1, -0.0]))
    }
    let ordinary = StoredMap([("value", .integer(1)), ("x", .null)])
    #expect(try FieldsCoding.read(protobuf: P.entry("m", P.value(.map(ordinary))))["m"] == .map(ordinary))
  }

  @Test func brokenProtobufIsRefused() {
    let entry = P.entry("a", one)
    for count in 1..<entry.count {
      #expect(throws: WireError.self) { try FieldsCoding.read(protobuf: Array(entry.prefix(count))) }
    }
  }

  private func read(_ bytes: [UInt8]) throws -> StoredMap { try FieldsCoding.read(protobuf: bytes) }

  private func numbers(_ numbers: KeyValuePairs<String, Int64>) -> StoredMap {
    StoredMap(numbers.map { ($0.key, .integer($0.value)) })
  }
}
