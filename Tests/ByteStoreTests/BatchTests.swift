// The memory layout of a batch.

import Testing

@testable import ByteStore

@Suite struct BatchTests {
  @Test func bodyIsAllocatedAtItsExactSize() throws {
    let bytes = Batch.bytes(ofPutOf: 1000, for: [1]) + Batch.bytes(ofRemovalOf: [2])
    var batch = Batch(bytes: bytes)
    let room = batch.body.capacity
    try batch.put([UInt8](repeating: 1, count: 1000), for: [1])
    try batch.remove([2])
    #expect(batch.body.capacity == room)
    #expect(batch.body.count == CommitBody.prefixBytes + bytes)
    // An allocator may return slightly more than requested.
    #expect(room < batch.body.count + 256)
    // The announced size is not trusted.
    #expect(Batch(bytes: .max / 2).body.capacity < 32 << 20)
  }

  @Test func sizeLimitIsCheckedBeforeABatchIsBuilt() throws {
    let most = LogFormat.frameBodyBytesMax - CommitBody.prefixBytes
    try Batch.check(bytes: most)
    #expect(throws: ByteStoreError.self) { try Batch.check(bytes: most + 1) }
    // The batch itself has this limit.
    let parts = [Batch.valueBytesMax, most - Batch.valueBytesMax - 2 * Batch.bytes(ofPutOf: 0, for: [1])]
    var batch = Batch()
    for part in parts { try batch.put([UInt8](repeating: 0, count: part), for: [1]) }
    #expect(batch.body.count == LogFormat.frameBodyBytesMax)
    #expect(throws: ByteStoreError.self) { try batch.remove([]) }
  }
}
