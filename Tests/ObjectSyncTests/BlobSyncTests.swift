// Changes of objects, which are stored locally and queued for a remote, like pending writes of documents.

import ByteStore
import DocumentStore
import Harness
import ObjectStore
import ObjectSync
import OfflineSync
import Testing

struct BlobSyncTests {
  private let remote = LoopbackBlobRemote(countingFrom: 0)

  private typealias Client = BlobClient

  /// The outcomes of changes, in order.
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
          case .failure(.overdue(.remote(.unavailable(let reason))?)): "\(name): overdue. \(reason)"
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
    try client.sync.put(try client.upload(bytes, name), token: "token", watcher: ends.watcher(name)).change
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
  func anOfflineUploadIsStoredAtOnceAndSentLater(count: Int) throws {
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

  @Test func pendingUploadsSurviveAPowerLossAndResume() throws {
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

  @Test func aLostAnswerDoesNotCreateASecondObject() throws {
    let client = try Client(remote)
    // The client makes three calls: one for the offset, one for a piece, and one for the finish. The process
    // dies before the remote answers the finish.
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

  @Test func changesOfOneObjectAreSentInOrder() throws {
    let client = try Client(remote)
    remote.isReachable = false
    try put(bytes(5000, seed: 1), "a", client)
    try client.update("a", ends.watcher("update")) { $0.set(.contentType, "text/plain") }
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
    // The sweep keeps only the content that an object references.
    try client.objects.sweep(.everything)
    #expect(try client.objects.blobs.inventory().blobs.count == 1)
    try client.store.checkInvariants()
  }

  @Test func aChangeWithALostAnswerCountsAsDone() throws {
    let client = try Client(remote)
    for (name, calls) in [("a", 0), ("b", 1), ("c", 2)] {
      remote.disconnect(afterCalls: calls, losingAnswer: true)
      try put(bytes(3000), name, client)
      client.scheduler.play(for: 0)
      remote.isReachable = true
      client.scheduler.play(for: 100_000_000)
    }
    remote.disconnect(afterCalls: 0, losingAnswer: true)
    try client.update("a", ends.watcher("update")) { $0.setCustom("k", "v") }
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

  // MARK: Rejections, updates and deletions

  @Test func aRefusedUploadLeavesTheRemoteObject() throws {
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
    #expect(remote.openSessions == 0)
  }

  /// Guards against an update that sends all known attributes and so overwrites other clients' changes.
  @Test func anUpdateKeepsOtherClientsChanges() throws {
    let (first, second) = (try Client(remote), try Client(remote, life: 9))
    try put(bytes(3000), "a", first)
    first.scheduler.play(for: 0)
    _ = try second.find("a")
    try first.update("a", ends.watcher("first")) { $0.setCustom("first", "1") }
    first.scheduler.play(for: 0)
    try second.update("a", ends.watcher("second")) {
      $0.setCustom("second", "2")
      $0.set(.contentType, nil)
    }
    let later = try second.afterPowerLoss()
    later.scheduler.play(for: 0)
    let known = try remote.object(bucket: "bucket", name: "a")
    #expect(known.customMetadata == ["first": "1", "second": "2"] && known.contentType == nil)
    _ = try later.find("a")
    #expect(try later.objects.object(at: later.path("a"))?.attributes == known.attributes)
  }

  /// Guards against failing at the first lost connection.
  @Test func anUpdateOfARemoteOnlyObjectWaitsForTheRemote() throws {
    let client = try Client(remote)
    try putAtRemote(bytes(3000), "a")
    let answers = Locked<[String]>([])
    func update(timeout: Int64) throws {
      var changes = AttributeChanges()
      changes.set(.contentType, "text/new")
      client.sync.updateAtRemote(try client.path("a"), changes, timeout: timeout) { result in
        let line =
          switch result {
          case .success(let object): object?.contentType ?? "none"
          case .failure(.remote(.unavailable)): "unavailable"
          case .failure(let error): "\(error)"
          }
        answers.withLock { $0.append(line) }
      }
    }
    remote.isReachable = false
    for timeout in [0, 5_000_000, 60_000_000] as [Int64] { try update(timeout: timeout) }
    client.scheduler.play(for: 0)
    #expect(answers.withLock { $0 } == ["unavailable"])
    client.scheduler.play(for: 6_000_000)
    #expect(answers.withLock { $0 } == ["unavailable", "unavailable"])
    remote.isReachable = true
    client.scheduler.play(for: 60_000_000)
    #expect(answers.withLock { $0 } == ["unavailable", "unavailable", "text/new"])
    #expect(try remote.object(bucket: "bucket", name: "a").contentType == "text/new")
    // An update that is still waiting at shutdown ends with `stopped`.
    remote.isReachable = false
    try update(timeout: 60_000_000)
    client.scheduler.play(for: 0)
    client.sync.stop {}
    client.scheduler.play(for: 0)
    #expect(answers.withLock { $0.last } == "stopped" && answers.withLock { $0.count } == 4)
  }

  @Test func aLocallyDeletedObjectCannotBeDeletedAgain() throws {
    let client = try Client(remote)
    try put(bytes(3000), "a", client)
    client.scheduler.play(for: 0)
    remote.isReachable = false
    #expect(try client.sync.delete(client.path("a"), ends.watcher("delete")))
    #expect(try !client.sync.delete(client.path("a"), ends.watcher("again")))
    #expect(try client.sync.changes().count == 1)
    // The remote may have an object that is unknown locally, so the deletion is queued.
    #expect(try client.sync.delete(client.path("b"), ends.watcher("b")))
  }

  // MARK: Full disks

  /// Guards against disabling a bucket until the next restart because of an error that occurred before the
  /// commit was written.
  @Test func syncContinuesAfterATemporaryLackOfFileDescriptors() throws {
    let client = try Client(remote)
    try put(bytes(900_000, seed: 1), "sent", client)
    let cancelled = try put(bytes(5000, seed: 2), "cancelled", client)
    client.sync.hold(cancelled.number)
    client.disk.failNext(.tooManyOpenFiles, isSticky: true)
    client.sync.cancel(cancelled.number)
    client.scheduler.play(for: 100_000_000)
    #expect(client.disk.counters.faults > 0 && !ends.all.contains("sent: 1"))
    client.disk.setFault(nil)
    client.scheduler.play(for: 100_000_000)
    #expect(ends.all.sorted() == ["cancelled: cancelled", "sent: 1"])
    #expect(contentOfRemote("sent") == bytes(900_000, seed: 1) && contentOfRemote("cancelled") == nil)
    // The remote acknowledged some bytes while the store could not write. The client did not send these bytes
    // again.
    #expect(remote.bytesReceived == 900_000)
    #expect(try client.sync.changes().isEmpty)
    try client.store.checkInvariants()
  }

  /// A failed write on a full disk has changed nothing, so it can be retried.
  @Test func syncContinuesAfterATemporarilyFullDisk() throws {
    var options = SimulatedDisk.Options()
    options.capacity = 6 << 20
    let client = try Client(remote, SimulatedDisk(options: options))
    try put(bytes(900_000, seed: 1), "sent", client)
    let root = try client.disk.openDirectory("/")
    let filler = try root.createFile("filler")
    defer { filler.close() }
    let filling = client.disk.platform(seed: 7)
    let page = [UInt8](repeating: 1, count: 4096)
    var length: UInt64 = 0
    while (try? filler.writeAll(page.span.bytes, at: length, platform: filling)) != nil {
      length += UInt64(page.count)
    }
    // Also fills the rest of the WAL file.
    var refusal: DocumentStoreError?
    for number in 0..<10_000 where refusal == nil {
      let path = try DocumentPath(["fillers", "\(number)"])
      do throws(DocumentStoreError) {
        _ = try client.store.commit([.set(path, StoredMap([("a", .bytes(page))]))])
      } catch { refusal = error }
    }
    guard case .full = refusal else { return #expect(Bool(false), "\(String(describing: refusal))") }
    client.scheduler.play(for: 100_000_000)
    #expect(ends.all.isEmpty)
    try root.remove("filler")
    client.scheduler.play(for: 100_000_000)
    #expect(ends.all == ["sent: 1"])
    // The remote acknowledged some bytes while the store could not write. The client did not send these bytes
    // again.
    #expect(contentOfRemote("sent") == bytes(900_000, seed: 1) && remote.bytesReceived == 900_000)
    #expect(try client.sync.changes().isEmpty)
    try client.store.checkInvariants()
  }

  @Test func aReadOnlyStoreCanBeRead() throws {
    let client = try Client(remote)
    try put(bytes(3000), "a", client)
    client.scheduler.play(for: 0)
    try client.sync.delete(client.path("other"), ends.watcher("other"))
    client.disk.failNext(.inputOutput, isSticky: true)
    client.scheduler.play(for: 0)
    #expect(ends.all.last?.hasPrefix("other: store") == true)
    client.disk.setFault(nil)
    #expect(try client.find("a") == .success(bytes(3000)))
  }

  // MARK: Incorrect remotes

  /// Guards against fetching the content again without end.
  @Test func aContentThatFailsVerificationIsAnErrorAfterTheTimeout() throws {
    let wrong = WrongBlobRemote(remote)
    try putAtRemote(bytes(700_000), "a")
    let client = try Client(wrong)
    let answers = Locked<[Bool]>([])
    let wanted = BlobSync.FetchRequest(fetchesContent: true, timeout: 20_000_000)
    client.sync.find(try client.path("a"), wanted) { result in
      answers.withLock { answers in
        if case .failure(.remote(.unavailable)) = result {
          answers.append(false)
        } else {
          answers.append(true)
        }
      }
    }
    client.scheduler.play(for: 100_000_000, max: 100_000)
    #expect(answers.withLock { $0 } == [false])
    #expect((2...40).contains(wrong.objectsAsked), "\(wrong.objectsAsked) attempts in twenty seconds")
    _ = try client.objects.sweep(.names)
    #expect(client.disk.image.paths.allSatisfy { !$0.contains("staged") })
  }

  // MARK: Many changes

  /// Guards against reading all pending changes in order to remove one.
  @Test func recordingAnOutcomeReadsNoOtherChanges() throws {
    let client = try Client(remote)
    remote.isReachable = false
    for number in 0..<300 { try put(bytes(10, seed: UInt64(number) + 1), "\(number)", client) }
    let store = client.store
    let explanation = try store.explain(ObjectOutbox.changes(of: ObjectName("7")))
    #expect(explanation.documentsRead <= 1 && explanation.results == 1)
    remote.isReachable = true
    client.scheduler.play(for: 100_000_000)
    #expect(ends.all.count == 300)
    #expect(try client.sync.changes().isEmpty)
  }

  @Test func anUnansweredChangeIsOverdueAndStaysQueued() throws {
    let client = try Client(remote)
    remote.isReachable = false
    var watcher = ends.watcher("a")
    watcher.timeout = 5_000_000
    _ = try client.sync.put(try client.upload(bytes(3000), "a"), token: "token", watcher: watcher)
    client.scheduler.play(for: 4_000_000)
    #expect(ends.all.isEmpty)
    client.scheduler.play(for: 2_000_000)
    #expect(ends.all == ["a: overdue. The loopback remote was disconnected."])
    remote.isReachable = true
    client.scheduler.play(for: 100_000_000)
    #expect(contentOfRemote("a") == bytes(3000) && ends.all.count == 1)
  }

  @Test func aCancelledChangeIsRevertedAndLaterOnesAreSent() throws {
    let client = try Client(remote)
    remote.isReachable = false
    let first = try put(bytes(5000, seed: 1), "a", client)
    try client.update("a", ends.watcher("update")) { $0.setCustom("k", "v") }
    try put(bytes(300_000, seed: 2), "b", client)
    let answers = Locked<[Bool]>([])
    for _ in 0..<2 { client.sync.cancel(first.number) { isGone in answers.withLock { $0.append(isGone) } } }
    client.scheduler.play(for: 0)
    #expect(answers.withLock { $0 } == [true, false])
    // The object is gone and its update has no local effect, but the update is still sent to the remote.
    #expect(try client.content("a") == nil)
    remote.isReachable = true
    client.scheduler.play(for: 100_000_000)
    #expect(ends.all == ["a: cancelled", "update: not found", "b: 1"])
    #expect(contentOfRemote("a") == nil && contentOfRemote("b") == bytes(300_000, seed: 2))
    #expect(remote.openSessions == 0)
    #expect(try client.objects.blobs.inventory().blobs.count == 1)
  }

  @Test func anUploadCancelledInTransitLeavesNoSession() throws {
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

  @Test func aHeldChangeWaitsAndOthersAreSent() throws {
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

  @Test func aRemoteObjectIsFetchedStoredAndReplaced() throws {
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

  @Test func aPendingChangeHidesTheRemoteObject() throws {
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

  /// Guards against a sweep that treats a staged part as unused.
  @Test func aSweepKeepsStagedPartsInUse() throws {
    let client = try Client(remote)
    try putAtRemote(bytes(2_000_000), "a")
    let found = Locked(false)
    client.sync.find(try client.path("a"), BlobSync.FetchRequest(fetchesContent: true)) { result in
      if case .success(.here) = result { found.withLock { $0 = true } }
    }
    client.scheduler.play(for: 0, max: 6)
    #expect(try client.objects.blobs.inventory().staged.count == 1)
    #expect(try client.objects.sweep(.names).staged == 0)
    client.scheduler.play(for: 0)
    #expect(found.withLock { $0 })
    #expect(try client.content("a") == bytes(2_000_000))
    #expect(try client.objects.blobs.inventory().staged.isEmpty)
  }

  @Test func anOversizedContentIsNotFetched() throws {
    let client = try Client(remote)
    try putAtRemote(bytes(5000), "a")
    let size = Locked<UInt64>(0)
    client.sync.find(try client.path("a"), BlobSync.FetchRequest(fetchesContent: true, bytesMax: 4999)) {
      result in
      if case .success(.remoteOnly(let object)) = result { size.withLock { $0 = object.byteCount } }
    }
    client.scheduler.play(for: 0)
    #expect(size.withLock { $0 } == 5000)
    #expect(try client.content("a") == nil)
  }

  /// Guards against discarding the bytes received before the connection broke.
  @Test func aDownloadResumesAfterABrokenConnection() throws {
    let client = try Client(remote)
    try putAtRemote(bytes(1_500_000), "a")
    let steps = Locked<[UInt64]>([])
    let result = Locked<Result<BlobSync.Found, BlobSyncError>?>(nil)
    let wanted = BlobSync.FetchRequest(fetchesContent: true, timeout: 60_000_000) { done, total in
      #expect(total == 1_500_000)
      steps.withLock { $0.append(done) }
    }
    let search = client.sync.find(try client.path("a"), wanted) { end in result.withLock { $0 = end } }
    remote.disconnect(afterCalls: 3)
    client.scheduler.play(for: 20_000_000)
    let before = steps.withLock { $0 }
    #expect(before == [256 << 10, 512 << 10] && result.withLock { $0 == nil })
    remote.isReachable = true
    client.sync.hold(search)
    client.scheduler.play(for: 100_000_000)
    #expect(steps.withLock { $0 } == before, "held")
    client.sync.release(search)
    client.scheduler.play(for: 0)
    #expect(steps.withLock { $0 }.last == 1_500_000 && steps.withLock { $0.count } == 6)
    #expect(try client.content("a") == bytes(1_500_000))
  }

  @Test func aMissingObjectIsSearchedUntilTheTimeout() throws {
    let client = try Client(remote)
    remote.isReachable = false
    let result = Locked<Result<BlobSync.Found, BlobSyncError>?>(nil)
    client.sync.find(try client.path("a"), BlobSync.FetchRequest(fetchesContent: true, timeout: 30_000_000)) {
      end in
      result.withLock { $0 = end }
    }
    client.scheduler.play(for: 29_000_000)
    #expect(result.withLock { $0 == nil })
    client.scheduler.play(for: 2_000_000)
    guard case .failure(.remote(.unavailable))? = result.withLock({ $0 }) else {
      Issue.record("no failure")
      return
    }
  }

  @Test func aCancelledSearchLeavesNoStagedPart() throws {
    let client = try Client(remote)
    try putAtRemote(bytes(2_000_000), "a")
    let search = client.sync.find(try client.path("a"), BlobSync.FetchRequest(fetchesContent: true)) { _ in }
    client.scheduler.play(for: 0, max: 6)
    client.sync.hold(search)
    client.scheduler.play(for: 0)
    client.sync.giveUp(search)
    client.scheduler.play(for: 0)
    #expect(try client.objects.blobs.inventory().staged.isEmpty)
    // Starts more searches than the client runs at a time.
    let count = Locked(0)
    for number in 0..<40 {
      try putAtRemote(bytes(3000, seed: UInt64(number) + 1), "\(number)")
      client.sync.find(try client.path("\(number)"), BlobSync.FetchRequest(fetchesContent: true)) { result in
        if case .success(.here) = result { count.withLock { $0 += 1 } }
      }
    }
    client.scheduler.play(for: 0)
    #expect(count.withLock { $0 } == 40)
  }

  // MARK: Attaching

  @Test func objectsThatPredateTheRemoteAreRefusedUploadedOrDiscarded() throws {
    let disk = SimulatedDisk()
    let own = try Client.open(disk)
    let source = UploadSource(file: nil, byteCount: 3, modified: 0)
    let path = ObjectPath(bucket: "bucket", name: try ObjectName("a"))
    let upload = own.objects.upload(to: path, from: source, attributes: ObjectAttributes())
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
    // The store remembers its remote, so opening the buckets without one is refused.
    try discarding.store.close()
    let alone = try Client.open(discarding.disk, life: 4)
    #expect(throws: DocumentStoreError.self) { try BlobSync.checkAreNotCache(alone.objects) }
  }

  // MARK: Convergence

  /// Random changes, some of them cancelled or rejected, over an unreliable connection. At the end, the
  /// client's objects equal the remote's objects. Until then, each of the client's objects equals the
  /// remote's object with the pending changes applied.
  @Test(arguments: 1...12) func bothSidesConverge(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var client = try Client(remote)
    let names = ["a", "b", "c"]
    var remembered: [(name: String, number: Int64)] = []
    var wrong: [String] = []
    for step in 0..<40 {
      let name = names[random.below(3)]
      switch random.below(10) {
      case 0...3:
        let content = bytes([10, 1500, 5000, 400_000][random.below(4)], seed: UInt64(random.below(5)) + 1)
        remembered.append((name, try put(content, name, client).number))
        if try client.content(name) != content { wrong.append("step \(step): \(name) after a put") }
      case 4:
        try client.sync.delete(client.path(name), ends.watcher("delete"))
        if try client.content(name) != nil { wrong.append("step \(step): \(name) after a delete") }
      case 5:
        try client.update(name, ends.watcher("update")) { $0.setCustom("step", "\(step)") }
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
      // The remote may have applied a cancelled change whose answer was lost. In that case, this search
      // fetches the object.
      _ = try client.find(name)
      let here = try client.content(name)
      if here != contentOfRemote(name) { wrong.append("content of \(name)") }
      let generation = try client.objects.object(at: client.path(name))?.generation
      let expected = (try? remote.object(bucket: "bucket", name: name))?.generation
      if generation != expected {
        wrong.append("\(name): \(String(describing: generation)), not \(String(describing: expected))")
      }
      if try client.objects.outbox.isWaiting(client.path(name)) { wrong.append("\(name) is waiting") }
    }
    #expect(wrong == [], "seed \(seed)")
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

/// Reports a wrong checksum for every object.
private final class WrongBlobRemote: BlobRemote {
  private let base: LoopbackBlobRemote
  private let asked = Locked(0)
  var objectsAsked: Int { asked.withLock { $0 } }

  init(_ base: LoopbackBlobRemote) { self.base = base }

  func object(bucket: String, name: String) throws(BlobRemoteError) -> RemoteObject {
    asked.withLock { $0 += 1 }
    var object = try base.object(bucket: bucket, name: name)
    object.md5 = Array(repeating: 7, count: 16)
    return object
  }

  func read(_ object: RemoteObject, from offset: UInt64, count: Int) throws(BlobRemoteError) -> [UInt8] {
    try base.read(object, from: offset, count: count)
  }

  func offset(ofUpload id: String) throws(BlobRemoteError) -> UInt64 { try base.offset(ofUpload: id) }

  func append(_ bytes: [UInt8], at offset: UInt64, toUpload id: String) throws(BlobRemoteError) {
    try base.append(bytes, at: offset, toUpload: id)
  }

  func finish(upload id: String, as object: RemoteObject) throws(BlobRemoteError) -> RemoteObject {
    try base.finish(upload: id, as: object)
  }

  func abandon(upload id: String) throws(BlobRemoteError) { try base.abandon(upload: id) }
  func update(_ object: RemoteObject) throws(BlobRemoteError) -> RemoteObject { try base.update(object) }

  func delete(bucket: String, name: String) throws(BlobRemoteError) {
    try base.delete(bucket: bucket, name: name)
  }

  func list(
    bucket: String, below prefix: String, after last: String?, count: Int
  ) throws(BlobRemoteError) -> RemoteListing {
    try base.list(bucket: bucket, below: prefix, after: last, count: count)
  }
}
