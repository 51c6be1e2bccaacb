// The loopback remote fulfills the contract of a blob remote.

import ObjectSync
import OfflineSync
import Testing

struct LoopbackBlobRemoteTests {
  private let remote = LoopbackBlobRemote(countingFrom: 0)

  private func object(_ count: Int) -> RemoteObject {
    RemoteObject(bucket: "bucket", name: "folder/name", byteCount: UInt64(count), contentType: "text/plain")
  }

  @Test func aChunkedUploadCreatesAnObject() throws {
    try remote.append([1, 2, 3], at: 0, toUpload: "a")
    #expect(try remote.offset(ofUpload: "a") == 3)
    try remote.append([4], at: 3, toUpload: "a")
    let stored = try remote.finish(upload: "a", as: object(4))
    #expect(stored.generation == 1)
    #expect(try remote.object(bucket: "bucket", name: "folder/name") == stored)
    #expect(try remote.read(stored, from: 1, count: 2) == [2, 3])
    #expect(try remote.read(stored, from: 4, count: 2) == [])
    #expect(remote.openSessions == 0)
  }

  @Test func finishingAnUploadTwiceHasNoEffect() throws {
    try remote.append([1], at: 0, toUpload: "a")
    let first = try remote.finish(upload: "a", as: object(1))
    #expect(try remote.finish(upload: "a", as: object(1)) == first)
    #expect(try remote.offset(ofUpload: "a") == 1)
  }

  @Test func aPieceAtAWrongOffsetIsRefusedWithTheRightOffset() throws {
    try remote.append([1, 2], at: 0, toUpload: "a")
    #expect(throws: BlobRemoteError.wrongOffset(2)) { try remote.append([3], at: 1, toUpload: "a") }
    #expect(throws: BlobRemoteError.wrongOffset(2)) { _ = try remote.finish(upload: "a", as: object(3)) }
  }

  @Test func anUploadResumesAfterABrokenConnection() throws {
    let content = (0..<100).map { UInt8($0) }
    remote.disconnect(afterCalls: 5)
    var attempts = 0
    var errors: [BlobRemoteError] = []
    while true {
      attempts += 1
      do throws(BlobRemoteError) {
        var offset = Int(try remote.offset(ofUpload: "a"))
        while offset < content.count {
          try remote.append(
            Array(content[offset..<min(offset + 10, content.count)]), at: UInt64(offset), toUpload: "a")
          offset += 10
        }
        _ = try remote.finish(upload: "a", as: object(content.count))
        break
      } catch {
        errors.append(error)
        remote.isReachable = true
      }
    }
    #expect(errors.allSatisfy { $0.isTransient }, "\(errors)")
    #expect(attempts == 2)
    #expect(remote.bytesReceived == 100)
    #expect(remote.content(bucket: "bucket", name: "folder/name") == content)
  }

  @Test func aNewGenerationReplacesAnOlderOne() throws {
    try remote.append([1], at: 0, toUpload: "a")
    let first = try remote.finish(upload: "a", as: object(1))
    try remote.append([2], at: 0, toUpload: "b")
    let second = try remote.finish(upload: "b", as: object(1))
    #expect(second.generation > first.generation)
    #expect(throws: BlobRemoteError.notFound) { _ = try remote.read(first, from: 0, count: 1) }
    try remote.delete(bucket: "bucket", name: "folder/name")
    #expect(throws: BlobRemoteError.notFound) { try remote.delete(bucket: "bucket", name: "folder/name") }
  }

  @Test func anAbandonedSessionLeavesNoBytes() throws {
    try remote.append([1], at: 0, toUpload: "a")
    try remote.abandon(upload: "a")
    #expect(remote.openSessions == 0)
    #expect(try remote.offset(ofUpload: "a") == 0)
  }
}
