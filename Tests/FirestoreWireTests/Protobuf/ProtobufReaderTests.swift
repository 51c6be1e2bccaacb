import ByteStore
import OfflineSync
import Testing

@testable import FirestoreWire

@Suite struct ProtobufReaderTests {
  // MARK: Numbers

  @Test(arguments: [0, 1, 127, 128, 16383, 16384, 1 << 35, UInt64(Int64.max), .max] as [UInt64])
  func varintsAreReadAsTheyAreWritten(number: UInt64) throws {
    var writer = ProtobufWriter()
    writer.varint(number)
    let bytes = writer.bytes
    var reader = try ProtobufReader(bytes.rawSpan)
    #expect(try reader.varint() == number)
    let isAtEnd = reader.isAtEnd
    #expect(isAtEnd)
  }

  @Test func aVarintMayHaveNeedlessBytes() throws {
    #expect(try message([5 << 3, 0x81, 0x80, 0x00]).once == false)
    #expect(try message([6 << 3, 0x81, 0x80, 0x00]).once)
  }

  @Test func aVarintHasAtMost64Bits() throws {
    let largest = [UInt8](repeating: 0xFF, count: 9)
    #expect(try message([5 << 3] + largest + [0x01]).targetId == -1)
    expectProblem([5 << 3] + largest + [0x02], "a number has more than 64 bits, at byte 1.")
    expectProblem([5 << 3] + largest + [0x81, 0x00], "a number has more than 64 bits, at byte 1.")
    expectProblem([5 << 3] + largest, "it ends inside a number, at byte 1.")
    expectProblem([5 << 3], "it ends inside a field, at byte 1.")
  }

  @Test func anInt32KeepsTheLowestBitsOfAVarint() throws {
    #expect(try message([5 << 3, 0x80, 0x80, 0x80, 0x80, 0x10]).targetId == 0)
    #expect(try message([5 << 3, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F]).targetId == -1)
  }

  // MARK: Tags

  @Test(arguments: [[0x00], [0x07], [0x0E], [0x0F], [0x80, 0x80, 0x80, 0x80, 0x10]] as [[UInt8]])
  func tagsThatDoNotExistAreRefused(tag: [UInt8]) {
    expectProblem(tag + [0], "there is no such tag, at byte 0.")
  }

  @Test func unknownFieldsOfAllTypesAreSkipped() throws {
    var writer = ProtobufWriter()
    writer.field(1000, varint: 300)
    writer.field(1001, double: 1)
    writer.field(1002, string: "unknown")
    writer.tag(ProtobufTag(1003, .fixed32))
    writer.append(encoded: [1, 2, 3, 4].rawSpan)
    writer.field(5, varint: 7)
    #expect(try message(writer.bytes).targetId == 7)
    // A known field with another wire type is unknown, too.
    #expect(try message([5 << 3 | 2, 1, 9, 6 << 3, 1]).once)
  }

  @Test func groupsAreSkipped() throws {
    // Group 1 with a number and with group 2 in it, then the target id.
    #expect(try message([0x0B, 0x08, 0x01, 0x13, 0x14, 0x0C, 5 << 3, 7]).targetId == 7)
    expectProblem([0x0B, 0x08, 0x01], "a group has no end, at byte 3.")
    expectProblem([0x0B, 0x14], "a group has the end of another, at byte 2.")
    expectProblem([0x0C], "a group ends that has not begun, at byte 1.")
  }

  @Test func groupsInsideGroupsHaveALimit() {
    let deep = [UInt8](repeating: 0x0B, count: 1_000_000)
    #expect(throws: WireError.tooDeep) { try message(deep) }
  }

  // MARK: Lengths

  @Test func aLengthBeyondTheEndIsRefused() {
    expectProblem([2 << 3 | 2, 2, 0], "a length of 2 bytes has only 1, at byte 1.")
    // No memory is taken for the declared length.
    for length in [[0xFF, 0xFF, 0xFF, 0xFF, 0x0F], [UInt8](repeating: 0xFF, count: 9) + [0x01]] as [[UInt8]] {
      #expect(throws: WireError.self) { try message([4 << 3 | 2] + length) }
      #expect(throws: WireError.self) { try message([2 << 3 | 2] + length) }
      #expect(throws: WireError.self) { try Wire.DocumentDelete(protobuf: [6 << 3 | 2] + length) }
    }
  }

  @Test func aNestedMessageDoesNotReadBeyondItsEnd() {
    // The query has one byte, and its field needs more. The bytes exist, but belong to the target.
    expectProblem(
      [2 << 3 | 2, 2, 1 << 3 | 2, 3, 5 << 3, 7, 6 << 3, 1], "a length of 3 bytes has only 0, at byte 3.")
  }

  // MARK: Strings

  @Test(
    arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82]] as [[UInt8]]
  )
  func stringsAreUTF8(bytes: [UInt8]) {
    var writer = ProtobufWriter()
    writer.field(1, bytes: bytes)
    #expect(throws: WireError("The message is not valid protobuf: a string is not UTF-8, at byte 1.")) {
      try Wire.RollbackRequest(protobuf: writer.bytes)
    }
  }

  // MARK: Limits

  @Test func aMessageHasAtMostTheAllowedBytes() throws {
    var limits = WireLimits()
    limits.bytesMax = 10
    var request = Wire.RollbackRequest()
    request.database = "12345678"
    #expect(try Wire.RollbackRequest(protobuf: request.protobuf(), limits: limits) == request)
    request.database += "9"
    let error = WireError(.resourceExhausted, "The message has 11 bytes, and at most 10 are allowed.")
    #expect(throws: error) { try Wire.RollbackRequest(protobuf: request.protobuf(), limits: limits) }
  }

  @Test func messagesInsideEachOtherHaveALimit() throws {
    let allowed = Self.filter(50)
    #expect(try Wire.StructuredQuery.Filter(protobuf: allowed.protobuf()) == allowed)
    let tooDeep = Self.filter(51)
    #expect(throws: WireError.tooDeep) { try Wire.StructuredQuery.Filter(protobuf: tooDeep.protobuf()) }
  }

  @Test func repeatedElementsHaveALimit() throws {
    var limits = WireLimits()
    // Empty writes have two bytes each on the wire, and about a hundred in memory.
    limits.countMax = 3 * (MemoryLayout<Wire.Write>.stride / WireLimits.bytesPerElement)
    #expect(limits.countMax > 3)
    let writes = [[UInt8]](repeating: [2 << 3 | 2, 0], count: 4)
    #expect(try Wire.CommitRequest(protobuf: Array(writes[..<3].joined()), limits: limits).writes.count == 3)
    #expect(throws: WireError.tooManyElements) {
      try Wire.CommitRequest(protobuf: Array(writes.joined()), limits: limits)
    }
    // Packed numbers have one byte each.
    limits.countMax = 3
    #expect(
      try Wire.DocumentDelete(protobuf: [6 << 3 | 2, 3, 1, 2, 3], limits: limits).removedTargetIds == [
        1, 2, 3,
      ])
    #expect(throws: WireError.tooManyElements) {
      try Wire.DocumentDelete(protobuf: [6 << 3 | 2, 4, 1, 2, 3, 4], limits: limits)
    }
  }

  private static func filter(_ depth: Int) -> Wire.StructuredQuery.Filter {
    (0..<depth).reduce(Wire.StructuredQuery.Filter()) { inner, _ in
      var composite = Wire.StructuredQuery.CompositeFilter()
      composite.filters = [inner]
      var filter = Wire.StructuredQuery.Filter()
      filter.filterType = .compositeFilter(composite)
      return filter
    }
  }

  private func message(_ bytes: [UInt8]) throws -> Wire.Target { try Wire.Target(protobuf: bytes) }

  private func expectProblem(_ bytes: [UInt8], _ sentence: String) {
    #expect(throws: WireError("The message is not valid protobuf: \(sentence)")) { try message(bytes) }
  }
}
