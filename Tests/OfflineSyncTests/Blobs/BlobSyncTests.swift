// Objects that are here at once and wait for a remote: what they have in common with pending writes of documents.

import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

struct BlobSyncTests {
  private let remote = LoopbackBlobRemote()

  private typealias Client = BlobClient

  /// How changes ended, in the order in which they did.
  private final class Ends: Sendable {
    private let lines = Locked<[String]>([])
    var all: [String] { lines.withLock { $0 } }

    func watcher(_ name: String) -> BlobSync.Watcher {
      BlobSync.Watcher { [self] result in
        let line =
          switch result {
          case .success(let object): "\(name): \(object.map { "\($0.generation)" } ?? "none")"
          case .failure(.remote(.rejected)): "\(name): rejected"
          case .failure(.remote(.notFound)): "\(name): not found"
          case .failure(.cancelled): "\(name): cancelled"
          case .failure(let error): "\(name): \(error)"
          }
        lines.withLock { $0.append(line) }
      }
    }
  }

  private let ends = Ends()

  private func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return random.bytes(count)
  }

  @discardableResult
  private func put(_ bytes: [UInt8], _ name: String, _ client: Client) throws -> QueuedChange {
    try client.sync.put(try client.upload(bytes, name), token: "token", ends.watcher(name)).change
  }

  private func contentOfRemote(_ name: String) -> [UInt8]? { remote.content(bucket: "bucket", name: name) }

  private func putAtRemote(_ bytes: [UInt8], _ name: String) throws {
    let session = "other \(name) \(bytes.count) \(remote.bytesReceived)"
    try remote.append(bytes, at: 0, toUpload: session)
    _ = try remote.finish(
      upload: session,
      as: RemoteObject(
        bucket: "bucket", name: name, byteCount: UInt64(bytes.count), contentType: "text/plain"))
  }

  // MARK: Sending

  @Test(arguments: [0, 10, 700_000])
  func whatIsPutOfflineIsHereAtOnceAndSentOnceThereIsAWay(count: Int) throws {
    let client = try Client(remote)
    remote.isReachable = false
    try put(bytes(count), "a", client)
    client.scheduler.play(for: 10_000_000)
    #expect(try client.content("a") == bytes(count))
    #expect(try client.sync.changes().count == 1)
    #expect(ends.all.isEmpty && contentOfRemote("a") == nil)
    remote.isReachable = true
    client.scheduler.play(for: 100_000_000)
    #expect(contentOfRemote("a") == bytes(count))
    #expect(ends.all == ["a: 1"])
    #expect(try client.sync.changes().isEmpty)
    #expect(try client.objects.object(at: client.path("a"))?.generation == 1)
    #expect(try client.objects.outbox.isWaiting(client.path("a")) == false)
  }

  @Test func whatWaitsSurvivesAPowerLossAndGoesOnWhereItWas() throws {
    let client = try Client(remote)
    let content = bytes(1_500_000)
    remote.disconnect(afterCalls: 3)
    try put(content, "a", client)
    client.scheduler.play(for: 0)
    let sent = remote.bytesReceived
    #expect(sent > 0 && sent < 1_500_000)
    remote.isReachable = true
    let next = try client.afterPowerLoss()
    #expect(try next.content("a") == content)
    next.scheduler.play(for: 0)
    #expect(contentOfRemote("a") == content)
    #expect(remote.bytesReceived == 1_500_000)
    #expect(remote.openSessions == 0)
    try next.store.checkInvariants()
  }

  @Test func aLostAnswerIsNoSecondObject() throws {
    let client = try Client(remote)
    // The offset, one piece, and the end, of which the answer gets lost: the process dies before it.
    try put(bytes(1000), "a", client)
    client.scheduler.play(for: 0, max: 3)
    #expect(contentOfRemote("a") == nil)
    let image = SimulatedDisk(client.disk.image.after(.kill))
    client.scheduler.play(for: 0)
    let first = try remote.object(bucket: "bucket", name: "a")
    let next = try Client(remote, image, life: 1)
    #expect(try next.sync.changes().count == 1)
    next.scheduler.play(for: 0)
    #expect(try remote.object(bucket: "bucket", name: "a") == first)
    #expect(try next.sync.changes().isEmpty)
  }

  @Test func changesOfOneObjectAreSentInTheirOrder() throws {
    let client = try Client(remote)
    remote.isReachable = false
    try put(bytes(5000, seed: 1), "a", client)
    _ = try client.sync.update(client.path("a"), ends.watcher("update")) { $0.contentType = "text/plain" }
    try put(bytes(6000, seed: 2), "b", client)
    try client.sync.delete(client.path("b"), ends.watcher("delete"))
    try put(bytes(7000, seed: 3), "a", client)
    client.scheduler.play(for: 0)
    #expect(try client.content("a") == bytes(7000, seed: 3))
    #expect(try client.content("b") == nil)
    remote.isReachable = true
    client.scheduler.play(for: 100_000_000)
    #expect(ends.all == ["a: 1", "update: 1", "b: 2", "delete: none", "a: 3"])
    #expect(contentOfRemote("a") == bytes(7000, seed: 3) && contentOfRemote("b") == nil)
    // Only what an object has is left of all these contents.
    try client.objects.sweep(.everything)
    #expect(try client.objects.blobs.inventory().blobs.count == 1)
    try client.store.checkInvariants()
  }

  @Test func whatTheRemoteDidWithoutSayingSoCountsAsDone() throws {
    let client = try Client(remote)
    for (name, calls) in [("a", 0), ("b", 1), ("c", 2)] {
      remote.disconnect(afterCalls: calls, losingAnswer: true)
      try put(bytes(3000), name, client)
      client.scheduler.play(for: 0)
      remote.isReachable = true
      client.scheduler.play(for: 100_000_000)
    }
    remote.disconnect(afterCalls: 0, losingAnswer: true)
    _ = try client.sync.update(client.path("a"), ends.watcher("update")) { $0.custom["k"] = "v" }
    client.scheduler.play(for: 0)
    remote.isReachable = true
    client.scheduler.play(for: 100_000_000)
    remote.disconnect(afterCalls: 0, losingAnswer: true)
    try client.sync.delete(client.path("b"), ends.watcher("delete"))
    client.scheduler.play(for: 0)
    remote.isReachable = true
    client.scheduler.play(for: 100_000_000)
    #expect(ends.all == ["a: 1", "b: 2", "c: 3", "update: 1", "delete: none"])
    #expect(remote.openSessions == 0 && remote.bytesReceived == 9000)
    #expect(contentOfRemote("b") == nil && contentOfRemote("a") == bytes(3000))
  }

  // MARK: Taking back

  @Test func aRefusedUploadLeavesWhatTheRemoteHas() throws {
    let client = try Client(remote)
    try put(bytes(5000, seed: 1), "a", client)
    client.scheduler.play(for: 0)
    remote.reject(name: "a")
    try put(bytes(6000, seed: 2), "a", client)
    #expect(try client.content("a") == bytes(6000, seed: 2))
    client.scheduler.play(for: 0)
    #expect(ends.all == ["a: 1", "a: rejected"])
    #expect(try client.content("a") == bytes(5000, seed: 1))
    #expect(try client.objects.object(at: client.path("a"))?.generation == 1)
    #expect(try client.objects.blobs.inventory().blobs.count == 1)
  }

  @Test func aCancelledChangeVanishesAndThoseBehindItGoOn() throws {
    let client = try Client(remote)
    remote.isReachable = false
    let first = try put(bytes(5000, seed: 1), "a", client)
    _ = try client.sync.update(client.path("a"), ends.watcher("update")) { $0.custom["k"] = "v" }
    try put(bytes(300_000, seed: 2), "b", client)
    let answers = Locked<[Bool]>([])
    for _ in 0..<2 { client.sync.cancel(first.number) { isGone in answers.withLock { $0.append(isGone) } } }
    client.scheduler.play(for: 0)
    #expect(answers.withLock { $0 } == [true, false])
    // What was changed of it is nothing any more, and the remote is asked about it all the same.
    #expect(try client.content("a") == nil)
    remote.isReachable = true
    client.scheduler.play(for: 100_000_000)
    #expect(ends.all == ["a: cancelled", "update: not found", "b: 1"])
    #expect(contentOfRemote("a") == nil && contentOfRemote("b") == bytes(300_000, seed: 2))
    #expect(remote.openSessions == 0)
    #expect(try client.objects.blobs.inventory().blobs.count == 1)
  }

  @Test func anUploadThatIsCancelledOnItsWayLeavesNoSession() throws {
    let client = try Client(remote)
    let change = try put(bytes(2_000_000), "a", client)
    client.scheduler.play(for: 0, max: 6)
    #expect(remote.openSessions == 1)
    client.sync.cancel(change.number)
    client.scheduler.play(for: 0)
    #expect(remote.openSessions == 0 && contentOfRemote("a") == nil)
    #expect(try client.content("a") == nil)
    #expect(ends.all == ["a: cancelled"])
  }

  @Test func whatIsHeldWaitsAndOthersGoOn() throws {
    let client = try Client(remote)
    let held = try put(bytes(600_000), "a", client)
    client.sync.hold(held.number)
    try put(bytes(3000, seed: 2), "b", client)
    try put(bytes(10, seed: 3), "a", client)
    client.scheduler.play(for: 100_000_000)
    #expect(ends.all == ["b: 1"])
    client.sync.release(held.number)
    client.scheduler.play(for: 0)
    #expect(ends.all == ["b: 1", "a: 2", "a: 3"])
    #expect(contentOfRemote("a") == bytes(10, seed: 3))
  }

  // MARK: Finding

  @Test func whatTheRemoteHasIsBroughtAndKeptAndReplaced() throws {
    let client = try Client(remote)
    try putAtRemote(bytes(900_000, seed: 1), "a")
    #expect(try client.find("a") == .success(bytes(900_000, seed: 1)))
    #expect(try client.objects.object(at: client.path("a"))?.attributes.contentType == "text/plain")
    remote.isReachable = false
    #expect(try client.find("a") == .success(bytes(900_000, seed: 1)))
    #expect(try client.find("b") == .failure(.remote(.unavailable("The loopback remote was disconnected."))))
    remote.isReachable = true
    try putAtRemote(bytes(800_000, seed: 2), "a")
    #expect(try client.find("a") == .success(bytes(800_000, seed: 2)))
    #expect(try client.objects.blobs.inventory().blobs.count == 1)
    try remote.delete(bucket: "bucket", name: "a")
    #expect(try client.find("a") == .success(nil))
    #expect(try client.content("a") == nil)
    #expect(try client.objects.blobs.inventory().blobs.isEmpty)
  }

  @Test func whatWaitsIsSeenBeforeWhatTheRemoteHas() throws {
    let client = try Client(remote)
    try putAtRemote(bytes(3000, seed: 1), "a")
    #expect(try client.find("a") == .success(bytes(3000, seed: 1)))
    let change = try put(bytes(4000, seed: 2), "a", client)
    client.sync.hold(change.number)
    #expect(try client.find("a") == .success(bytes(4000, seed: 2)))
    try client.sync.delete(client.path("a"), ends.watcher("delete"))
    #expect(try client.find("a") == .success(nil))
    client.sync.cancel(change.number)
    client.scheduler.play(for: 0)
    #expect(ends.all == ["a: cancelled", "delete: none"])
    #expect(contentOfRemote("a") == nil)
  }

  // MARK: Attaching

  @Test func objectsFromBeforeTheRemoteAreRefusedUploadedOrDiscarded() throws {
    let disk = SimulatedDisk()
    let own = try Client.open(disk)
    let source = UploadSource(file: nil, byteCount: 3, modified: 0)
    let path = ObjectPath(bucket: "bucket", name: try ObjectName("a"))
    let upload = own.objects.upload(to: path, from: source, ObjectAttributes())
    try upload.append([1, 2, 3])
    _ = try upload.finish(token: "token")
    try own.close()
    #expect(throws: DocumentStoreError.self) { _ = try Client(remote, SimulatedDisk(disk.image), life: 1) }
    let uploading = try Client(remote, SimulatedDisk(disk.image), .upload, life: 2)
    uploading.scheduler.play(for: 0)
    #expect(contentOfRemote("a") == [1, 2, 3])
    try remote.delete(bucket: "bucket", name: "a")
    let discarding = try Client(remote, SimulatedDisk(disk.image), .discard, life: 3)
    #expect(try discarding.content("a") == nil)
    // It is remembered: without a remote, the buckets are nobody's.
    try discarding.store.close()
    let alone = try Client.open(discarding.disk, life: 4)
    #expect(throws: DocumentStoreError.self) { try BlobSync.checkAreOwn(alone.objects) }
  }

  // MARK: The law

  /// Any changes, cancelled and refused ones among them, on a line that breaks: in the end both sides have the same, and
  /// on the way each object is what the remote has with what waits laid over it.
  @Test(arguments: 1...30) func inTheEndBothSidesHaveTheSame(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var client = try Client(remote)
    let names = ["a", "b", "c"]
    var remembered: [(name: String, number: Int64)] = []
    for step in 0..<40 {
      let name = names[random.below(3)]
      switch random.below(10) {
      case 0...3:
        let content = bytes([10, 1500, 5000, 400_000][random.below(4)], seed: UInt64(random.below(5)) + 1)
        remembered.append((name, try put(content, name, client).number))
        #expect(try client.content(name) == content)
      case 4:
        try client.sync.delete(client.path(name), ends.watcher("delete"))
        #expect(try client.content(name) == nil)
      case 5:
        _ = try client.sync.update(client.path(name), ends.watcher("update")) {
          $0.custom["step"] = "\(step)"
        }
      case 6: if let last = remembered.randomChoice(&random) { client.sync.cancel(last.number) }
      case 7: remote.disconnect(afterCalls: random.below(12), losingAnswer: random.oneIn(2))
      case 8: remote.isReachable = true
      default: if random.oneIn(3) { client = try client.afterPowerLoss() }
      }
      client.scheduler.play(for: 0, max: random.below(8))
    }
    remote.isReachable = true
    client.scheduler.play(for: 1_000_000_000)
    #expect(try client.sync.changes().isEmpty)
    for name in names {
      // A cancelled change of which the answer was lost may have happened: then it is found.
      _ = try client.find(name)
      let here = try client.content(name)
      #expect(here == contentOfRemote(name), "\(name) of seed \(seed)")
      let object = try client.objects.object(at: client.path(name))
      #expect(object?.generation == (try? remote.object(bucket: "bucket", name: name))?.generation)
      #expect(try client.objects.outbox.isWaiting(client.path(name)) == false)
    }
    try client.objects.sweep(.everything)
    let (blobs, _, _) = try client.objects.inUse()
    #expect(Set(try client.objects.blobs.inventory().blobs) == blobs)
    #expect(client.store.count == 0)
    try client.store.checkInvariants()
  }
}

extension Array {
  fileprivate func randomChoice(_ random: inout SeededRandom) -> Element? {
    isEmpty ? nil : self[random.below(count)]
  }
}
