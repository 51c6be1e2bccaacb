// A value in many parts takes work in proportion to its bytes.

import CAllocations
import DocumentStore
import Testing

@testable import FirestoreWire

@Suite struct MergedPartsTests {
  private typealias P = PlainProtobuf

  /// The fields of a value that are messages, whose parts are merged.
  @Test(arguments: [UInt64(6), 8, 9, 10])
  func aPartDoesNotCopyThePartsBeforeIt(_ number: UInt64) throws {
    guard allocations_are_counted() else { return }
    let few = try bytesTaken(parts: 1_000, in: number)
    let many = try bytesTaken(parts: 8_000, in: number)
    #expect(many <= 16 * few)
  }

  @Test func aPartOfAnotherKindDropsTheOnesBefore() throws {
    let map = P.field(6, P.entry("a", P.value(.integer(1)), in: 1))
    let array = P.field(9, P.field(1, P.value(.integer(2))))
    let fields = try FieldsCoding.readTree(protobuf: P.entry("f", map + array + map + array + array))
    #expect(fields == StoredMap([("f", .array([.integer(2), .integer(2)]))]))
  }

  @Test func tooManyPartsAreRefused() {
    let value = [UInt8]((0..<10_001).flatMap { _ in P.field(6, []) })
    #expect(throws: WireError.tooManyElements) { try FieldsCoding.readTree(protobuf: P.entry("f", value)) }
  }

  /// The bytes that reading a value in empty parts takes from the allocator.
  private func bytesTaken(parts: Int, in number: UInt64) throws -> UInt {
    let message = P.entry("f", [UInt8]((0..<parts).flatMap { _ in P.field(number, []) }))
    _ = try FieldsCoding.readTree(protobuf: message)
    let before = allocated_bytes_of_this_thread()
    _ = try FieldsCoding.readTree(protobuf: message)
    return allocated_bytes_of_this_thread() - before
  }
}
