// The life cycle of transfers, with workers that the test controls.

import ByteStore
import DocumentStore
import Foundation
import Harness
import ObjectStore
import ObjectSync
import OfflineSync
import Testing

@testable import FirebaseStorage

struct TransferLifeTests {
  private let bucket = TestBucket()
  private let notes = Notes()

  /// Records lines in order.
  private final class Notes: Sendable {
    private let lines = Locked<[String]>([])
    private let added = Signal()
    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) {
      lines.withLock { $0.append(line) }
      lines.wakeAll()
      added.wake()
    }

    /// Waits for the first line. Returns false after the timeout. Only one thread at a time may wait.
    func hasLine(milliseconds: UInt64) -> Bool {
      lines.withLock(wokenBy: added, within: milliseconds * 1_000_000, when: { !$0.isEmpty }) { !$0.isEmpty }
    }

    func wait(for line: String) { lines.withLock(when: { $0.contains(line) }) { _ in } }
  }

  /// A worker that blocks in its first preparation until `letGo()` is called.
  private final class HeldWorker: TransferWorker, Sendable {
    let pausesAtOnce = true
    let completed: Int64 = 0
    let total: Int64 = 1
    private let notes: Notes
    private let failure: StorageError?
    private let isHeld = Locked(true)

    init(_ notes: Notes, failing failure: StorageError? = nil) {
      self.notes = notes
      self.failure = failure
    }

    func releaseAll() {
      isHeld.withLock { $0 = false }
      isHeld.wakeAll()
    }

    func prepare() throws(StorageError) {
      notes.add("prepare")
      isHeld.withLock(when: { !$0 }) { _ in }
      if let failure { throw failure }
    }

    func advance() throws(StorageError) -> TransferStep { .none }
    func finish() throws(StorageError) -> StorageMetadata? { nil }
    func stop() throws(StorageError) { notes.add("stop") }
    func discard() { notes.add("discard") }
    func leave() { notes.add("leave") }
  }

  private func begin(_ worker: HeldWorker) -> StorageUploadTask {
    let storage = bucket.storage
    let transfer = Transfer(
      worker, storage.client, callbackQueue: storage.callbackQueue, metadata: StorageMetadata())
    let task = StorageUploadTask(bucket.root.child("a"), transfer)
    transfer.begin(task)
    notes.wait(for: "prepare")
    return task
  }

  /// Returns a count that receives an event when the client is closed to new work.
  private func closeEvents() -> EventCount {
    let closed = EventCount()
    bucket.storage.client.register(closed) { closed.add() }
    return closed
  }

  /// Guards against discarding a paused upload that is resumed while the app is being deleted.
  @Test func deletingAnAppKeepsItsPausedUpload() async {
    let worker = HeldWorker(notes)
    let task = begin(worker)
    task.pause()
    task.resume()
    let (app, closed) = (bucket.app, closeEvents())
    async let closing = app.delete()
    #expect(await closed.next())
    worker.releaseAll()
    _ = await closing
    #expect(!notes.all.contains("discard"))
    #expect(notes.all.contains("leave"))
    #expect(task.snapshot.status == .failure)
  }

  /// Guards against closing the store while the staged part of a cancelled transfer is being removed.
  @Test func closingWaitsForTheCleanup() async {
    let worker = HeldWorker(notes)
    let task = begin(worker)
    task.cancel()
    let (app, notes, closed) = (bucket.app, notes, closeEvents())
    let closing = Task {
      _ = await app.delete()
      notes.add("closed")
    }
    #expect(await closed.next())
    worker.releaseAll()
    await closing.value
    #expect(notes.all.filter { $0 != "prepare" && $0 != "stop" } == ["discard", "closed"])
  }

  /// Guards against a staged part that remains after its transfer was cancelled. When the app closes, the
  /// cleanup must cancel the search before the close ends it.
  @Test(.timeLimit(.minutes(5))) func cleanupCancelsSearchesBeforeTheCloseEndsThem() async throws {
    let remote = LoopbackBlobRemote()
    remote.isReachable = false
    bucket.storage.remote = remote
    let (client, notes) = (bucket.storage.client, notes)
    _ = try client.objects()
    let sync = try #require((client.backend as? RemoteBackend)?.sync)
    let path = ObjectPath(bucket: "dugout", name: try ObjectName("a"))
    let wanted = BlobSync.FetchRequest(fetchesContent: true, timeout: 3_600_000_000)
    let search = sync.find(path, wanted) { result in
      if case .failure(.cancelled) = result { notes.add("cancelled") } else { notes.add("ended otherwise") }
    }
    client.runCleanup(on: DispatchQueue(label: "dugout.test.cleaning")) {
      while client.performIfOpen({}) { WorkerThread.yield() }
      // If the close did not wait for the cleanup, the close would end the search during this wait.
      _ = notes.hasLine(milliseconds: 300)
      sync.giveUp(search)
    }
    let closing = WorkerThread {
      client.close(cleaningSeconds: 3600)
      notes.add("closed")
    }
    closing.join()
    #expect(notes.all == ["cancelled", "closed"])
  }

  @Test func aTransferThatCannotStartReportsOnlyItsFailure() async {
    let worker = HeldWorker(notes, failing: .unknown(message: "no such file", serverError: [:]))
    let task = begin(worker)
    for status in StorageTaskStatus.allCases where status != .unknown {
      task.observe(status) { [notes] in notes.add("observed \(status) \($0.error != nil)") }
    }
    worker.releaseAll()
    notes.wait(for: "observed failure true")
    #expect(notes.all.filter { $0.hasPrefix("observed") } == ["observed failure true"])
  }

  @Test func anObserverAddedAfterACancelIsNotifiedImmediately() {
    let worker = HeldWorker(notes)
    let task = begin(worker)
    task.cancel()
    task.observe(.failure) { [notes] in notes.add("late \($0.error is StorageError)") }
    task.observe(.success) { [notes] _ in notes.add("late success") }
    task.observe(.progress) { [notes] _ in notes.add("late progress") }
    notes.wait(for: "late true")
    worker.releaseAll()
    #expect(notes.all.filter { $0.hasPrefix("late") } == ["late true"])
  }

  // MARK: Slots

  private final class Crowd: Sendable {
    struct State: Sendable {
      var working = 0
      var most = 0
      var prepared = 0
      var isHeld = true
    }

    let state = Locked(State())

    func wait(_ condition: (State) -> Bool) { state.withLock(when: { condition($0) }) { _ in } }

    func change(_ body: (inout State) -> Void) {
      state.withLock { state in
        body(&state)
        state.most = max(state.most, state.working)
      }
      state.wakeAll()
    }
  }

  /// A worker that holds a resource open from its preparation until it finishes or is paused.
  private final class CrowdWorker: TransferWorker, Sendable {
    let pausesAtOnce = true
    let completed: Int64 = 0
    let total: Int64 = 1
    private let crowd: Crowd
    private let isOpen = Locked(false)

    init(_ crowd: Crowd) { self.crowd = crowd }

    private func setOpen(_ isNowOpen: Bool) {
      let wasOpen = isOpen.withLock { isOpen in
        defer { isOpen = isNowOpen }
        return isOpen
      }
      if wasOpen != isNowOpen { crowd.change { $0.working += isNowOpen ? 1 : -1 } }
    }

    func prepare() throws(StorageError) {
      setOpen(true)
      crowd.change { $0.prepared += 1 }
    }

    func advance() throws(StorageError) -> TransferStep { crowd.state.withLock { $0.isHeld } ? .more : .none }

    func finish() throws(StorageError) -> StorageMetadata? {
      setOpen(false)
      return nil
    }

    func stop() throws(StorageError) { setOpen(false) }
    func discard() { setOpen(false) }
    func leave() { setOpen(false) }
  }

  /// Guards against starting all transfers at once. Each transfer has open files, and the limit for open
  /// files may be low.
  @Test(.timeLimit(.minutes(5))) func theNumberOfActiveTransfersIsLimited() async throws {
    let lane = TransferLane("dugout.test.lane", places: 2)
    let crowd = Crowd()
    let storage = bucket.storage
    let tasks = (0..<20).map { _ in
      let transfer = Transfer(
        CrowdWorker(crowd), storage.client, callbackQueue: storage.callbackQueue, metadata: nil, lane: lane)
      let task = StorageUploadTask(bucket.root.child("a"), transfer)
      transfer.begin(task)
      return task
    }
    crowd.wait { $0.working == 2 }
    // A paused transfer frees its slot. A waiting transfer is paused at once, without waiting for a
    // slot.
    tasks[0].pause()
    tasks[10].pause()
    #expect(tasks[10].snapshot.status == .pause)
    tasks[11].cancel()
    crowd.wait { $0.prepared == 3 }
    crowd.change { $0.isHeld = false }
    tasks[0].resume()
    tasks[10].resume()
    for (number, task) in tasks.enumerated() where number != 11 {
      await task.reaches(.success)
    }
    #expect(crowd.state.withLock { $0.most } == 2 && crowd.state.withLock { $0.working } == 0)
  }

  /// Guards against treating the system's value for "unlimited" as a negative limit.
  @Test func everyOpenFileLimitAllowsAtLeastOneTransfer() {
    #expect(TransferLanes.places(filesMax: -1) == 8)
    #expect(TransferLanes.places(filesMax: .max) == 8)
    #expect([0, 1, 64, 100, 127, 128].filter { TransferLanes.places(filesMax: $0) != 1 } == [])
    #expect(TransferLanes.places(filesMax: 256) == 3 && TransferLanes.places(filesMax: 1024) == 8)
  }

  // MARK: Ends

  /// Guards against an answer that is delivered only to the finished run, while the next run waits for it.
  @Test func anAnswerIsDeliveredToWaitersAddedLater() {
    let answer = RemoteAnswer<Int>()
    answer.whenChanged { [notes] in notes.add("first run") }
    answer.end(1)
    answer.whenChanged { [notes] in notes.add("second run") }
    answer.whenChanged { [notes] in notes.add("third run") }
    #expect(notes.all == ["first run", "second run", "third run"])
  }

  private func transferAll(_ worker: any TransferWorker) throws {
    try worker.prepare()
    while try worker.advance() == .more {}
    _ = try worker.finish()
  }

  private func uploader(_ name: String, _ url: URL) -> UploadWorker {
    UploadWorker(
      bucket.storage.client, StoragePath(bucket: "dugout", object: name), attributes: ObjectAttributes(),
      { () throws(StorageError) in try UploadFile(url) }, timeout: 0)
  }

  private func downloader(_ name: String, _ target: any DownloadTarget) -> DownloadWorker {
    DownloadWorker(
      bucket.storage.client, StoragePath(bucket: "dugout", object: name), target: target, timeout: 0)
  }

  /// A paused download has no open file, so the content it was reading may have been deleted before it
  /// resumes.
  @Test func aPausedDownloadOfAReplacedObjectRestarts() async throws {
    let reference = bucket.root.child("a")
    let later = noise((2 << 20) + 5, seed: 2)
    _ = try await reference.putDataAsync(noise(3 << 20))
    let (data, url) = (DownloadData(bytesMax: .max), try bucket.file("out", Data()))
    let workers = [downloader("a", data), downloader("a", DownloadFile(url))]
    for worker in workers {
      try worker.prepare()
      _ = try worker.advance()
      try worker.stop()
    }
    _ = try await reference.putDataAsync(later)
    for worker in workers { try transferAll(worker) }
    #expect(data.data == later)
    #expect(try Data(contentsOf: url) == later)
    #expect(try partsBeside(url).isEmpty)
  }

  private func partsBeside(_ url: URL) throws -> [URL] {
    let folder = url.deletingLastPathComponent()
    return try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasPrefix(".dugout-") }.map { folder.appendingPathComponent($0) }
  }

  #if os(Linux)
  /// Guards against paused transfers that each keep two or three files open.
  @Test func pausedTransfersHaveNoOpenFiles() throws {
    let bytes = noise((2 << 20) + 1000)
    let source = try bucket.file("source", bytes)
    try transferAll(uploader("a", source))
    let folder = bucket.folder.lastPathComponent
    let before = try filesOpen(below: folder).count
    let uploads = (0..<60).map { uploader("copies/\($0)", source) }
    let files = (0..<60).map { bucket.folder.appendingPathComponent("out \($0)") }
    let downloads = files.map { downloader("a", DownloadFile($0)) }
    for worker in uploads {
      try worker.prepare()
      // This number of steps creates a staged file.
      for _ in 0..<6 { _ = try worker.advance() }
      try worker.stop()
    }
    for worker in downloads {
      try worker.prepare()
      _ = try worker.advance()
      try worker.stop()
    }
    // The store may have opened some files of its own.
    #expect(try filesOpen(below: folder).count < before + 20)
    for worker in uploads { try transferAll(worker) }
    for worker in downloads { try transferAll(worker) }
    let objects = try bucket.storage.client.objects()
    let blobs = try (["a"] + uploads.indices.map { "copies/\($0)" }).map { name in
      try objects.object(at: ObjectPath(bucket: "dugout", name: ObjectName(name)))?.blob
    }
    #expect(blobs.allSatisfy { $0 != nil && $0 == blobs[0] })
    #expect(try files.filter { try Data(contentsOf: $0) != bytes } == [])
    #expect(try partsBeside(source).isEmpty && objects.uploads().isEmpty)
  }

  private func filesOpen(below folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }.filter { $0.contains(folder) }
  }

  /// Guards against open files of tasks that have ended but are still referenced.
  @Test(.timeLimit(.minutes(5))) func aCompletedDownloadHasNoOpenFile() async throws {
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(noise(3_000_000))
    let url = try bucket.file("other", Data()).deletingLastPathComponent().appendingPathComponent("out")
    let tasks: [StorageDownloadTask] = [
      reference.getData(maxSize: .max) { _, _ in }, reference.write(toFile: url),
    ]
    var completed: [Int64?] = []
    for task in tasks {
      await task.reaches(.success)
      completed.append(task.snapshot.progress?.completedUnitCount)
    }
    #expect(completed == [3_000_000, 3_000_000])
    let folder = bucket.folder.lastPathComponent
    // Each worker has closed its files before the observers were notified of the success.
    let files = try filesOpen(below: folder)
    #expect(files.filter { $0.contains("/blob-") || $0.hasSuffix("/out") } == [])
    #expect(!files.isEmpty, "the store is open")
    withExtendedLifetime(tasks) {}
  }
  #endif

  /// Guards against a cancellation that reports success but leaves the change in the outbox. This can happen
  /// right after the upload has timed out.
  @Test(.timeLimit(.minutes(5))) func aCancellationRightAfterTheTimeoutLeavesNothing() async throws {
    let remote = LoopbackBlobRemote()
    remote.isReachable = false
    bucket.storage.remote = remote
    let client = bucket.storage.client
    func overdueWorker(_ name: String) async throws -> UploadWorker {
      let worker = UploadWorker(
        client, StoragePath(bucket: "dugout", object: name), attributes: ObjectAttributes(),
        { UploadData(Data(name.utf8)) }, timeout: 0)
      try worker.prepare()
      var failure: StorageError?
      var step = TransferStep.more
      while failure == nil, step != .none {
        if step == .waiting {
          let (events, continuation) = AsyncStream<Void>.makeStream()
          worker.whenChanged { continuation.yield() }
          for await _ in events { break }
        }
        do throws(StorageError) { step = try worker.advance() } catch { failure = error }
      }
      #expect(failure?.code == .unknown)
      #expect(failure?.localizedDescription.contains("is still pending") == true)
      worker.abort()
      return worker
    }
    // The first upload times out. The second upload is cancelled before its timeout is reported.
    _ = try await overdueWorker("a")
    let cancelled = try await overdueWorker("b")
    #expect(try await bucket.storage.pendingChanges().map(\.reference.name) == ["a", "b"])
    cancelled.discard()
    try await bucket.storage.waitForOutbox { $0.count <= 1 }
    #expect(try await bucket.storage.pendingChanges().map(\.reference.name) == ["a"])
    remote.isReachable = true
    try await bucket.storage.waitForPendingChanges()
    #expect(remote.content(bucket: "dugout", name: "a") == Array("a".utf8))
    #expect(remote.content(bucket: "dugout", name: "b") == nil)
  }

  // MARK: Resuming

  /// Guards against comparing all staged bytes in one step, and against comparing beyond the first
  /// difference.
  @Test func resumingComparesOnePieceAtATimeAndStopsAtTheFirstDifference() throws {
    let client = bucket.storage.client
    let objects = try client.objects()
    let bytes = noise(3 << 20)
    let path = StoragePath(bucket: "dugout", object: "a")
    let place = ObjectPath(bucket: "dugout", name: try ObjectName("a"))
    let upload = objects.upload(to: place, from: UploadData(bytes).source, attributes: ObjectAttributes())
    try upload.append(Array(bytes.prefix(2 << 20)))
    try upload.persist()
    upload.leave()
    func worker(_ bytes: Data) throws -> UploadWorker {
      let worker = UploadWorker(
        client, path, attributes: ObjectAttributes(), { UploadData(bytes) }, timeout: 0)
      try worker.prepare()
      return worker
    }
    let first = try worker(bytes)
    var steps = 0
    while first.completed == 0, steps < 100 {
      _ = try first.advance()
      steps += 1
    }
    #expect(steps == 9 && first.completed == 2 << 20)
    first.leave()
    #expect(try objects.uploads().map(\.number) == [upload.number])
    var other = bytes
    other[100] ^= 1
    let second = try worker(other)
    _ = try second.advance()
    #expect(try objects.uploads().isEmpty)
    second.discard()
  }

  /// Guards against an upload record that keeps the metadata of the first attempt.
  @Test func resumingWithOtherMetadataStoresTheNewMetadata() throws {
    let client = bucket.storage.client
    let objects = try client.objects()
    let bytes = noise(3 << 20)
    func leave(_ type: String, after steps: Int) throws -> StoredUpload {
      var attributes = ObjectAttributes()
      attributes.contentType = type
      let path = StoragePath(bucket: "dugout", object: "a")
      let worker = UploadWorker(client, path, attributes: attributes, { UploadData(bytes) }, timeout: 0)
      try worker.prepare()
      for _ in 0..<steps { _ = try worker.advance() }
      try worker.stop()
      worker.leave()
      let uploads = try objects.uploads()
      try #require(uploads.count == 1)
      return try #require(uploads.first)
    }
    let first = try leave("text/plain", after: 6)
    #expect(first.attributes.contentType == "text/plain")
    var wrong: [String] = []
    // The upload resumes once while the staged bytes are still being compared, and once after the comparison.
    for (type, steps) in [("text/html", 3), ("text/css", 10)] {
      let next = try leave(type, after: steps)
      if next.attributes.contentType != type || next.number != first.number || next.began != first.began {
        wrong.append("\(type): \(next)")
      }
    }
    #expect(wrong == [])
  }

  // MARK: Downloads to files

  private func mode(of url: URL) throws -> Int? {
    (try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? NSNumber)?.intValue
  }

  /// Guards against a partial download that others can read, and against losing the permissions of a
  /// replaced file.
  @Test func aDownloadIsOwnerOnlyUntilCompleteThenHasUsualPermissions() throws {
    let objects = try bucket.storage.client.objects()
    let old = try bucket.file("old", Data())
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: old.path)
    let folder = old.deletingLastPathComponent()
    // The mode that the process's umask allows.
    let like = folder.appendingPathComponent("like")
    close(open(like.path, O_WRONLY | O_CREAT, 0o666))
    var wrong: [String] = []
    for (url, expected) in [(folder.appendingPathComponent("new"), try mode(of: like)), (old, 0o640)] {
      let target = DownloadFile(url)
      try target.begin(3, objects)
      try target.append([1])
      let modes = try partsBeside(url).map { try mode(of: $0) }
      try target.append([2, 3])
      try target.finish()
      let (last, content) = (try mode(of: url), try Data(contentsOf: url))
      if modes != [0o600] || last != expected || content != Data([1, 2, 3]) {
        wrong.append("\(url): \(modes), \(String(describing: last)), \(Array(content))")
      }
    }
    #expect(wrong == [])
  }

  @Test func aLinkThatAppearsDuringADownloadIsNotReplaced() throws {
    let objects = try bucket.storage.client.objects()
    let old = try bucket.file("old", Data([9]))
    let url = old.deletingLastPathComponent().appendingPathComponent("out")
    let target = DownloadFile(url)
    try target.begin(3, objects)
    try target.append([1, 2, 3])
    try FileManager.default.createSymbolicLink(at: url, withDestinationURL: old)
    #expect(throws: StorageError.self) { try target.finish() }
    target.discard()
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: url.path) == old.path)
    #expect(try Data(contentsOf: old) == Data([9]))
    #expect(try partsBeside(url).isEmpty)
  }

  /// Guards against a rename before the sync, which leaves an empty file after a power loss.
  @Test func aDownloadIsFsyncedBeforeItsRename() async throws {
    let objects = try bucket.storage.client.objects()
    var options = SimulatedDisk.Options()
    options.recordsTrace = true
    let disk = SimulatedDisk(options: options)
    try disk.createDirectory("/folder")
    let before = disk.trace.count
    let target = DownloadFile(URL(fileURLWithPath: "/folder/out"), disk)
    try target.begin(3, objects)
    try target.append([1, 2, 3])
    try target.finish()
    let calls = disk.trace[before...].map(\.operation)
      .filter { [.write, .syncFile, .rename, .syncDirectory].contains($0) }
    #expect(calls == [.write, .syncFile, .rename, .syncDirectory])
    #expect(disk.image.after(.powerLoss(.nothing, seed: 1)).contents(of: "/folder/out")?.bytes == [1, 2, 3])
  }

  @Test func partialDownloadsOfADeadProcessAreRemovedAtTheNextStart() async throws {
    let objects = try bucket.storage.client.objects()
    let folder = try bucket.file("other", Data()).deletingLastPathComponent()
    let number = objects.beginDownload(in: folder.path)
    let part = try bucket.file(".dugout-\(number)", Data("a part".utf8))
    let stranger = try bucket.file(".dugout-\(objects.blobs.newNumber())", Data("somebody else's".utf8))
    await bucket.restart()
    // The cleanup runs concurrently with the first operation. Closing the app waits for the cleanup.
    _ = try await bucket.root.listAll()
    await bucket.close()
    #expect(!FileManager.default.fileExists(atPath: part.path))
    #expect(FileManager.default.fileExists(atPath: stranger.path))
  }
}
