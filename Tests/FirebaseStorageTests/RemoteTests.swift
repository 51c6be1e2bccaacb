// Buckets with a remote, as an app uses them.

import ByteStore
import FirebaseStorage
import Foundation
import ObjectSync
import OfflineSync
import Testing

struct RemoteTests {
  private let remote = LoopbackBlobRemote()

  private func makeBucket(_ acknowledgement: StorageAcknowledgement = .server) -> TestBucket {
    let bucket = TestBucket()
    attach(bucket, acknowledgement)
    return bucket
  }

  private func attach(_ bucket: TestBucket, _ acknowledgement: StorageAcknowledgement = .server) {
    bucket.storage.remote = remote
    bucket.storage.acknowledgement = acknowledgement
    bucket.storage.maxDownloadRetryTime = 0
  }

  private func contentOfRemote(_ name: String) -> Data? {
    remote.content(bucket: "dugout", name: name).map { Data($0) }
  }

  @Test func anOfflineUploadIsReadableAtOnceAndSentAfterARestart() async throws {
    let bucket = makeBucket(.local)
    remote.isReachable = false
    let url = try bucket.file("source.txt", noise(1_400_000))
    let metadata = try await bucket.root.child("folder/a").putFileAsync(from: url)
    #expect(metadata.size == 1_400_000 && metadata.contentType == "text/plain")
    let reference = bucket.root.child("folder/a")
    #expect(try await reference.data(maxSize: .max) == noise(1_400_000))
    #expect(try await reference.getMetadata().md5Hash == metadata.md5Hash)
    #expect(try await bucket.root.child("folder").listAll().items == [reference])
    let url2 = try await reference.downloadURL()
    #expect(try bucket.storage.reference(for: url2) == reference)
    let pending = try await bucket.storage.pendingChanges()
    #expect(pending.map(\.reference) == [reference] && pending[0].kind == .upload(byteCount: 1_400_000))
    #expect(abs(pending[0].date.timeIntervalSinceNow) < 600)

    await bucket.restart()
    attach(bucket, .local)
    #expect(try await bucket.root.child("folder/a").data(maxSize: .max) == noise(1_400_000))
    #expect(contentOfRemote("folder/a") == nil)
    let before = try await bucket.root.child("folder/a").getMetadata().generation
    remote.isReachable = true
    try await bucket.storage.waitForPendingChanges()
    #expect(try await bucket.root.child("folder/a").getMetadata().generation >= before)
    #expect(contentOfRemote("folder/a") == noise(1_400_000))
    #expect(try await bucket.storage.pendingChanges().isEmpty)
    #expect(try remote.object(bucket: "dugout", name: "folder/a").contentType == "text/plain")
  }

  @Test func anUploadCompletesAfterTheRemoteHasIt() async throws {
    let bucket = makeBucket()
    let metadata = try await bucket.root.child("a").putDataAsync(noise(900_000))
    #expect(contentOfRemote("a") == noise(900_000))
    #expect(metadata.generation == (try remote.object(bucket: "dugout", name: "a").generation))
    let updated = StorageMetadata()
    updated.customMetadata = ["k": "v"]
    #expect(try await bucket.root.child("a").updateMetadata(updated).metageneration == 2)
    #expect(try remote.object(bucket: "dugout", name: "a").customMetadata == ["k": "v"])
    try await bucket.root.child("a").delete()
    #expect(contentOfRemote("a") == nil)
    #expect(try await storageError { try await bucket.root.child("a").delete() }.code == .objectNotFound)
  }

  @Test(.timeLimit(.minutes(5))) func aCancelledPendingUploadIsReverted() async throws {
    let bucket = makeBucket()
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(Data("before".utf8))
    remote.isReachable = false
    let task = reference.putData(noise(500_000))
    try await bucket.storage.waitForOutbox { !$0.isEmpty }
    #expect(try await reference.data(maxSize: .max) == noise(500_000))
    #expect(task.snapshot.status != .success && task.snapshot.progress?.completedUnitCount == 0)
    task.cancel()
    try await bucket.storage.waitForOutbox { $0.isEmpty }
    #expect(try await reference.data(maxSize: .max) == Data("before".utf8))
    #expect(task.snapshot.status == .failure)
    remote.isReachable = true
    try await bucket.storage.waitForPendingChanges()
    #expect(contentOfRemote("a") == Data("before".utf8))
  }

  @Test func aPendingChangeCanBeCancelled() async throws {
    let bucket = makeBucket(.local)
    remote.isReachable = false
    _ = try await bucket.root.child("a").putDataAsync(Data("a".utf8))
    _ = try await bucket.root.child("b").putDataAsync(Data("b".utf8))
    let first = try #require(try await bucket.storage.pendingChanges().first)
    #expect(try await first.cancel())
    #expect(try await !first.cancel())
    #expect(try await bucket.storage.pendingChanges().map(\.reference.name) == ["b"])
    let error = try await storageError { _ = try await bucket.root.child("a").data(maxSize: 1) }
    #expect(error.localizedDescription == "The loopback remote was disconnected.")
  }

  @Test func aRefusedUploadFailsAndTheEarlierObjectReappears() async throws {
    let bucket = makeBucket()
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(Data("before".utf8))
    remote.reject(name: "a")
    let error = try await storageError { _ = try await reference.putDataAsync(Data("after".utf8)) }
    #expect(error.localizedDescription == "Changes of a are not accepted.")
    #expect(try await reference.data(maxSize: .max) == Data("before".utf8))
  }

  private static let refusals: [(BlobRemoteError, StorageErrorCode, Int)] = [
    (.unauthenticated("m"), .unauthenticated, 401), (.quotaExceeded("m"), .quotaExceeded, 402),
    (.unauthorized("m"), .unauthorized, 403),
  ]

  @Test(arguments: refusals)
  func aRefusalsErrorCodeMatchesItsReason(reason: BlobRemoteError, code: StorageErrorCode, status: Int)
    async throws
  {
    let bucket = makeBucket()
    remote.refuse(name: "a", with: reason)
    let error = try await storageError {
      _ = try await bucket.root.child("a").putDataAsync(Data("after".utf8))
    }
    #expect(error.code == code && (error as NSError).userInfo["ResponseErrorCode"] as? Int == status)
    #expect((error as NSError).userInfo["ResponseBody"] as? String == "m")
    #expect(try await bucket.storage.pendingChanges().isEmpty && remote.openSessions == 0)
  }

  /// Guards against downloading an object that is too large, and against downloading an object to update its
  /// metadata.
  @Test func unneededContentsAreNotDownloaded() async throws {
    let (first, second) = (makeBucket(), makeBucket())
    _ = try await first.root.child("a").putDataAsync(noise(2_000_000))
    let reference = second.root.child("a")
    let error = try await storageError { _ = try await reference.data(maxSize: 1_999_999) }
    guard case .downloadSizeExceeded(2_000_000, 1_999_999) = error else { throw error }
    let types = StorageMetadata()
    types.contentType = "text/plain"
    let updated = try await reference.updateMetadata(types)
    #expect(updated.contentType == "text/plain" && updated.metageneration == 2)
    #expect(second.blobFiles.isEmpty)
    #expect(try await first.root.child("a").getMetadata().contentType == "text/plain")
  }

  @Test func aDeletedObjectIsNotFoundOffline() async throws {
    let bucket = makeBucket(.local)
    remote.isReachable = false
    _ = try await bucket.root.child("a").putDataAsync(Data("a".utf8))
    try await bucket.root.child("a").delete()
    #expect(try await storageError { try await bucket.root.child("a").delete() }.code == .objectNotFound)
  }

  /// Guards against downloads from the remote that report no progress, and against a pause that takes effect
  /// only at the end of the download.
  @Test(.timeLimit(.minutes(5))) func aDownloadFromTheRemoteReportsProgressAndCanBePaused() async throws {
    let (first, second) = (makeBucket(), makeBucket())
    _ = try await first.root.child("a").putDataAsync(noise(6_000_000))
    second.storage.maxDownloadRetryTime = 60
    // The connection breaks during the download. The task reports the bytes that were received before the
    // break.
    remote.disconnect(afterCalls: 5)
    let url = try second.file("other", Data()).deletingLastPathComponent().appendingPathComponent("out")
    let task = second.root.child("a").write(toFile: url)
    await task.completes(4 << 18)
    #expect(task.snapshot.progress?.totalUnitCount == 6_000_000)
    task.pause()
    await task.reaches(.pause)
    remote.isReachable = true
    let paused = try #require(task.snapshot.progress?.completedUnitCount)
    let progress = Locked<[Int64]>([])
    for status in [StorageTaskStatus.resume, .progress, .success] {
      task.observe(status) { snapshot in
        progress.withLock { $0.append(snapshot.progress?.completedUnitCount ?? 0) }
      }
    }
    task.resume()
    // Observers are notified after the file has its final name.
    await task.reaches(.success, .failure)
    #expect(progress.withLock { !$0.isEmpty && $0.allSatisfy { $0 >= paused } })
    #expect(try Data(contentsOf: url) == noise(6_000_000))
  }

  /// Guards against discarding a partial download when the process ends.
  @Test(.timeLimit(.minutes(5))) func anInterruptedDownloadResumesAfterARestart() async throws {
    let (first, second) = (makeBucket(), makeBucket())
    _ = try await first.root.child("a").putDataAsync(noise(6_000_000))
    second.storage.maxDownloadRetryTime = 600
    remote.stall(name: "a", from: 4 << 20)
    let url = try second.file("other", Data()).deletingLastPathComponent().appendingPathComponent("out")
    let task = second.root.child("a").write(toFile: url)
    await task.completes(4 << 20)
    await second.restart()
    attach(second)
    #expect(try await second.storage.pendingUploads().isEmpty)
    #expect(second.blobFiles.filter { $0.hasPrefix("staged-") }.count == 1)
    #expect(remote.bytesSent == 4 << 20)
    remote.stall(name: "a", from: nil)
    #expect(try await second.root.child("a").data(maxSize: .max) == noise(6_000_000))
    #expect(remote.bytesSent == 6_000_000)
    #expect(second.blobFiles.allSatisfy { !$0.hasPrefix("staged-") })
  }

  @Test(.timeLimit(.minutes(5))) func aCancelledDownloadLeavesNoStagedPart() async throws {
    let (first, second) = (makeBucket(), makeBucket())
    _ = try await first.root.child("a").putDataAsync(noise(6_000_000))
    second.storage.maxDownloadRetryTime = 600
    remote.stall(name: "a", from: 4 << 20)
    let task = second.root.child("a").getData(maxSize: .max) { (_: Data?, _: (any Error)?) in }
    await task.completes(4 << 20)
    await task.cancelAndDiscard()
    // The sync handles this call after the end of the search, and the end of the search removes the part.
    try await second.storage.waitForPendingChanges()
    #expect(second.blobFiles.allSatisfy { !$0.hasPrefix("staged-") })
  }

  /// Guards against a timeout error that does not contain the cause of the timeout.
  @Test(.timeLimit(.minutes(5))) func anUploadThatTimesOutReportsTheCause() async throws {
    let bucket = makeBucket()
    // Even with this limit, the remote has at least one second to answer.
    bucket.storage.maxUploadRetryTime = 0
    remote.isReachable = false
    let error = try await storageError { _ = try await bucket.root.child("a").putDataAsync(Data("a".utf8)) }
    #expect((error as NSError).code == -13000)
    let description = (error as NSError).localizedDescription
    #expect(description.contains("The loopback remote was disconnected."), "\(description)")
    #expect(try await bucket.storage.pendingChanges().count == 1)
  }

  @Test func anAppCanReadAnotherAppsUploads() async throws {
    let (first, second) = (makeBucket(), makeBucket())
    _ = try await first.root.child("a").putDataAsync(noise(2_000_000))
    let reference = second.root.child("a")
    let metadata = try await reference.getMetadata()
    #expect(metadata.size == 2_000_000 && second.blobFiles.isEmpty)
    #expect(metadata == (try await first.root.child("a").getMetadata()))
    #expect(metadata.metageneration == 1 && metadata.timeCreated != nil && metadata.updated != nil)
    #expect(metadata.md5Hash?.isEmpty == false && metadata.isFile)
    #expect(try await reference.downloadURL() == (try await first.root.child("a").downloadURL()))
    #expect(try await reference.data(maxSize: .max) == noise(2_000_000))
    #expect(try await reference.getMetadata() == metadata, "the same once it is here")
    let types = StorageMetadata()
    types.contentType = "text/plain"
    let changed = try await first.root.child("a").updateMetadata(types)
    #expect(changed.metageneration == 2 && changed.generation == metadata.generation)
    let seen = try await reference.getMetadata()
    #expect(seen.contentType == "text/plain" && seen.metageneration == 2)
    #expect(seen.timeCreated == metadata.timeCreated)
    _ = try await first.root.child("a").putDataAsync(Data("newer".utf8))
    #expect(try await reference.data(maxSize: .max) == Data("newer".utf8))
    remote.isReachable = false
    #expect(try await reference.data(maxSize: .max) == Data("newer".utf8))
    remote.isReachable = true
    try await first.root.child("a").delete()
    #expect(try await storageError { _ = try await reference.data(maxSize: 9) }.code == .objectNotFound)
  }

  @Test func listingsComeFromTheRemoteOrOfflineFromTheLocalStore() async throws {
    let (first, second) = (makeBucket(), makeBucket(.local))
    for name in ["a", "b/1", "b/2", "c"] {
      _ = try await first.root.child(name).putDataAsync(Data(name.utf8))
    }
    let all = try await second.root.listAll()
    #expect(all.items.map(\.fullPath) == ["a", "c"] && all.prefixes.map(\.fullPath) == ["b"])
    #expect(all.pageToken == nil && second.blobFiles.isEmpty)
    var page = try await second.root.list(maxResults: 1)
    var names: [String] = []
    var wrong: [String] = []
    while true {
      let count = page.items.count + page.prefixes.count
      if count != 1 { wrong.append("\(count) names after \(names)") }
      names += (page.items + page.prefixes).map(\.fullPath)
      guard let token = page.pageToken else { break }
      let other = try await storageError {
        _ = try await second.root.child("c").list(maxResults: 1, pageToken: token)
      }
      if other.code != .unknown { wrong.append("a token of another folder: \(other)") }
      page = try await second.root.list(maxResults: 1, pageToken: token)
    }
    #expect(wrong == [])
    #expect(names == ["a", "b", "c"])
    #expect(try await second.root.child("b").listAll().items.map(\.name) == ["1", "2"])
    #expect(try await second.root.child("none").listAll().items.isEmpty)

    remote.isReachable = false
    #expect(try await second.root.listAll().items.isEmpty)
    _ = try await second.root.child("d").putDataAsync(Data("d".utf8))
    #expect(try await second.root.listAll().items.map(\.name) == ["d"])
    remote.isReachable = true
    try await second.storage.waitForPendingChanges()
    #expect(try await second.root.listAll().items.map(\.name) == ["a", "c", "d"])
    #expect(try await first.root.listAll().items.map(\.name) == ["a", "c", "d"])
  }

  @Test(.timeLimit(.minutes(5))) func aWaitingUploadCanBePausedAndResumed() async throws {
    let bucket = makeBucket()
    remote.isReachable = false
    let reference = bucket.root.child("a")
    let task = reference.putData(noise(400_000))
    try await bucket.storage.waitForOutbox { !$0.isEmpty }
    task.pause()
    #expect(task.snapshot.status == .pause)
    remote.isReachable = true
    task.resume()
    await task.reaches(.success)
    #expect(contentOfRemote("a") == noise(400_000))
    #expect(task.snapshot.progress?.completedUnitCount == 400_000)
  }

  /// Guards against losing an answer that arrives between a pause and the next run. Without the answer, the
  /// next run would wait forever.
  @Test(.timeLimit(.minutes(5))) func pausingAndResumingLosesNoRemoteAnswer() async throws {
    let bucket = makeBucket()
    for round in 0..<200 {
      let task = bucket.root.child("\(round)").putData(Data("\(round)".utf8))
      for _ in 0..<round % 12 {
        task.pause()
        task.resume()
        await Task.yield()
      }
      await task.reaches(.success, .failure)
      try #require(task.snapshot.status == .success)
    }
  }

  @Test func aBucketCreatedWithARemoteIsRefusedWithoutTheRemote() async throws {
    let bucket = makeBucket()
    _ = try await bucket.root.child("a").putDataAsync(Data("a".utf8))
    await bucket.restart()
    let error = try await storageError { _ = try await bucket.root.child("a").getMetadata() }
    #expect(error.localizedDescription.contains("Name the remote in Storage.remote"))
  }
}
