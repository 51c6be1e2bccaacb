// Handling of partially downloaded contents after the process ends or a search times out.

import ByteStore
import DocumentStore
import Harness
import ObjectStore
import ObjectSync
import OfflineSync
import Testing

struct BlobArrivalTests {
  private static let byteCount: UInt64 = 4 << 20
  private static let half: UInt64 = 2 << 20
  private static let timeout: Int64 = 600_000_000

  private let remote = LoopbackBlobRemote(countingFrom: 0)
  private let ends = Locked<[String]>([])

  private func content(seed: UInt64 = 1) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return random.bytes(Int(Self.byteCount))
  }

  private func putAtRemote(seed: UInt64 = 1) throws {
    let content = content(seed: seed)
    try remote.append(content, at: 0, toUpload: "other \(seed)")
    _ = try remote.finish(
      upload: "other \(seed)", as: RemoteObject(bucket: "bucket", name: "a", byteCount: Self.byteCount))
  }

  @discardableResult
  private func begin(
    _ client: BlobClient, timeout: Int64 = BlobArrivalTests.timeout
  ) throws -> BlobSync.Search {
    let wanted = BlobSync.FetchRequest(fetchesContent: true, timeout: timeout)
    return client.sync.find(try client.path("a"), wanted) { [ends] result in
      let line =
        switch result {
        case .success(.here): "here"
        case .success: "not here"
        case .failure(.remote(.unavailable)): "unavailable"
        case .failure(let error): "\(error)"
        }
      ends.withLock { $0.append(line) }
    }
  }

  /// A client that has downloaded half of the content and waits for the rest.
  private func clientWithHalf() throws -> BlobClient {
    try putAtRemote()
    remote.stall(name: "a", from: Self.half)
    let client = try BlobClient(remote)
    try begin(client)
    client.scheduler.play(for: 0)
    #expect(remote.bytesSent == Self.half)
    return client
  }

  /// Reopens the client's disk after its process has died.
  private func restarted(_ client: BlobClient, _ crash: Crash = .kill) throws -> BlobClient {
    try BlobClient(remote, SimulatedDisk(client.disk.image.after(crash)), life: client.life + 1)
  }

  private func expectNothingLeft(of client: BlobClient) throws {
    #expect(try client.objects.blobs.inventory().staged.isEmpty)
    #expect(try client.objects.arrivals().isEmpty)
    #expect(client.store.count == 0)
    #expect(try client.objects.sweep(.everything) == ObjectSweep())
    try client.store.checkInvariants()
  }

  /// Guards against downloading the whole content again.
  @Test(arguments: [true, false]) func stagedBytesAreNotFetchedAgainAfterARestart(isClean: Bool) throws {
    let client = try clientWithHalf()
    if isClean {
      client.sync.stop {}
      client.scheduler.play(for: 0)
      #expect(ends.withLock { $0 } == ["stopped"])
      try client.store.close()
    }
    let next = try restarted(client, isClean ? .powerLoss(.nothing, seed: 1) : .kill)
    // Every open of the store runs this sweep.
    #expect(try next.objects.sweep(.everything) == ObjectSweep())
    #expect(try next.objects.uploads().isEmpty && next.objects.arrivals().count == 1)
    remote.stall(name: "a", from: nil)
    #expect(try next.find("a") == .success(content()))
    #expect(remote.bytesSent == Self.byteCount)
    try expectNothingLeft(of: next)
  }

  @Test func bytesLostInAPowerFailureAreFetchedAgain() throws {
    let client = try clientWithHalf()
    let next = try restarted(client, .powerLoss(.nothing, seed: 1))
    remote.stall(name: "a", from: nil)
    #expect(try next.find("a") == .success(content()))
    try next.objects.sweep(.everything)
    try expectNothingLeft(of: next)
  }

  @Test func damagedStagedBytesAreFetchedAgain() throws {
    let client = try clientWithHalf()
    let disk = SimulatedDisk(client.disk.image.after(.kill))
    let folder = try disk.openDirectory("/store/blobs")
    for name in try folder.names() where name.hasPrefix("staged-") {
      let file = try folder.openFile(name, .readAndWrite)
      let junk = [UInt8](repeating: 0xAA, count: 64)
      _ = try file.write(junk.rawSpan, at: file.size() / 2)
      file.close()
    }
    let next = try BlobClient(remote, disk, life: 1)
    remote.stall(name: "a", from: nil)
    #expect(try next.find("a") == .success(content()))
    let brought = remote.bytesSent - Self.half
    #expect(brought > Self.half && brought < Self.byteCount, "\(brought) bytes")
    try expectNothingLeft(of: next)
  }

  @Test func aPartOfAnotherContentIsNotResumed() throws {
    let next = try restarted(clientWithHalf())
    try putAtRemote(seed: 2)
    remote.stall(name: "a", from: nil)
    #expect(try next.find("a") == .success(content(seed: 2)))
    #expect(remote.bytesSent == Self.half + Self.byteCount)
    try expectNothingLeft(of: next)
  }

  /// Guards against keeping the staged part of a deleted object for seven days.
  @Test func theNextSearchDropsThePartOfADeletedObject() throws {
    let next = try restarted(clientWithHalf())
    #expect(try next.objects.arrivals().count == 1)
    try remote.delete(bucket: "bucket", name: "a")
    #expect(try next.find("a") == .success(nil))
    try expectNothingLeft(of: next)
  }

  /// Guards against keeping a staged part after an upload has stored the content.
  @Test func theNextSearchDropsThePartOfAStoredContent() throws {
    let next = try restarted(clientWithHalf())
    let content: [UInt8] = [1, 2, 3]
    _ = try next.sync.put(try next.upload(content, "a"), token: "token", watcher: BlobSync.Watcher { _ in })
    next.scheduler.play(for: 0)
    #expect(try next.sync.changes().isEmpty)
    #expect(try next.objects.arrivals().count == 1)
    #expect(try next.find("a") == .success(content))
    #expect(remote.bytesSent == Self.half)
    try expectNothingLeft(of: next)
  }

  /// Guards against resuming an arbitrary part and keeping the other part until the search ends.
  @Test(arguments: [true, false]) func theLongerOfTwoPartsIsResumed(isFirstLonger: Bool) throws {
    try putAtRemote()
    let client = try BlobClient(remote)
    let quarter = Self.half / 2
    for end in isFirstLonger ? [Self.half, quarter] : [quarter, Self.half] {
      remote.stall(name: "a", from: end)
      let search = try begin(client)
      client.scheduler.play(for: 0)
      client.sync.hold(search)
      client.scheduler.play(for: 0)
    }
    #expect(remote.bytesSent == Self.half + quarter)
    client.sync.stop {}
    client.scheduler.play(for: 0)
    #expect(ends.withLock { $0 } == ["stopped", "stopped"])
    #expect(try client.objects.arrivals().count == 2)
    try client.store.close()
    let next = try restarted(client)
    try begin(next)
    next.scheduler.play(for: 0)
    // The shorter part is dropped immediately.
    #expect(try next.objects.arrivals().count == 1)
    #expect(try next.objects.blobs.inventory().staged.count == 1)
    remote.stall(name: "a", from: nil)
    next.scheduler.play(for: 100_000_000)
    #expect(ends.withLock { $0.last } == "here")
    #expect(try next.content("a") == content())
    #expect(remote.bytesSent == Self.byteCount + quarter)
    try expectNothingLeft(of: next)
  }

  /// Guards against discarding a staged part because of an unrelated write error.
  @Test func aFailedStoreKeepsStagedParts() throws {
    let client = try clientWithHalf()
    _ = try client.sync.put(
      try client.upload([1, 2, 3], "b"), token: "token", watcher: BlobSync.Watcher { _ in })
    client.disk.failNext(.inputOutput, isSticky: true)
    let document = try DocumentPath(["some", "document"])
    #expect(throws: DocumentStoreError.self) { try client.store.commit([.set(document, StoredMap())]) }
    client.disk.setFault(nil)
    // The remote's answer about "b" can no longer be recorded, so all searches end.
    client.scheduler.play(for: 0)
    let ends = ends.withLock { $0 }
    #expect(ends.count == 1 && ends.allSatisfy { $0.hasPrefix("store") }, "\(ends)")
    let next = try restarted(client)
    #expect(try next.objects.arrivals().count == 1)
    remote.stall(name: "a", from: nil)
    #expect(try next.find("a") == .success(content()))
    #expect(remote.bytesSent == Self.byteCount)
    #expect(try next.objects.arrivals().isEmpty && next.objects.blobs.inventory().staged.isEmpty)
  }

  /// A part is dropped if its download failed for lack of space, because the part would only take up space.
  @Test func aContentTooLargeForTheDiskLeavesNoPart() throws {
    var random = SeededRandom(seed: 1)
    let content = random.bytes(8 << 20)
    try remote.append(content, at: 0, toUpload: "large")
    let size = UInt64(content.count)
    _ = try remote.finish(
      upload: "large", as: RemoteObject(bucket: "bucket", name: "a", byteCount: size))
    var options = SimulatedDisk.Options()
    options.capacity = 6 << 20
    let client = try BlobClient(remote, SimulatedDisk(options: options))
    guard case .failure(.store) = try client.find("a") else {
      Issue.record("there was room")
      return
    }
    #expect(try client.objects.arrivals().isEmpty && client.objects.blobs.inventory().staged.isEmpty)
  }

  @Test func aPartStagedBeforeATimeoutIsResumed() throws {
    let client = try clientWithHalf()
    client.scheduler.play(for: Self.timeout + 1_000_000)
    #expect(ends.withLock { $0 } == ["unavailable"])
    #expect(try client.objects.arrivals().count == 1)
    remote.stall(name: "a", from: nil)
    #expect(try client.find("a") == .success(content()))
    #expect(remote.bytesSent == Self.byteCount)
    try expectNothingLeft(of: client)
  }

  @Test func cancellingAlsoDropsAnEarlierStagedPart() throws {
    let next = try restarted(clientWithHalf())
    let search = try begin(next)
    // The part must stay while the staged bytes are verified, and also afterwards.
    var staged: [Int] = []
    for jobs in [5, 1000] {
      next.scheduler.play(for: 0, max: jobs)
      staged.append(try next.objects.blobs.inventory().staged.count)
    }
    #expect(staged == [1, 1])
    #expect(remote.bytesSent == Self.half)
    next.sync.giveUp(search)
    next.scheduler.play(for: 0)
    #expect(ends.withLock { $0 } == ["cancelled"])
    try expectNothingLeft(of: next)
  }

  @Test func stoppingDuringVerificationKeepsTheStagedPart() throws {
    let second = try restarted(clientWithHalf())
    try begin(second)
    second.scheduler.play(for: 0, max: 5)
    second.sync.stop {}
    second.scheduler.play(for: 0)
    #expect(ends.withLock { $0 } == ["stopped"])
    let third = try restarted(second)
    remote.stall(name: "a", from: nil)
    #expect(try third.find("a") == .success(content()))
    #expect(remote.bytesSent == Self.byteCount)
    try expectNothingLeft(of: third)
  }

  /// One search resumes the staged part, and the other starts a part of its own.
  @Test func twoSearchesDoNotShareOneStagedPart() throws {
    let next = try restarted(clientWithHalf())
    for _ in 0..<2 { try begin(next) }
    next.scheduler.play(for: 0)
    #expect(try next.objects.blobs.inventory().staged.count == 2)
    #expect(remote.bytesSent == 2 * Self.half)
    remote.stall(name: "a", from: nil)
    next.scheduler.play(for: 100_000_000)
    #expect(ends.withLock { $0 } == ["here", "here"])
    #expect(try next.content("a") == content())
    #expect(remote.bytesSent == 2 * Self.byteCount)
    try expectNothingLeft(of: next)
  }
}
