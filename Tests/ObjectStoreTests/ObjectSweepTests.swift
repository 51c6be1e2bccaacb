// The data that sweeps remove, and the data that sweeps must keep despite concurrent operations.

import ByteStore
import DocumentStore
import Harness
import Testing

@testable import ObjectStore

struct ObjectSweepTests {
  private let disk = SimulatedDisk()
  private let clock = SimulatedClock()
  private static let day: UInt64 = 24 * 60 * 60 * 1_000_000_000
  private static let dayMicroseconds: Int64 = 24 * 60 * 60 * 1_000_000

  private func open(
    _ directory: String = "/store", _ fileSystem: (any FileSystem)? = nil, syncBytes: UInt64? = nil
  ) throws -> DocumentStore {
    var options = DocumentStore.Options()
    if let syncBytes { options.blobs.syncBytes = syncBytes }
    options.maintenance = .manual
    options.blobs.packedBytesMax = 2000
    options.blobs.packBytesMax = 40_000
    let rng = SimulatedRandomSource(seed: UInt64(disk.counters.operations) + 1)
    return try DocumentStore.open(
      directory, options: options,
      platform: Platform(fileSystem: fileSystem ?? disk, clock: clock, random: rng))
  }

  private func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return random.bytes(count)
  }

  private func path(_ name: String) throws -> ObjectPath {
    ObjectPath(bucket: "bucket", name: try ObjectName(name))
  }

  private func begin(_ name: String, _ count: UInt64, in store: DocumentStore) throws -> ObjectUpload {
    store.objects.upload(
      to: try path(name), from: UploadSource(file: nil, byteCount: count, modified: 0),
      attributes: ObjectAttributes())
  }

  private func put(_ bytes: [UInt8], _ name: String, in store: DocumentStore) throws {
    let upload = try begin(name, UInt64(bytes.count), in: store)
    try upload.append(bytes)
    _ = try upload.finish(token: "token")
  }

  private func content(_ name: String, in store: DocumentStore) throws -> [UInt8]? {
    try store.objects.content(at: path(name))?.reader.readAll()
  }

  // MARK: Packs

  /// Guards against packs that are only swept after a crash.
  @Test func packGarbageIsReclaimedWhileTheStoreIsOpen() throws {
    let store = try open()
    for number in 0..<20 { try put(bytes(1500, seed: UInt64(number) + 1), "\(number)", in: store) }
    #expect(!store.objects.isSweepDue)
    let full = try store.objects.blobs.usage().bytes
    for number in 0..<3 { _ = try store.objects.delete(path("\(number)")) }
    #expect(!store.objects.isSweepDue)
    for number in 3..<20 where ![4, 13].contains(number) { try put(bytes(5000), "\(number)", in: store) }
    #expect(store.objects.isSweepDue)
    // The sweep empties two full packs and the current pack.
    let swept = try store.objects.sweep(.packs)
    #expect(swept.packs == 3 && swept.moved == 2)
    #expect(!store.objects.isSweepDue)
    #expect(try store.objects.blobs.usage().bytes < full / 2)
    let wrong = try [4, 13].filter { number in
      try content("\(number)", in: store) != bytes(1500, seed: UInt64(number) + 1)
    }
    #expect(wrong == [])
    try store.checkInvariants()
  }

  /// Garbage that appears while a sweep is scanning must count toward the next sweep.
  @Test func garbageCreatedDuringASweepCountsForTheNextSweep() throws {
    let watched = WatchedFileSystem(disk)
    let store = try open("/store", watched)
    for number in 0..<9 { try put(bytes(1500, seed: UInt64(number) + 1), "\(number)", in: store) }
    for number in 0..<4 { _ = try store.objects.delete(path("\(number)")) }
    #expect(store.objects.isSweepDue)
    let failures = Locked<[String]>([])
    watched.beforeNextListing {
      for number in 4..<8 {
        do {
          _ = try store.objects.delete(path("\(number)"))
        } catch {
          failures.withLock { $0.append("\(number): \(error)") }
        }
      }
    }
    // The pack did not have enough garbage to be closed.
    #expect(try store.objects.sweep(.packs).packs == 0)
    #expect(failures.withLock { $0 } == [])
    #expect(store.objects.isSweepDue)
    #expect(try store.objects.sweep(.packs).packs == 1)
    #expect(!store.objects.isSweepDue)
    #expect(try content("8", in: store) == bytes(1500, seed: 9))
  }

  /// Guards against a pack that is never removed: a sweep skipped a content that was being deleted, and
  /// nothing checked the pack again.
  @Test func concurrentDeletionsDoNotKeepAPackFromBeingSwept() throws {
    let failures = Locked<[String]>([])
    var wrong: [String] = []
    for round in 0..<40 as Range<UInt64> {
      let store = try open("/\(round)")
      for number in 0..<9 as Range<UInt64> {
        try put(bytes(1500, seed: round * 9 + number + 1), "\(number)", in: store)
      }
      let isOver = Locked(false)
      let sweeper = WorkerThread {
        while !isOver.withLock({ $0 }) {
          guard store.objects.isSweepDue else { continue }
          do {
            try store.objects.sweep(.packs)
          } catch {
            failures.withLock { $0.append("round \(round): \(error)") }
          }
        }
      }
      for number in 0..<8 { _ = try store.objects.delete(path("\(number)")) }
      isOver.withLock { $0 = true }
      sweeper.join()
      while store.objects.isSweepDue { try store.objects.sweep(.packs) }
      // The remaining live content takes one page of its pack, after the pack's header.
      let used = try store.objects.blobs.usage().bytes
      if used >= 40_000 { wrong.append("round \(round): \(used) bytes") }
      let (recorded, named) = try store.objects.contents()
      if recorded != named { wrong.append("round \(round): \(recorded), not \(named)") }
      try store.close()
    }
    #expect(failures.withLock { $0 } == [])
    #expect(wrong == [])
  }

  @Test func garbageIsReclaimedAfterACleanReopen() throws {
    let store = try open()
    for number in 0..<20 { try put(bytes(1500, seed: UInt64(number) + 1), "\(number)", in: store) }
    for number in 0..<18 { _ = try store.objects.delete(path("\(number)")) }
    try store.close()
    let again = try open()
    #expect(try again.objects.sweep(.packs).packs == 2)
    #expect(try content("19", in: again) == bytes(1500, seed: 20))
  }

  /// The live contents of the first pack cannot be moved, because the disk is full. The next pack has no live
  /// contents and is removed anyway.
  @Test func aFullDiskDoesNotKeepAPackWithoutLiveContents() throws {
    let store = try open()
    for number in 0..<40 { try put(bytes(1900, seed: UInt64(number) + 1), "\(number)", in: store) }
    for number in 1..<40 { _ = try store.objects.delete(path("\(number)")) }
    try store.close()
    var options = SimulatedDisk.Options()
    options.capacity = disk.bytesInUse
    let full = SimulatedDisk(disk.image, options: options)
    let again = try open("/store", full)
    let swept = try again.objects.sweep(.packs)
    #expect(swept.packs >= 1 && (swept.moved > 0 || swept.packsNotEmptied > 0), "\(swept)")
    #expect(try content("0", in: again) == bytes(1900, seed: 1))
    try again.close()
  }

  /// A small content that was added alone takes a page. This is no reason to move the content repeatedly.
  @Test func liveContentsAreNotMovedByEverySweep() throws {
    var store = try open()
    for number in 0..<30 { try put(bytes(100, seed: UInt64(number) + 1), "\(number)", in: store) }
    var sweeps: [ObjectSweep] = []
    for _ in 0..<3 {
      try store.close()
      store = try open()
      sweeps.append(try store.objects.sweep(.everything))
    }
    #expect(sweeps == [ObjectSweep(), ObjectSweep(), ObjectSweep()])
  }

  @Test func concurrentPutsAndSweepsLoseNothing() async throws {
    let store = try open()
    let isOver = Locked(false)
    let wrong = Locked<[String]>([])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          for round in 0..<60 {
            let seed = UInt64(worker * 1000 + round % 7 + 1)
            try put(bytes(1800, seed: seed), "\(worker)/\(round % 5)", in: store)
            if round % 3 == 0 { _ = try store.objects.delete(path("\(worker)/\((round + 2) % 5)")) }
            let name = "\(worker)/\(round % 5)"
            if try content(name, in: store) != bytes(1800, seed: seed) {
              wrong.withLock { $0.append("\(name) in round \(round)") }
            }
          }
        }
      }
      group.addTask {
        while !isOver.withLock({ $0 }) {
          try store.objects.sweep(.everything)
          await Task.yield()
        }
      }
      for _ in 0..<4 { try await group.next() }
      isOver.withLock { $0 = true }
      try await group.waitForAll()
    }
    #expect(wrong.withLock { $0 } == [])
    try store.objects.sweep(.everything)
    let (_, _, packs) = try store.objects.inUse()
    #expect(Set(try store.objects.blobs.inventory().packs).isSubset(of: packs))
    try store.checkInvariants()
  }

  // MARK: Uploads

  private func leave(_ name: String, in store: DocumentStore) throws {
    let upload = try begin(name, 700_000, in: store)
    try upload.append(bytes(300_000))
    try upload.persist()
    upload.leave()
  }

  @Test func aWallClockJumpDoesNotExpireAnUpload() throws {
    let store = try open()
    try leave("a", in: store)
    clock.setWall(microseconds: clock.wallMicroseconds() + 400 * Self.dayMicroseconds)
    #expect(try store.objects.sweep(.names).uploads == 0)
    #expect(try store.objects.uploads().count == 1)
    #expect(!store.objects.isSweepDue)
    clock.advance(nanoseconds: 8 * Self.day)
    // In a process that runs for weeks, this sweep is due once a day.
    #expect(store.objects.isSweepDue)
    #expect(try store.objects.sweep(.names).uploads == 1)
    #expect(!store.objects.isSweepDue)
  }

  @Test func anUploadWithAFutureStartIsStillSwept() throws {
    let store = try open()
    try leave("a", in: store)
    try store.close()
    clock.setWall(microseconds: clock.wallMicroseconds() - 400 * Self.dayMicroseconds)
    let next = try open()
    #expect(try next.objects.sweep(.names).uploads == 0)
    clock.advance(nanoseconds: 6 * Self.day)
    #expect(try next.objects.sweep(.names).uploads == 0)
    clock.advance(nanoseconds: 2 * Self.day)
    #expect(try next.objects.sweep(.names).uploads == 1)
    #expect(try next.objects.blobs.inventory().staged.isEmpty)
  }

  /// An upload is either resumed or cancelled, never both.
  @Test func resumeAndCancelAreMutuallyExclusive() async throws {
    let store = try open()
    var wrong: [String] = []
    for round in 0..<40 {
      try leave("a", in: store)
      let stored = try #require(try store.objects.uploads().first)
      async let resumed = Task.detached {
        guard let upload = try store.objects.resume(stored, { _ in }) else { return false }
        upload.leave()
        return true
      }.value
      async let cancelled = Task.detached { try store.objects.cancel(stored) }.value
      let (resume, isGone) = try await (resumed, cancelled)
      // An upload that was resumed and left can still be cancelled afterwards. After a cancellation, no
      // upload remains.
      let isEmpty = try store.objects.uploads().isEmpty
      if isGone, !isEmpty { wrong.append("round \(round): cancelled, but an upload remains") }
      if !isGone, !resume { wrong.append("round \(round): neither resumed nor cancelled") }
      let staged = try store.objects.blobs.inventory().staged.count
      if staged != (isGone ? 0 : 1) { wrong.append("round \(round): \(staged) staged, is gone: \(isGone)") }
      if !isGone { try store.objects.cancel(stored) }
    }
    #expect(wrong == [])
  }

  /// Guards against a single sync of all reread bytes at the end, which would delay all progress until then.
  @Test func rereadStagedBytesAreSyncedInSteps() throws {
    let store = try open(syncBytes: 512 << 10)
    let upload = try begin("a", 2 << 20, in: store)
    try upload.append(bytes(1 << 20))
    try upload.persist()
    upload.leave()
    let stored = try #require(try store.objects.uploads().first)
    let again = try #require(try store.objects.resume(with: stored))
    let before = disk.counters.fileSyncs
    var synced: [UInt64] = []
    while try again.rereadStaged() != nil { synced.append(again.bytesSynced) }
    #expect(synced == [0, 512 << 10, 512 << 10, 1 << 20])
    #expect(disk.counters.fileSyncs == before + 2)
    again.cancel()
    #expect(try store.objects.blobs.inventory().staged.isEmpty)
  }

  @Test func aSweepKeepsConcurrentUploads() async throws {
    let store = try open()
    let isOver = Locked(false)
    let wrong = Locked<[String]>([])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<3 {
        group.addTask {
          for round in 0..<25 {
            try leave("\(worker)", in: store)
            let stored = try #require(
              try store.objects.uploads().first { $0.path.name.text == "\(worker)" })
            var count = 0
            let upload = try store.objects.resume(stored) { count += $0.count }
            if upload == nil || count != 256 << 10 {
              let text = "\(worker) in round \(round): \(upload == nil ? "no upload" : "\(count) bytes")"
              wrong.withLock { $0.append(text) }
            }
            upload?.cancel()
          }
        }
      }
      group.addTask {
        while !isOver.withLock({ $0 }) {
          try store.objects.sweep(.names)
          await Task.yield()
        }
      }
      for _ in 0..<3 { try await group.next() }
      isOver.withLock { $0 = true }
      try await group.waitForAll()
    }
    #expect(wrong.withLock { $0 } == [])
    #expect(try store.objects.uploads().isEmpty)
    #expect(try store.objects.blobs.inventory().staged.isEmpty)
  }

  // MARK: Staged downloads

  private func arrive(_ count: Int, in store: DocumentStore) throws -> ObjectArrival {
    let arrival = try arrival(in: store)
    try arrival.append(bytes(count))
    return arrival
  }

  private func arrival(in store: DocumentStore, md5: UInt8? = 1) throws -> ObjectArrival {
    let content = RemoteContent(
      generation: 7, byteCount: 700_000, md5: md5.map { [UInt8](repeating: $0, count: 16) } ?? [],
      created: nil)
    return store.objects.arrival(of: content, at: try path("a"))
  }

  /// Another server, or a reinstalled server, may assign an equal generation number to a different content.
  @Test func anotherContentWithAnEqualGenerationIsNotResumed() throws {
    let store = try open()
    try arrive(300_000, in: store).leave()
    let same = try arrival(in: store)
    #expect(same.isRereadingStaged)
    same.leave()
    let other = try arrival(in: store, md5: 2)
    #expect(!other.isRereadingStaged && other.byteCount == 0)
    #expect(try store.objects.blobs.inventory().staged.isEmpty)
    try other.append(bytes(300_000))
    other.leave()
    #expect(try !arrival(in: store, md5: nil).isRereadingStaged)
    #expect(try store.objects.blobs.inventory().staged.isEmpty)
  }

  @Test func aStagedDownloadIsSweptAfterSevenDays() throws {
    let store = try open()
    let arrival = try arrive(300_000, in: store)
    #expect(try store.objects.sweep(.everything) == ObjectSweep())
    arrival.leave()
    try store.close()
    let next = try open()
    clock.advance(nanoseconds: 6 * Self.day)
    #expect(try next.objects.sweep(.everything) == ObjectSweep())
    // The arrival is neither a user document nor a user's upload.
    #expect(next.count == 0)
    #expect(try next.objects.uploads().isEmpty)
    let numbers = Set(try next.objects.arrivals().map(\.number))
    #expect(numbers.count == 1)
    #expect(try next.objects.inUse().staged == numbers)
    clock.advance(nanoseconds: 2 * Self.day)
    #expect(try next.objects.sweep(.names).arrivals == 1)
    #expect(try next.objects.arrivals().isEmpty)
    #expect(try next.objects.blobs.inventory().staged.isEmpty)
  }

  @Test func aStagedDownloadWithAFutureStartIsStillSwept() throws {
    let store = try open()
    try arrive(300_000, in: store).leave()
    try store.close()
    clock.setWall(microseconds: clock.wallMicroseconds() - 400 * Self.dayMicroseconds)
    let next = try open()
    #expect(try next.objects.sweep(.names) == ObjectSweep())
    clock.advance(nanoseconds: 6 * Self.day)
    #expect(try next.objects.sweep(.names) == ObjectSweep())
    clock.advance(nanoseconds: 2 * Self.day)
    #expect(try next.objects.sweep(.names).arrivals == 1)
    #expect(try next.objects.blobs.inventory().staged.isEmpty)
  }

  @Test func recordsAndFilesOfStagedDownloadsAreDeletedTogether() throws {
    let store = try open()
    try arrive(300_000, in: store).leave()
    let number = try #require(try store.objects.arrivals().first).number
    let folder = try disk.openDirectory("/store/blobs")
    try folder.remove("staged-\(number)")
    #expect(try store.objects.sweep(.names).arrivals == 1)
    #expect(try store.objects.arrivals().isEmpty)
    // Tests staged bytes without a record, as after a power loss, and staged bytes whose record cannot be
    // decoded.
    var wrong: [String] = []
    for fields in [nil, StoredMap([("bytes", .integer(3))])] as [StoredMap?] {
      try arrive(300_000, in: store).leave()
      let number = try #require(try store.objects.arrivals().first).number
      let record = DocumentPath(unchecked: ["__arrivals__", number.description])
      _ = try store.commit([fields.map { Mutation.set(record, $0) } ?? .delete(record)])
      let swept = try store.objects.sweep(.names)
      let kind = fields == nil ? "no record" : "an invalid record"
      if swept.staged != 1 || swept.arrivals != (fields == nil ? 0 : 1) { wrong.append("\(kind): \(swept)") }
      let staged = try store.objects.blobs.inventory().staged.count
      if staged != 0 || store.count != 0 {
        wrong.append("\(kind): \(staged) staged, \(store.count) documents")
      }
    }
    #expect(wrong == [])
    // An arrival that was not staged leaves nothing.
    try arrive(1000, in: store).leave()
    #expect(try store.objects.sweep(.names) == ObjectSweep())
    #expect(try store.objects.arrivals().isEmpty)
  }

  // MARK: Downloads

  @Test func partsOfDownloadsAreRecordedUntilTheyAreDeleted() throws {
    let store = try open()
    let first = store.objects.beginDownload(in: "/somewhere")
    let second = store.objects.beginDownload(in: "/elsewhere")
    #expect(try store.objects.abandonedDownloads().isEmpty)
    store.objects.endDownload(first)
    #expect(store.count == 0)
    try store.close()
    let next = try open()
    let left = try next.objects.abandonedDownloads()
    #expect(left.map(\.number) == [second] && left.map(\.folder) == ["/elsewhere"])
    next.objects.endDownload(second)
    #expect(try next.objects.abandonedDownloads().isEmpty)
  }
}
