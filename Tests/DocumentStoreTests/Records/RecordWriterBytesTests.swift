// Fields whose names and texts are bytes of a message are written like those that are strings.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

struct RecordWriterBytesTests {
  private struct Invalid: Error {}

  /// Writes texts as fields of a map, with names and texts as bytes.
  private func record(_ encoder: FieldsEncoder, _ texts: KeyValuePairs<String, String>) -> StoredMap? {
    try? encoder.encode { writer, map throws(Invalid) in
      for (name, text) in texts {
        let (name, text) = (Array(name.utf8), Array(text.utf8))
        guard writer.field(utf8: name.rawSpan, in: map), writer.string(utf8: text.rawSpan) else {
          throw Invalid()
        }
      }
    }
  }

  @Test func namesOfEveryLengthAreFoundInTheirShape() {
    let long = String(repeating: "long", count: 30)
    let encoder = FieldsEncoder(.ofNewStore())
    let expected = StoredMap([
      ("a", .string("1")), (long + "a", .string("2")), (long + "b" + long, .string("3")),
      (long + "c" + long, .string("é")),
    ])
    for _ in 0..<4 {
      let fields = record(
        encoder, ["a": "1", long + "c" + long: "é", long + "a": "2", long + "b" + long: "3"])
      #expect(fields == expected)
      #expect(
        fields?.record?.checkedSize == FieldsEncoder.record(of: expected, shapes: encoder.shapes).checkedSize)
    }
  }

  @Test func onlyACommitGivesNewShapes() throws {
    let encoder = FieldsEncoder(.ofNewStore())
    for _ in 0..<4 {
      let fields = try #require(record(encoder.withoutNewShapes, ["a": "1", "b": "2"]))
      #expect(encoder.shapes.version == 0)
      #expect(fields.record?.lacksShapes == true)
    }
    let foreign = try #require(record(encoder.withoutNewShapes, ["a": "1", "b": "2"]))
    for _ in 0..<2 { _ = FieldsEncoder.record(of: foreign, shapes: encoder.shapes) }
    #expect(encoder.shapes.version == 1)
    #expect(FieldsEncoder.record(of: foreign, shapes: encoder.shapes).lacksShapes == false)
    let known = try #require(record(encoder.withoutNewShapes, ["b": "2", "a": "1"]))
    #expect(known.record?.lacksShapes == false)
    #expect(FieldsEncoder.record(of: known, shapes: encoder.shapes) === known.record)
    #expect(known == foreign)
  }

  @Test func textThatIsNotUTF8IsRefused() {
    let bytes: [UInt8] = [0xC3, 0x28]
    var writer = RecordWriter()
    let map = writer.begin()
    let isName = writer.field(utf8: bytes.rawSpan, in: map)
    let isText = writer.string(utf8: bytes.rawSpan)
    let isPath = writer.reference(project: bytes.rawSpan, database: bytes.rawSpan, path: bytes.rawSpan)
    #expect([isName, isText, isPath] == [false, false, false])
  }

  @Test(arguments: 0..<20)
  func aReferenceIsAcceptedOnlyIfItsPathIsValid(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let names = [
      "a", "", ".", "..", "__x__", "__id7__", "_", "é", "b c", String(repeating: "x", count: 1501),
    ]
    for _ in 0..<200 {
      let segments = (0..<1 + random.below(4)).map { _ in
        random.oneIn(3) ? names[random.below(names.count)] : "n\(random.below(9))"
      }
      let path = Array(segments.joined(separator: "/").utf8)
      let (project, database) = (Array("p".utf8), Array("d".utf8))
      let fields = try? FieldsEncoder.withoutStore.encode { writer, map throws(Invalid) in
        writer.field("r", in: map)
        guard writer.reference(project: project.rawSpan, database: database.rawSpan, path: path.rawSpan)
        else {
          throw Invalid()
        }
      }
      guard let fields else { continue }
      let reference = StoredReference(
        projectID: "p", databaseID: "d",
        path: try DocumentPath(String(decoding: path, as: UTF8.self).pathSegments))
      #expect(fields == StoredMap([("r", .reference(reference))]))
      #expect(fields.record?.checkedSize == FieldLimits.size(of: reference).map { $0 + 2 })
    }
  }

  @Test func aReferenceAtTheLimitsOfItsPathIsAccepted() throws {
    for (count, isAccepted) in [(200, true), (202, false)] {
      let path = Array([String](repeating: "x", count: count).joined(separator: "/").utf8)
      var writer = RecordWriter()
      _ = writer.begin()
      let name = Array("p".utf8)
      let isPath = writer.reference(project: name.rawSpan, database: name.rawSpan, path: path.rawSpan)
      #expect(isPath == isAccepted)
    }
  }
}

extension ShapeDictionary {
  /// The dictionary of a new store, which may assign all ids.
  static func ofNewStore() -> ShapeDictionary {
    let shapes = ShapeDictionary()
    shapes.begin(from: 0)
    return shapes
  }
}
