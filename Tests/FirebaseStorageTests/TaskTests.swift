// Transfer tasks and their observers.

import ByteStore
import FirebaseStorage
import Foundation
import Testing

/// Returns the code of the bridged error; 0 without an error.
private func code(_ error: (any Error)?) -> Int { error.map { ($0 as NSError).code } ?? 0 }

struct TaskTests {
  private let bucket = TestBucket()

  /// Records events in order, and waits for a given event.
  private final class Diary: Sendable {
    private let lines = Locked<[String]>([])

    func note(_ line: String) {
      lines.withLock { $0.append(line) }
      lines.wakeAll()
    }

    var all: [String] { lines.withLock { $0 } }

    func wait(for line: String) async {
      await withCheckedContinuation { done in
        DispatchQueue.global().async { [lines] in
          lines.withLock(when: { $0.contains(line) }) { _ in }
          done.resume()
        }
      }
    }

    func observe(_ task: StorageObservableTask) {
      task.observe(.resume) { _ in self.note("resume") }
      task.observe(.pause) { _ in self.note("pause") }
      task.observe(.progress) { snapshot in
        let progress = snapshot.progress
        self.note("progress \(progress?.completedUnitCount ?? -1) of \(progress?.totalUnitCount ?? -1)")
      }
      task.observe(.success) { _ in self.note("success") }
      task.observe(.failure) { self.note("failure \(code($0.error))") }
    }
  }

  /// Starts an upload of 3 MB and pauses it.
  private func begun() -> (Diary, StorageUploadTask) {
    let diary = Diary()
    let task = bucket.root.child("a").putData(noise(3_000_000)) { metadata, error in
      diary.note("completion \(metadata?.size ?? -1) \(error == nil)")
    }
    task.pause()
    return (diary, task)
  }

  @Test func anUploadReportsFullProgressThenSuccessThenCompletion() async {
    var (diary, task) = begun()
    // The pause keeps the upload from ending before it is observed. If the upload ends before the pause, the
    // test starts another upload.
    while task.snapshot.status != .pause { (diary, task) = begun() }
    diary.observe(task)
    task.resume()
    await diary.wait(for: "completion 3000000 true")
    let events = diary.all.filter { $0 != "resume" && $0 != "pause" }
    #expect(events.suffix(3) == ["progress 3000000 of 3000000", "success", "completion 3000000 true"])
    #expect(events.count { $0.hasPrefix("success") } == 1)
    #expect(task.snapshot.status == .success)
    #expect(task.snapshot.metadata?.md5Hash != nil)
  }

  @Test func aPausedAndResumedUploadSucceeds() async throws {
    let bytes = noise(30_000_000)
    // On a fast disk the upload may end before the pause. Then the test tries again.
    var started: (reference: StorageReference, diary: Diary, task: StorageUploadTask)?
    for attempt in 0..<10 where started == nil {
      let diary = Diary()
      let reference = bucket.root.child("\(attempt)")
      let task = reference.putData(bytes) { _, error in diary.note("completion \(error == nil)") }
      task.pause()
      diary.observe(task)
      if task.snapshot.status == .pause { started = (reference, diary, task) }
    }
    let (reference, diary, task) = try #require(started, "no upload could be paused")
    await diary.wait(for: "pause")
    task.pause()
    task.enqueue()
    #expect(task.snapshot.status == .pause)
    task.resume()
    await diary.wait(for: "completion true")
    let order = diary.all.filter { ["pause", "resume", "success"].contains($0) }
    #expect(order == ["pause", "resume", "success"])
    #expect(try await reference.data(maxSize: .max) == bytes)
  }

  @Test func aCancelledUploadLeavesNothing() async throws {
    let diary = Diary()
    let reference = bucket.root.child("a")
    let before = try await reference.putDataAsync(Data("before".utf8))
    let task = reference.putData(noise(20_000_000)) { metadata, error in
      diary.note("completion \(metadata == nil) \(code(error))")
    }
    diary.observe(task)
    task.cancel()
    task.cancel()
    await diary.wait(for: "completion true -13040")
    #expect(diary.all.filter { $0.hasPrefix("failure") || $0 == "success" } == ["failure -13040"])
    #expect(try await reference.getMetadata() == before)
    #expect(try await bucket.storage.pendingUploads().isEmpty)
    // Closing the bucket waits for the cleanup.
    await bucket.restart()
    #expect(try await bucket.root.child("a").getMetadata() == before)
    #expect(bucket.blobFiles.allSatisfy { $0.hasPrefix("pack-") })
  }

  @Test func cancellingAfterTheEndDoesNothing() async throws {
    let diary = Diary()
    let task = bucket.root.child("a").putData(Data("x".utf8)) { _, error in diary.note("done \(error == nil)")
    }
    await diary.wait(for: "done true")
    task.cancel()
    task.pause()
    task.resume()
    #expect(task.snapshot.status == .success)
    #expect(task.snapshot.error == nil)
  }

  @Test func anObserverAddedAfterTheEndIsNotifiedOnce() async {
    let diary = Diary()
    let task = bucket.root.child("a").putData(Data("x".utf8)) { _, _ in diary.note("done") }
    await diary.wait(for: "done")
    task.observe(.progress) { _ in diary.note("late progress") }
    task.observe(.success) { _ in diary.note("late success") }
    await diary.wait(for: "late success")
    #expect(!diary.all.contains("late progress"))
  }

  @Test func removedObserversAreNotNotified() async {
    let diary = Diary()
    let task = bucket.root.child("a").putData(noise(30_000_000)) { _, _ in diary.note("done") }
    task.pause()
    let handle = task.observe(.success) { _ in diary.note("by handle") }
    task.observe(.progress) { _ in diary.note("by status") }
    task.observe(.success) { _ in diary.note("stays") }
    task.removeObserver(withHandle: handle)
    task.removeObserver(withHandle: "no such handle")
    task.removeAllObservers(for: .progress)
    task.resume()
    await diary.wait(for: "done")
    await diary.wait(for: "stays")
    // If the upload ended before it was observed, its observers are notified late.
    #expect(diary.all.sorted() == ["done", "stays"])
    let second = bucket.root.child("b").putData(noise(2_000_000)) { _, _ in diary.note("done again") }
    second.observe(.success) { _ in diary.note("all removed") }
    second.removeAllObservers()
    await diary.wait(for: "done again")
    #expect(!diary.all.contains("all removed"))
  }

  @Test func aDownloadCanBePausedResumedAndCancelled() async throws {
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(noise(5_000_000))
    let diary = Diary()
    let task = reference.getData(maxSize: .max) { data, error in
      diary.note("data \(data?.count ?? -1) \(code(error))")
    }
    task.pause()
    task.observe(.pause) { _ in
      diary.note("pause")
      task.resume()
    }
    await diary.wait(for: "data 5000000 0")
    let url = try bucket.file("out", Data("before".utf8))
    let second = reference.write(toFile: url)
    second.observe(.failure) { diary.note("failure \(code($0.error))") }
    second.observe(.success) { _ in diary.note("success") }
    second.cancel()
    await diary.wait(for: second.snapshot.status == .success ? "success" : "failure -13040")
  }

  @Test func optionalProtocolMembersControlTheTask() async {
    let diary = Diary()
    let task = bucket.root.child("a").putData(noise(2_000_000)) { _, error in
      diary.note("done \(code(error))")
    }
    let managed: any StorageTaskManagement = task
    managed.pause?()
    managed.resume?()
    managed.cancel?()
    managed.enqueue()
    await diary.wait(for: task.snapshot.status == .success ? "done 0" : "done -13040")
  }

  @Test func cancellingTheSwiftTaskCancelsTheUpload() async throws {
    let reference = bucket.root.child("a")
    let work = Task { try await reference.putDataAsync(noise(40_000_000)) }
    work.cancel()
    let error = try await storageError { _ = try await work.value }
    #expect(error.code == .cancelled)
    #expect(try await storageError { _ = try await reference.getMetadata() }.code == .objectNotFound)
  }

  @Test func eightTasksPauseResumeAndCancelConcurrently() async throws {
    let reference = bucket.root.child("a")
    var wrong: [String] = []
    for round in 0..<4 {
      let diary = Diary()
      let task = reference.putData(noise(4_000_000, seed: UInt64(round) + 1)) { metadata, error in
        diary.note(metadata != nil ? "end success" : "end \(code(error))")
        diary.note("end")
      }
      diary.observe(task)
      let cancels = round % 2 == 1
      await withTaskGroup(of: Void.self) { group in
        for worker in 0..<8 {
          group.addTask {
            for step in 0..<40 {
              switch (worker + step) % 4 {
              case 0: task.pause()
              case 1, 2: task.resume()
              default: if cancels, step == 30 { task.cancel() } else { _ = task.snapshot }
              }
              await Task.yield()
            }
          }
        }
      }
      task.resume()
      await diary.wait(for: "end")
      let ends = diary.all.filter { $0.hasPrefix("success") || $0.hasPrefix("failure") }
      if ends.count != 1 || !cancels && ends != ["success"] { wrong.append("\(round): \(diary.all)") }
    }
    #expect(wrong == [])
    // Closing the bucket waits for the cleanup.
    await bucket.restart()
    #expect(try await bucket.storage.pendingUploads().isEmpty)
  }
}
