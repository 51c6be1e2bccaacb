// Transfers whose worker the test holds in its hands.

import ByteStore
import DocumentStore
import Foundation
import Harness
import Testing

@testable import FirebaseStorage

struct TransferLifeTests {
  private let bucket = TestBucket()
  private let notes = Notes()

  /// What happened, in its order.
  private final class Notes: Sendable {
    private let lines = Locked<[String]>([])
    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) {
      lines.withLock { $0.append(line) }
      lines.wakeAll()
    }

    func wait(for line: String) { lines.withLock(when: { $0.contains(line) }) { _ in } }
  }

  /// Waits in its first preparation until it is let go.
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

    func letGo() {
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

  /// What was paused, and resumed just when the app went, was thrown away.
  @Test func anAppThatGoesNeverThrowsAPausedUploadAway() async {
    let worker = HeldWorker(notes)
    let task = begin(worker)
    task.pause()
    task.resume()
    let (client, app) = (bucket.storage.client, bucket.app)
    async let closing = app.delete()
    while client.doing({}) { await Task.yield() }
    worker.letGo()
    _ = await closing
    #expect(!notes.all.contains("discard"))
    #expect(notes.all.contains("leave"))
    #expect(task.snapshot.status == .failure)
  }

  /// The store went while what a cancelled transfer had staged was still being removed.
  @Test func closingWaitsForWhatCleansUp() async {
    let worker = HeldWorker(notes)
    let task = begin(worker)
    task.cancel()
    let (client, app, notes) = (bucket.storage.client, bucket.app, notes)
    let closing = Task {
      _ = await app.delete()
      notes.add("closed")
    }
    while client.doing({}) { await Task.yield() }
    worker.letGo()
    await closing.value
    #expect(notes.all.filter { $0 != "prepare" && $0 != "stop" } == ["discard", "closed"])
  }

  @Test func whatCannotBeginTellsOfItsFailureAlone() async {
    let worker = HeldWorker(notes, failing: .unknown(message: "no such file", serverError: [:]))
    let task = begin(worker)
    for status in StorageTaskStatus.allCases where status != .unknown {
      task.observe(status) { [notes] in notes.add("told \(status) \($0.error != nil)") }
    }
    worker.letGo()
    notes.wait(for: "told failure true")
    #expect(notes.all.filter { $0.hasPrefix("told") } == ["told failure true"])
  }

  @Test func whoObservesAfterACancelIsToldAtOnce() {
    let worker = HeldWorker(notes)
    let task = begin(worker)
    task.cancel()
    task.observe(.failure) { [notes] in notes.add("late \($0.error is StorageError)") }
    task.observe(.success) { [notes] _ in notes.add("late success") }
    task.observe(.progress) { [notes] _ in notes.add("late progress") }
    notes.wait(for: "late true")
    worker.letGo()
    #expect(notes.all.filter { $0.hasPrefix("late") } == ["late true"])
  }

  // MARK: Downloads to files

  /// A name that was there before its bytes: after a power loss the file was empty.
  @Test func aDownloadIsOnStableStorageBeforeItHasItsName() async throws {
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

  @Test func whatADeadProcessLeftOfADownloadIsRemovedByTheNextOne() async throws {
    let objects = try bucket.storage.client.objects()
    let folder = try bucket.file("other", Data()).deletingLastPathComponent()
    let number = objects.beginDownload(in: folder.path)
    let part = try bucket.file(".dugout-\(number)", Data("a part".utf8))
    let stranger = try bucket.file(".dugout-\(objects.blobs.newNumber())", Data("somebody else's".utf8))
    await bucket.restart()
    // Done beside the first operation, which closing waits for.
    _ = try await bucket.root.listAll()
    await bucket.close()
    #expect(!FileManager.default.fileExists(atPath: part.path))
    #expect(FileManager.default.fileExists(atPath: stranger.path))
  }
}
