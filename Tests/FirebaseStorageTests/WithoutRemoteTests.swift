// Buckets without a remote run no client of a remote.

import Foundation
import ObjectStore
import ObjectSync
import Testing

@testable import FirebaseStorage

struct WithoutRemoteTests {
  /// All work for a remote runs on the queue that a blob sync creates. Without a sync, the queue does not
  /// exist and uses no thread.
  @Test(.timeLimit(.minutes(5)), arguments: [false, true])
  func onlyABucketWithARemoteStartsABlobSync(hasRemote: Bool) async throws {
    let bucket = TestBucket()
    if hasRemote { bucket.storage.remote = LoopbackBlobRemote() }
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(Data("content".utf8))
    #expect(try await reference.data(maxSize: .max) == Data("content".utf8))
    #expect(try await bucket.root.listAll().items == [reference])
    #expect(try await bucket.storage.pendingChanges().isEmpty)
    try await bucket.storage.waitForPendingChanges()

    let client = bucket.storage.client
    let hasSync = (client.backend as? RemoteBackend)?.sync != nil
    #expect(hasSync == hasRemote)
    // Attaching a remote marks the buckets as its mirror.
    let isRemoteMirror = try client.objects().outbox.isRemoteMirror()
    #expect(isRemoteMirror == hasRemote)
    await bucket.close()
  }
}
