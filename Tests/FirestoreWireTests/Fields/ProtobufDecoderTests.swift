import DocumentStore
import Testing

@testable import FirestoreWire

@Suite struct ProtobufDecoderTests {
  @Test func fieldsMayComeInAnyOrder() throws {
    var writer = ProtobufWriter()
    writer.field(3, bytes: [1])
    writer.field(1, string: "database")
    var expected = Wire.CommitRequest()
    expected.transaction = [1]
    expected.database = "database"
    #expect(try Wire.CommitRequest(protobuf: writer.bytes) == expected)
  }

  @Test func theLastScalarWins() throws {
    var writer = ProtobufWriter()
    writer.field(1, string: "first")
    writer.field(2, bytes: [1])
    writer.field(1, string: "second")
    let request = try Wire.RollbackRequest(protobuf: writer.bytes)
    #expect(request.database == "second")
    #expect(request.transaction == [1])
  }

  /// protobuf joins the fields of a message that occurs twice, and appends its repeated fields.
  @Test func messagesThatOccurTwiceAreMerged() throws {
    var first = Wire.Document()
    first.name = "first"
    first.createTime = Wire.Timestamp(seconds: 1, nanos: 2)
    first.fields = StoredMap([("a", .integer(1)), ("b", .integer(1))])
    var second = Wire.Document()
    second.name = "second"
    second.createTime = Wire.Timestamp(seconds: 0, nanos: 3)
    second.fields = StoredMap([("b", .integer(2))])
    var writer = ProtobufWriter()
    writer.field(1, bytes: try first.protobuf())
    writer.field(1, bytes: try second.protobuf())
    let write = try Wire.Write(protobuf: writer.bytes)
    let document = try #require(write.operation?.update)
    #expect(document.name == "second")
    #expect(document.createTime == Wire.Timestamp(seconds: 1, nanos: 3))
    #expect(document.fields == StoredMap([("a", .integer(1)), ("b", .integer(2))]))
  }

  @Test func anotherMemberOfAOneofEndsTheMerge() throws {
    var document = Wire.Document()
    document.name = "first"
    var writer = ProtobufWriter()
    writer.field(1, bytes: try document.protobuf())
    writer.field(2, string: "deleted")
    writer.field(1, bytes: [])
    #expect(try Wire.Write(protobuf: writer.bytes).operation == .update(Wire.Document()))
  }

  @Test func numbersArePackedOrSingle() throws {
    let packed: [UInt8] = [6 << 3 | 2, 3, 1, 0x80, 0x01]
    let single: [UInt8] = [6 << 3, 1, 6 << 3, 0x80, 0x01]
    for bytes in [packed, single] {
      #expect(try Wire.DocumentDelete(protobuf: bytes).removedTargetIds == [1, 128])
      #expect(try Wire.DocumentDelete(protobuf: bytes).protobuf() == packed)
    }
    #expect(try Wire.DocumentDelete(protobuf: packed + single).removedTargetIds == [1, 128, 1, 128])
    #expect(throws: WireError.self) { try Wire.DocumentDelete(protobuf: [6 << 3 | 2, 2, 1, 0x80]) }
  }

  @Test func anEmptyMessageIsPresent() throws {
    #expect(try Wire.Target(protobuf: [12 << 3 | 2, 0]).expectedCount == 0)
    #expect(try Wire.Target(protobuf: []).expectedCount == nil)
    var target = Wire.Target()
    target.expectedCount = 0
    #expect(try target.protobuf() == [12 << 3 | 2, 0])
  }

  @Test func unknownCasesAreUnspecified() throws {
    #expect(try Wire.StructuredQuery.Order(protobuf: [2 << 3, 2]).direction == .descending)
    // Without a direction, the order ascends. An unknown direction must not.
    #expect(try Wire.StructuredQuery.Order(protobuf: [2 << 3, 77]).direction == .unrecognized)
    #expect(try Wire.StructuredQuery.FieldFilter(protobuf: [2 << 3, 77]).op == .unspecified)
    // The numbers of UnaryFilter.Operator have a gap.
    #expect(try Wire.StructuredQuery.UnaryFilter(protobuf: [1 << 3, 1]).op == .unspecified)
  }

  @Test func theLastEntryOfANameWins() throws {
    func entry(_ number: Int32, _ name: String, value: Int64) throws -> [UInt8] {
      var content = ProtobufWriter()
      content.field(1, string: name)
      try ValueWriter.write(.integer(value), as: 2, to: &content)
      var writer = ProtobufWriter()
      writer.field(number, bytes: content.bytes)
      return writer.bytes
    }
    let name: [UInt8] = [1 << 3 | 2, 1, 0x78]
    // Other fields may come between the entries.
    let bytes = try entry(2, "a", value: 1) + name + entry(2, "b", value: 2) + entry(2, "a", value: 3)
    let document = try Wire.Document(protobuf: bytes)
    #expect(document.fields == StoredMap([("a", .integer(3)), ("b", .integer(2))]))
    #expect(document.name == "x")
  }

  @Test func labelsAreWrittenInTheOrderOfTheirNames() throws {
    var request = Wire.ListenRequest()
    request.labels = ["b": "1", "": "2", "\u{E9}": "3", "a": "4"]
    let bytes = try request.protobuf()
    #expect(
      bytes == [
        34, 5, 10, 0, 18, 1, 50, 34, 6, 10, 1, 97, 18, 1, 52, 34, 6, 10, 1, 98, 18, 1, 49, 34, 7, 10, 2, 195,
        169,
        18, 1,
        51,
      ])
    #expect(try Wire.ListenRequest(protobuf: bytes) == request)
  }

  @Test func lengthsOfTwoBytesAreWrittenInFrontOfTheirMessage() throws {
    var request = Wire.BatchGetDocumentsRequest()
    var mask = Wire.DocumentMask()
    for count in [127, 128, 16383, 16384] {
      mask.fieldPaths = [String(repeating: "p", count: count)]
      request.mask = mask
      #expect(try Wire.BatchGetDocumentsRequest(protobuf: request.protobuf()) == request)
    }
  }

  @Test func namesOfLabelsDifferByBytes() throws {
    var request = Wire.ListenRequest()
    request.labels = ["e\u{301}": "1", "\u{E9}": "2"]
    #expect(try Wire.ListenRequest(protobuf: request.protobuf()).labels.entries.count == 2)
    #expect(request.labels["\u{E9}"] == "2")
    request.labels["\u{E9}"] = nil
    #expect(request.labels == ["e\u{301}": "1"])
    #expect(request.labels != ["\u{E9}": "1"])
  }

  /// Without a limit, the work would grow with the square of the number of entries.
  @Test func mergingManyTimesIsRefused() throws {
    var entry = ProtobufWriter()
    entry.field(2, bytes: [0x0A, 1, 0x61, 0x12, 2, 11 << 3, 0])
    // The name of the document is between the entries, or each entry is in a document of its own.
    let between = entry.bytes + [0x0A, 0]
    let names = (0..<1000).flatMap { index in
      let name = Array("\(1000 + index)".utf8)
      var entry = ProtobufWriter()
      entry.field(2, bytes: [0x0A, 4] + name + [0x12, 2, 11 << 3, 0])
      return entry.bytes + [0x0A, 0]
    }
    #expect(try Wire.Document(protobuf: between + between).fields.count == 1)
    var limits = WireLimits()
    limits.countMax = 100_000
    #expect(throws: WireError.tooManyElements) { try Wire.Document(protobuf: names, limits: limits) }
    // Also labels, of which few are allowed.
    let labels = (0..<900).flatMap { index in
      [0x22, 6, 0x0A, 4] + Array("\(1000 + index)".utf8) + [0x0A, 0] as [UInt8]
    }
    #expect(throws: WireError.tooManyElements) { try Wire.ListenRequest(protobuf: labels, limits: limits) }
    #expect(try Wire.ListenRequest(protobuf: labels).labels.entries.count == 900)
    #expect(throws: WireError.tooManyElements) {
      try Wire.ListenRequest(protobuf: (0..<1001).flatMap { _ in [0x22, 0] as [UInt8] })
    }
  }
}
