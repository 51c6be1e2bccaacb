// A problem with one object must not block other objects, and every watcher is notified once.

import ByteStore
import Harness
import ObjectSync
import OfflineSync
import Testing

@testable import DocumentStore
@testable import ObjectStore

struct BlobTroubleTests {
  private let remote = LoopbackBlobRemote(countingFrom: 0)

  /// The received results, in order.
  private final class ResultLog: Sendable {
    private let lines = Locked<[String]>([])
    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }

    func watcher(_ name: String, timeout: Int64? = nil) -> BlobSync.Watcher {
      BlobSync.Watcher(timeout: timeout) { [self] result in
        switch result {
        case .success: add("\(name): done")
        case .failure(.store(.failed)): add("\(name): unreadable")
        case .failure(.store(.corrupted)): add("\(name): damaged")
        case .failure(.overdue(.store(.full)?)): add("\(name): overdue, no room here")
        case .failure(.overdue(.store(.failed)?)): add("\(name): overdue, unreadable")
        case .failure(.remote(.unavailable)): add("\(name): unavailable")
        case .failure(.remote(.rejected)): add("\(name): rejected")
        case .failure(let error): add("\(name): \(error)")
        }
      }
    }
  }

  private let results = ResultLog()

  private func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return random.bytes(count)
  }

  private func put(
    _ bytes: [UInt8], _ name: String, _ client: BlobClient, _ watcher: BlobSync.Watcher? = nil
  ) throws -> QueuedChange {
    try client.sync.put(
      try client.upload(bytes, name), token: "token", watcher: watcher ?? results.watcher(name)
    ).change
  }

  private func contentOfRemote(_ name: String) -> [UInt8]? { remote.content(bucket: "bucket", name: name) }

  private func putAtRemote(_ bytes: [UInt8], _ name: String) throws {
    try remote.append(bytes, at: 0, toUpload: "other \(name)")
    _ = try remote.finish(
      upload: "other \(name)",
      as: RemoteObject(bucket: "bucket", name: name, byteCount: UInt64(bytes.count)))
  }

  // MARK: Stalled downloads

  private func find(_ name: String, _ client: BlobClient, timeout: Int64, _ steps: Locked<[UInt64]>? = nil)
    throws
  {
    let wanted = BlobSync.FetchRequest(fetchesContent: true, timeout: timeout) { done, _ in
      steps?.withLock { $0.append(done) }
    }
    client.sync.find(try client.path(name), wanted) { [results] result in
      if case .success(.here) = result {
        results.add("found \(name)")
      } else {
        results.add("not found \(name)")
      }
    }
  }

  /// Guards against stalled downloads that occupy every slot until they time out.
  @Test func stalledDownloadsYieldTheirSlotsAndResume() throws {
    let client = try BlobClient(remote)
    let steps = Locked<[UInt64]>([])
    for number in 0..<20 {
      try putAtRemote(bytes(600_000, seed: UInt64(number) + 1), "\(number)")
      remote.stall(name: "\(number)", from: number % 2 == 0 ? 256 << 10 : 0)
      try find("\(number)", client, timeout: 600_000_000, number == 0 ? steps : nil)
    }
    try putAtRemote(bytes(700_000), "other")
    try find("other", client, timeout: 0)
    client.scheduler.play(for: 0)
    #expect(results.all == ["found other"])
    for number in 0..<20 { remote.stall(name: "\(number)", from: nil) }
    client.scheduler.play(for: 200_000_000)
    #expect(results.all.count == 21 && results.all.allSatisfy { $0.hasPrefix("found") })
    // The search resumed after the bytes it had received.
    #expect(steps.withLock { $0 } == [256 << 10, 512 << 10, 600_000])
    #expect(try client.content("19") == bytes(600_000, seed: 20))
    #expect(try client.objects.blobs.inventory().staged.isEmpty)
  }

  /// Every download that waits for a retry keeps a file open, so only some of the downloads may keep their
  /// parts.
  @Test func onlySomeOfManyStalledDownloadsKeepTheirParts() throws {
    let client = try BlobClient(remote)
    for number in 0..<100 {
      try putAtRemote(bytes(300_000, seed: UInt64(number) + 1), "\(number)")
      remote.stall(name: "\(number)", from: 256 << 10)
      try find("\(number)", client, timeout: 600_000_000)
    }
    client.scheduler.play(for: 0)
    let kept = try client.objects.blobs.inventory().staged.count
    #expect((16...80).contains(kept), "\(kept) parts are kept")
    for number in 0..<100 { remote.stall(name: "\(number)", from: nil) }
    client.scheduler.play(for: 200_000_000)
    #expect(Set(results.all) == Set((0..<100).map { "found \($0)" }) && results.all.count == 100)
    #expect(try client.objects.blobs.inventory().staged.isEmpty)
  }

  private func stall(_ names: some Sequence<Int>, from offset: UInt64?) {
    for name in names { remote.stall(name: "\(name)", from: offset) }
  }

  /// Guards against restarting a nearly complete download because many other downloads were waiting when this
  /// download stalled.
  @Test func theSmallestPartOfManyWaitingDownloadsIsDropped() throws {
    let client = try BlobClient(remote)
    let steps = Locked<[UInt64]>([])
    stall(0..<70, from: 256 << 10)
    for number in 0..<70 {
      try putAtRemote(bytes(300_000, seed: UInt64(number) + 1), "\(number)")
      try find("\(number)", client, timeout: 600_000_000)
    }
    try putAtRemote(bytes(1_000_000), "100")
    stall([100], from: 768 << 10)
    try find("100", client, timeout: 600_000_000, steps)
    client.scheduler.play(for: 0)
    stall([100], from: nil)
    client.scheduler.play(for: 30_000_000)
    #expect(results.all == ["found 100"])
    #expect(steps.withLock { $0 } == [256 << 10, 512 << 10, 768 << 10, 1_000_000])
    stall(0..<70, from: nil)
    client.scheduler.play(for: 200_000_000)
    #expect(results.all.count == 71 && results.all.allSatisfy { $0.hasPrefix("found") })
    #expect(try client.objects.blobs.inventory().staged.isEmpty)
  }

  @Test func heldDownloadsDoNotBlockWaitingOnes() throws {
    let client = try BlobClient(remote)
    var searches: [BlobSync.Search] = []
    for number in 0..<70 {
      try putAtRemote(bytes(300_000, seed: UInt64(number) + 1), "\(number)")
      remote.stall(name: "\(number)", from: 256 << 10)
      let wanted = BlobSync.FetchRequest(fetchesContent: true, timeout: 600_000_000)
      searches.append(client.sync.find(try client.path("\(number)"), wanted) { _ in })
      // Stalls the downloads in two portions, so that no part is dropped.
      guard number == 34 || number == 69 else { continue }
      client.scheduler.play(for: 0)
      for search in searches { client.sync.hold(search) }
      client.scheduler.play(for: 100_000_000)
    }
    #expect(try client.objects.blobs.inventory().staged.count == 70)
    let steps = Locked<[UInt64]>([])
    try putAtRemote(bytes(300_000), "100")
    stall([100], from: 256 << 10)
    try find("100", client, timeout: 600_000_000, steps)
    client.scheduler.play(for: 0)
    stall([100], from: nil)
    client.scheduler.play(for: 30_000_000)
    #expect(results.all == ["found 100"] && steps.withLock { $0 } == [256 << 10, 300_000])
    for search in searches { client.sync.giveUp(search) }
    client.scheduler.play(for: 0)
    #expect(try client.objects.blobs.inventory().staged.isEmpty)
  }

  /// Guards against waking two downloads for one free slot and moving the second download to the end of the
  /// queue.
  @Test func downloadsGetFreeSlotsInOrder() throws {
    let client = try BlobClient(remote)
    for number in 0..<80 {
      try putAtRemote(bytes(3000, seed: UInt64(number) + 1), "\(number)")
      try find("\(number)", client, timeout: 0)
    }
    client.scheduler.play(for: 0)
    #expect(results.all == (0..<80).map { "found \($0)" })
  }

  // MARK: Unreadable contents

  private func clientThatCannotRead(_ content: [UInt8]) throws -> BlobClient {
    let id = try #require(BlobID(ContentDigest.sha256(of: content.rawSpan)))
    var options = SimulatedDisk.Options()
    options.unreadable = SimulatedDisk.Unreadable(path: "/store/blobs/blob-\(id)", range: 0..<1 << 30)
    return try BlobClient(remote, SimulatedDisk(options: options))
  }

  /// Guards against retrying one change forever without sending the changes after it.
  @Test func anUnreadableContentIsReportedAndOthersAreSent() throws {
    let client = try clientThatCannotRead(bytes(900_000))
    let first = try put(bytes(900_000), "a", client)
    try client.update("a", results.watcher("update")) { $0.setCustom("k", "v") }
    _ = try put(bytes(3000, seed: 3), "b", client)
    client.sync.wait { [results] error in results.add(error == nil ? "all sent" : "not all sent") }
    client.scheduler.play(for: 0)
    #expect(results.all == ["b: done"])
    client.scheduler.play(for: 200_000_000)
    // The failed change is reported first. The failed change is not cancelled, so the changes that depend on
    // it are reported next.
    #expect(results.all == ["b: done", "a: unreadable", "update: unreadable", "not all sent"])
    // Nothing is lost: the changes stay queued and can be cancelled.
    #expect(try client.sync.changes().map(\.number) == [first.number, first.number + 1])
    client.sync.wait { [results] error in results.add(error == nil ? "all sent" : "still not all") }
    client.scheduler.play(for: 0)
    #expect(results.all.last == "still not all")
    client.sync.cancel(first.number) { [results] isGone in results.add("cancelled \(isGone)") }
    client.scheduler.play(for: 0)
    #expect(results.all.last == "cancelled true" && results.all.count == 6)
    #expect(contentOfRemote("a") == nil && contentOfRemote("b") == bytes(3000, seed: 3))
    #expect(try client.sync.changes().isEmpty && remote.openSessions == 0)
    client.sync.wait { [results] error in results.add(error == nil ? "all sent" : "not all sent") }
    client.scheduler.play(for: 0)
    #expect(results.all.last == "all sent")
  }

  /// Overwrites bytes in the middle of each content that has its own file.
  private func damageContents(of client: BlobClient) throws {
    let folder = try client.disk.openDirectory("/store/blobs")
    for name in try folder.names() where name.hasPrefix("blob-") {
      let file = try folder.openFile(name, .readAndWrite)
      let junk = [UInt8](repeating: 0xAA, count: 64)
      _ = try file.write(junk.rawSpan, at: file.size() / 2)
      try file.sync()
      file.close()
    }
  }

  /// Guards against discarding an acknowledged change silently because its content is damaged.
  @Test func aDamagedContentIsReportedAndKept() throws {
    let client = try BlobClient(remote)
    let first = try put(bytes(900_000), "a", client)
    try damageContents(of: client)
    _ = try put(bytes(3000, seed: 3), "b", client)
    client.sync.wait { [results] error in results.add(error == nil ? "all sent" : "not all sent") }
    client.scheduler.play(for: 200_000_000)
    #expect(results.all == ["b: done", "a: damaged", "not all sent"])
    #expect(try client.sync.changes().map(\.number) == [first.number])
    #expect(try client.objects.object(at: client.path("a"))?.byteCount == 900_000)
    #expect(contentOfRemote("a") == nil)
    // After a restart without a watcher, the change is still queued.
    let next = try client.afterPowerLoss()
    next.sync.wait { [results] error in results.add(error == nil ? "all sent" : "still not all") }
    next.scheduler.play(for: 200_000_000)
    #expect(results.all.last == "still not all")
    #expect(try next.sync.changes().map(\.number) == [first.number])
    // Another upload of the content repairs both changes.
    _ = try put(bytes(900_000), "a", next, results.watcher("second a"))
    next.scheduler.play(for: 200_000_000)
    #expect(results.all.last == "second a: done" && contentOfRemote("a") == bytes(900_000))
    #expect(try next.content("a") == bytes(900_000))
    #expect(try next.sync.changes().isEmpty && remote.openSessions == 0)
  }

  @Test func aDamagedContentCanBeDeleted() throws {
    let client = try BlobClient(remote)
    _ = try put(bytes(900_000), "a", client)
    try damageContents(of: client)
    client.scheduler.play(for: 200_000_000)
    #expect(results.all == ["a: damaged"])
    #expect(try client.sync.delete(client.path("a"), results.watcher("delete")))
    client.scheduler.play(for: 200_000_000)
    #expect(results.all == ["a: damaged", "delete: done"])
    #expect(try client.sync.changes().isEmpty && remote.openSessions == 0)
    #expect(try client.objects.blobs.inventory().blobs.isEmpty)
  }

  /// Guards against a damaged local copy that is not replaced by the remote's copy.
  @Test func aDamagedCopyIsFetchedAgainAfterAFailedRead() throws {
    let client = try BlobClient(remote)
    _ = try put(bytes(900_000), "a", client)
    client.scheduler.play(for: 0)
    try damageContents(of: client)
    #expect(throws: (any Error).self) { _ = try client.content("a") }
    #expect(try client.find("a") == .success(bytes(900_000)))
    remote.isReachable = false
    #expect(try client.find("a") == .success(bytes(900_000)))
    #expect(try client.objects.blobs.inventory().blobs.count == 1)
  }

  /// Guards against a replacement that fails because the first upload has failed.
  @Test func anUnreadableContentDoesNotBlockItsReplacement() throws {
    let client = try clientThatCannotRead(bytes(900_000))
    _ = try put(bytes(900_000), "a", client)
    try client.update("a", BlobSync.Watcher { _ in }) { $0.setCustom("k", "v") }
    _ = try put(bytes(10, seed: 2), "a", client, results.watcher("second a"))
    client.sync.wait { [results] error in results.add(error == nil ? "all sent" : "not all sent") }
    client.scheduler.play(for: 200_000_000)
    #expect(results.all == ["a: unreadable", "second a: done", "all sent"])
    #expect(contentOfRemote("a") == bytes(10, seed: 2))
    #expect(try client.content("a") == bytes(10, seed: 2))
    #expect(try client.sync.changes().isEmpty && remote.openSessions == 0)
  }

  /// A deletion is possible after the failure was reported. The remote never had the object and keeps no
  /// session.
  @Test func anUnreadableContentCanBeDeleted() throws {
    let client = try clientThatCannotRead(bytes(900_000))
    _ = try put(bytes(900_000), "a", client)
    client.scheduler.play(for: 200_000_000)
    #expect(results.all == ["a: unreadable"])
    #expect(try client.sync.delete(client.path("a"), results.watcher("delete")))
    client.scheduler.play(for: 200_000_000)
    #expect(results.all == ["a: unreadable", "delete: done"])
    #expect(try client.sync.changes().isEmpty && remote.openSessions == 0)
    #expect(try client.content("a") == nil)
  }

  /// Guards against recording a lost answer in a single place, where the next failed attempt of another
  /// change would overwrite the record.
  @Test func aDeletionWithALostAnswerSucceedsAfterOtherAttempts() throws {
    let client = try clientThatCannotRead(bytes(900_000))
    try putAtRemote(bytes(3000), "b")
    _ = try put(bytes(900_000), "a", client)
    client.scheduler.play(for: 0)
    remote.disconnect(afterCalls: 0, losingAnswer: true)
    try client.sync.delete(client.path("b"), results.watcher("delete"))
    // The unreadable upload is retried too, before the deletion.
    client.scheduler.play(for: 30_000_000)
    #expect(contentOfRemote("b") == nil && results.all == [])
    remote.isReachable = true
    client.scheduler.play(for: 200_000_000)
    #expect(results.all == ["delete: done", "a: unreadable"])
  }

  @Test func aContentThatBecomesReadableIsSent() throws {
    let client = try clientThatCannotRead(bytes(900_000))
    _ = try put(bytes(900_000), "a", client)
    client.scheduler.play(for: 200_000_000)
    #expect(results.all == ["a: unreadable"] && contentOfRemote("a") == nil)
    let next = try client.afterPowerLoss()
    next.scheduler.play(for: 0)
    #expect(contentOfRemote("a") == bytes(900_000))
  }

  // MARK: Lost uploads

  /// Guards against an upload that blocks all other uploads forever.
  @Test(arguments: [BlobRemoteError.notFound, .wrongOffset(0), .wrongOffset(7), .wrongOffset(1 << 40)])
  func aRepeatedlyLostUploadIsReportedAndOthersAreSent(answer: BlobRemoteError) throws {
    let losing = LosingBlobRemote(remote, name: "a", answer)
    let client = try BlobClient(losing)
    let first = try put(bytes(600_000), "a", client)
    _ = try put(bytes(3000, seed: 3), "b", client)
    client.sync.wait { [results] error in results.add(error == nil ? "all sent" : "not all sent") }
    client.scheduler.play(for: 20_000_000, max: 10_000)
    #expect(results.all.first == "b: done")
    client.scheduler.play(for: 200_000_000, max: 10_000)
    #expect(results.all == ["b: done", "a: unavailable", "not all sent"])
    #expect(try client.sync.changes().map(\.number) == [first.number])
    // The client still retries the upload occasionally.
    losing.loses = false
    client.scheduler.play(for: 200_000_000)
    #expect(contentOfRemote("a") == bytes(600_000))
    #expect(try client.sync.changes().isEmpty && remote.openSessions == 0)
  }

  /// An upload that the remote loses temporarily succeeds without an error.
  @Test func anUploadLostOnceOrTwiceIsSent() throws {
    let losing = LosingBlobRemote(remote, name: "a", .notFound, times: 2)
    let client = try BlobClient(losing)
    _ = try put(bytes(600_000), "a", client)
    _ = try put(bytes(3000, seed: 3), "b", client)
    client.scheduler.play(for: 200_000_000)
    #expect(results.all == ["a: done", "b: done"])
    #expect(contentOfRemote("a") == bytes(600_000) && remote.bytesReceived == 603_000)
  }

  // MARK: Deletions of objects that the remote never received

  /// Guards against reporting "not found" to a caller that deleted an existing object.
  @Test func deletingAfterARevertedUploadSucceeds() throws {
    let losing = LosingBlobRemote(remote, name: "a", .rejected("no"))
    let client = try BlobClient(losing)
    _ = try put(bytes(3000), "a", client)
    try client.update("a", BlobSync.Watcher { _ in }) { $0.setCustom("k", "v") }
    try client.sync.delete(client.path("a"), results.watcher("delete a"))
    let second = try put(bytes(3000), "b", client)
    try client.sync.delete(client.path("b"), results.watcher("delete b"))
    client.sync.cancel(second.number)
    // No upload of this object was ever queued, so "not found" is right.
    try client.sync.delete(client.path("c"), results.watcher("delete c"))
    client.scheduler.play(for: 100_000_000)
    #expect(
      Set(results.all) == [
        "a: rejected", "delete a: done", "b: cancelled", "delete b: done",
        "delete c: \(BlobSyncError.remote(.notFound))",
      ])
    #expect(results.all.count == 5)
    #expect(try client.sync.changes().isEmpty && client.content("a") == nil && client.content("b") == nil)
  }

  // MARK: Local errors

  /// Fills the disk so that the store can commit only deletions. The returned closure frees the space
  /// again.
  private func fill(_ client: BlobClient) throws -> () throws -> Void {
    let root = try client.disk.openDirectory("/")
    let filler = try root.createFile("filler")
    defer { filler.close() }
    let filling = client.disk.platform(seed: 7)
    let page = [UInt8](repeating: 1, count: 4096)
    var length: UInt64 = 0
    while (try? filler.writeAll(page.span.bytes, at: length, platform: filling)) != nil {
      length += UInt64(page.count)
    }
    // Also fills the rest of the WAL file, until even small commits fail.
    for count in [4000, 10] {
      var isFull = false
      for number in 0..<20_000 where !isFull {
        let path = try DocumentPath(["fillers", "\(number)"])
        let value = StoredMap([("a", .bytes([UInt8](repeating: UInt8(count % 7), count: count)))])
        isFull = (try? client.store.commit([.set(path, value)])) == nil
      }
      try #require(isFull)
    }
    return { try root.remove("filler") }
  }

  /// Creates a client with a pending change, an unreachable remote and a full disk. `makeRoom` frees
  /// space.
  private func waitingOnAFullDisk() throws -> (BlobClient, change: Int64, makeRoom: () throws -> Void) {
    var options = SimulatedDisk.Options()
    options.capacity = 6 << 20
    let client = try BlobClient(remote, SimulatedDisk(options: options))
    _ = try put(bytes(3000, seed: 2), "a", client, BlobSync.Watcher { _ in })
    client.scheduler.play(for: 0)
    remote.isReachable = false
    let change = try put(bytes(5000), "a", client, results.watcher("a", timeout: 5_000_000))
    client.scheduler.play(for: 0)
    return (client, change.number, try fill(client))
  }

  /// Guards against reporting a cancelled change as overdue and not cancelled, and then cancelling it
  /// nevertheless.
  @Test func aCancelledChangeIsNeverOverdue() throws {
    let (client, change, makeRoom) = try waitingOnAFullDisk()
    client.sync.cancel(change) { [results] isGone in results.add("cancelled \(isGone)") }
    client.scheduler.play(for: 30_000_000)
    #expect(results.all == [])
    try makeRoom()
    client.scheduler.play(for: 100_000_000)
    #expect(results.all == ["a: cancelled", "cancelled true"])
    #expect(try client.sync.changes().isEmpty)
    #expect(try client.content("a") == bytes(3000, seed: 2))
  }

  /// Guards against blaming the remote when the local disk is full.
  @Test func aFullLocalDiskIsNotReportedAsARemoteTimeout() throws {
    let (client, change, makeRoom) = try waitingOnAFullDisk()
    remote.isReachable = true
    client.scheduler.play(for: 60_000_000)
    #expect(results.all == ["a: overdue, no room here"])
    #expect(contentOfRemote("a") == bytes(5000))
    #expect(try client.sync.changes().map(\.number) == [change])
    try makeRoom()
    client.scheduler.play(for: 100_000_000)
    #expect(try client.sync.changes().isEmpty && client.content("a") == bytes(5000))
  }

  /// Guards against blaming the remote when an earlier content is unreadable on the local disk.
  @Test func anUnreadableLocalFileIsNotReportedAsARemoteTimeout() throws {
    let client = try clientThatCannotRead(bytes(900_000))
    _ = try put(bytes(900_000), "a", client, BlobSync.Watcher { _ in })
    client.scheduler.play(for: 60_000_000)
    // Waits until just after an attempt. By now, the back-off before the next attempt is long.
    let before = client.disk.counters.operations
    for _ in 0..<2000 where client.disk.counters.operations == before { client.scheduler.play(for: 100_000) }
    try client.update("a", results.watcher("update", timeout: 1_000_000)) { $0.setCustom("k", "v") }
    client.scheduler.play(for: 3_000_000)
    #expect(results.all == ["update: overdue, unreadable"])
  }

  /// Searches for an object and returns it if it is stored locally.
  private func object(_ name: String, _ client: BlobClient) throws -> StoredObject? {
    let found = Locked<StoredObject?>(nil)
    client.sync.find(try client.path(name), BlobSync.FetchRequest(fetchesContent: true)) { [results] result in
      switch result {
      case .success(.here(let object)): found.withLock { $0 = object }
      case .success: results.add("\(name): not here")
      case .failure(let error): results.add("\(name): \(error)")
      }
    }
    client.scheduler.play(for: 0)
    return found.withLock { $0 }
  }

  private func changeMetadataAtRemote(_ name: String) throws {
    var changed = try remote.object(bucket: "bucket", name: name)
    changed.contentType = "text/new"
    _ = try remote.update(changed)
  }

  /// Guards against refusing a read because the remote's answer cannot be recorded.
  @Test func aFullDiskDoesNotPreventLocalReads() throws {
    var options = SimulatedDisk.Options()
    options.capacity = 6 << 20
    let client = try BlobClient(remote, SimulatedDisk(options: options))
    _ = try put(bytes(3000), "a", client)
    client.scheduler.play(for: 0)
    try changeMetadataAtRemote("a")
    let makeRoom = try fill(client)
    let found = try object("a", client)
    #expect(found?.attributes.contentType == "text/new" && found?.metageneration == 2)
    #expect(try client.content("a") == bytes(3000))
    #expect(try client.objects.object(at: client.path("a"))?.attributes.contentType == nil)
    try makeRoom()
    #expect(try (0..<3).map { _ in try object("a", client) } == [found, found, found])
    #expect(try client.objects.object(at: client.path("a")) == found)
    #expect(results.all == ["a: done"])
  }

  @Test func aReadOnlyStoreDoesNotHideTheRemotesAnswers() throws {
    let client = try BlobClient(remote)
    for name in ["a", "b"] { _ = try put(bytes(3000), name, client) }
    client.scheduler.play(for: 0)
    client.disk.failNext(.inputOutput, isSticky: true)
    let path = try DocumentPath(["some", "document"])
    #expect(throws: DocumentStoreError.self) { try client.store.commit([.set(path, StoredMap())]) }
    client.disk.setFault(nil)
    #expect(throws: DocumentStoreError.self) { try client.store.commit([.set(path, StoredMap())]) }
    try changeMetadataAtRemote("a")
    try remote.delete(bucket: "bucket", name: "b")
    #expect(try object("a", client)?.attributes.contentType == "text/new")
    #expect(try client.content("a") == bytes(3000))
    #expect(try object("b", client) == nil)
    #expect(results.all == ["a: done", "b: done", "b: not here"])
  }

  // MARK: Records

  /// Makes reading the record fail, but leaves the record's index entries unchanged, as disk damage would.
  private func damage(_ path: DocumentPath, of client: BlobClient) throws {
    let bytes = client.store.bytes
    let record = try #require(try client.store.document(at: path)).record
    var batch = Batch(stamp: bytes.lastStamp + 1)
    try batch.put(Array(record.prefix(9)) + [0xFF], for: DocumentKey.encode(path))
    try bytes.commit(batch)
    #expect(throws: DocumentStoreError.self) { _ = try client.store.document(at: path) }
  }

  /// Guards against one damaged record that stops all sending, even after each restart.
  @Test(arguments: [false, true])
  func aDamagedRecordBlocksOnlyItsOwnChanges(ofWhatTheRemoteHas: Bool) throws {
    let client = try BlobClient(remote)
    // Creates the indexes before the record is damaged.
    _ = try put(bytes(3000, seed: 9), "c", client)
    client.scheduler.play(for: 0)
    let first = try put(bytes(3000), "a", client)
    let path = try client.path("a")
    try client.update("a", results.watcher("update")) { $0.setCustom("k", "v") }
    _ = try put(bytes(4000, seed: 2), "b", client)
    try damage(ofWhatTheRemoteHas ? OutboxRecord.base(path) : path.document, of: client)
    client.sync.wait { [results] error in results.add(error == nil ? "all sent" : "not all sent") }
    client.scheduler.play(for: 200_000_000)
    #expect(results.all == ["c: done", "a: damaged", "update: damaged", "b: done", "not all sent"])
    #expect(try client.sync.changes().map(\.number) == [first.number, first.number + 1])
    // The content was sent exactly once.
    #expect(contentOfRemote("a") == bytes(3000) && remote.bytesReceived == 10_000)
    client.sync.cancel(first.number) { [results] isGone in results.add("cancelled \(isGone)") }
    client.scheduler.play(for: 0)
    #expect(results.all.last == "cancelled false")
    _ = try put(bytes(5000, seed: 3), "d", client)
    client.scheduler.play(for: 200_000_000)
    #expect(results.all.last == "d: done")
  }

  /// Guards against a damaged record that disables every operation on the bucket.
  @Test func aDamagedQueueRecordDoesNotPreventLocalReads() throws {
    let client = try BlobClient(remote)
    _ = try put(bytes(3000), "a", client)
    client.scheduler.play(for: 0)
    remote.isReachable = false
    let change = try put(bytes(4000, seed: 2), "b", client)
    try damage(OutboxRecord.change(change.number), of: client)
    let next = try client.afterPowerLoss()
    remote.isReachable = true
    #expect(try next.find("a") == .success(bytes(3000)))
    #expect(try next.find("b") == .success(bytes(4000, seed: 2)))
    next.sync.wait { [results] error in
      if case .store(.corrupted)? = error { results.add("not all sent") }
    }
    next.scheduler.play(for: 100_000_000)
    #expect(results.all == ["a: done", "not all sent"] && contentOfRemote("b") == nil)
  }

  /// Guards against reusing the number of a pending change after a record that cannot be decoded.
  @Test func anUndecodableQueueRecordDoesNotCauseNumberReuse() throws {
    let client = try BlobClient(remote)
    remote.isReachable = false
    _ = try put(bytes(10, seed: 1), "a", client)
    for id in ["00000000000000000007", "09223372036854775807", "8", "zzz"] {
      let path = DocumentPath(unchecked: ["__outbox__", "changes", "__objects__", id])
      _ = try client.store.commit([.set(path, StoredMap([("kind", .integer(9))]))])
    }
    let next = try client.afterPowerLoss()
    #expect(try next.sync.changes().map(\.number) == [1])
    // The number of a damaged record is not reused.
    #expect(try put(bytes(20, seed: 2), "b", next).number == 8)
    remote.isReachable = true
    next.scheduler.play(for: 100_000_000)
    #expect(contentOfRemote("a") == bytes(10, seed: 1) && contentOfRemote("b") == bytes(20, seed: 2))
    #expect(try next.sync.changes().isEmpty)
  }

  // MARK: Random histories

  @Test func bothSidesConvergeToTheLastWantedState() {
    let summary = BlobRemoteCampaign.run(histories: 40, seed: 1)
    #expect(summary.failures == 0, "\(summary.firstFailure ?? "")")
    #expect(summary.neverReached == [])
    let again = BlobRemoteCampaign.run(histories: 5, seed: 2)
    #expect(again.trace == BlobRemoteCampaign.run(histories: 5, seed: 2).trace && again.trace != 0)
  }
}

/// Fails every finish of one upload with a given error, either always or a limited number of times.
private final class LosingBlobRemote: BlobRemote {
  private let base: LoopbackBlobRemote
  private let name: String
  private let answer: BlobRemoteError
  private let timesLeft: Locked<Int>

  var loses: Bool {
    get { timesLeft.withLock { $0 > 0 } }
    set { timesLeft.withLock { $0 = newValue ? .max : 0 } }
  }

  init(_ base: LoopbackBlobRemote, name: String, _ answer: BlobRemoteError, times: Int = .max) {
    self.base = base
    self.name = name
    self.answer = answer
    timesLeft = Locked(times)
  }

  func finish(upload id: String, as object: RemoteObject) throws(BlobRemoteError) -> RemoteObject {
    if object.name == name, loses {
      timesLeft.withLock { $0 -= 1 }
      throw answer
    }
    return try base.finish(upload: id, as: object)
  }

  func offset(ofUpload id: String) throws(BlobRemoteError) -> UInt64 { try base.offset(ofUpload: id) }

  func append(_ bytes: [UInt8], at offset: UInt64, toUpload id: String) throws(BlobRemoteError) {
    try base.append(bytes, at: offset, toUpload: id)
  }

  func abandon(upload id: String) throws(BlobRemoteError) { try base.abandon(upload: id) }

  func object(bucket: String, name: String) throws(BlobRemoteError) -> RemoteObject {
    try base.object(bucket: bucket, name: name)
  }

  func list(
    bucket: String, below prefix: String, after last: String?, count: Int
  ) throws(BlobRemoteError) -> RemoteListing {
    try base.list(bucket: bucket, below: prefix, after: last, count: count)
  }

  func read(_ object: RemoteObject, from offset: UInt64, count: Int) throws(BlobRemoteError) -> [UInt8] {
    try base.read(object, from: offset, count: count)
  }

  func update(_ object: RemoteObject) throws(BlobRemoteError) -> RemoteObject { try base.update(object) }

  func delete(bucket: String, name: String) throws(BlobRemoteError) {
    try base.delete(bucket: bucket, name: name)
  }
}
