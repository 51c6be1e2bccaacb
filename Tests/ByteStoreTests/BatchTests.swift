// The memory layout of a batch.

import Testing

@testable import ByteStore

@Suite struct BatchTests {
  @Test func bodyIsAllocatedAtItsExactSize() throws {
    let bytes = Batch.bytes(ofPutOf: 1000, for: [1]) + Batch.bytes(ofRemovalOf: [2])
    var batch = Batch(bytes: bytes)
    try batch.put([UInt8](repeating: 1, count: 1000), for: [1])
    try batch.remove([2])
    #expect(batch.body.count == CommitBody.prefixBytes + bytes)
    // An allocator may return slightly more than requested.
    #expect(batch.body.capacity < batch.body.count + 256)
    // The announced size is not trusted.
    #expect(Batch(bytes: .max / 2).body.capacity < 32 << 20)
  }

  @Test(arguments: [0, 1, 20, 21, 22, 500])
  func bodyDoesNotDependOnTheAnnouncedSize(announced: Int) throws {
    var batch = Batch(stamp: 7, bytes: announced)
    try batch.put([1, 2, 3], for: [4])
    let (head, value): ([UInt8], [UInt8]) = ([5], [6])
    try batch.put(head: head.rawSpan, body: value.rawSpan, for: [])
    try batch.remove([8])
    let operations: [UInt8] =
      [1, 1, 0, 3, 0, 0, 0, 4, 1, 2, 3] + [1, 0, 0, 2, 0, 0, 0, 5, 6] + [2, 1, 0, 8]
    #expect(batch.body == [7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0] + operations)
    #expect(batch.bodyBytes == batch.body.count)
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
