// How a commit in the making is laid out.

import Testing

@testable import ByteStore

@Suite struct BatchTests {
  @Test func aBodyHasNoMoreRoomThanItNeeds() throws {
    var batch = Batch(bytes: Batch.bytes(ofPutOf: 1000, for: [1]) + Batch.bytes(ofRemovalOf: [2]))
    let room = batch.body.capacity
    try batch.put([UInt8](repeating: 1, count: 1000), for: [1])
    try batch.remove([2])
    #expect(batch.body.capacity == room)
    #expect(throws: ByteStoreError.self) { try Batch.check(bytes: 16 << 20) }
    try Batch.check(bytes: 15 << 20)
    // What is said to come is not taken for granted.
    #expect(Batch(bytes: .max / 2).body.capacity < 32 << 20)
  }
}
