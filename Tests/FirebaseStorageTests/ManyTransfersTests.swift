// More concurrent transfers than threads, and one transfer used by many tasks.

import ByteStore
import Foundation
import Harness
import Testing

@testable import FirebaseStorage

struct ManyTransfersTests {
  private let bucket = TestBucket()

  /// Guards against a deadlock of uploads that each hold a thread while they wait for another upload.
  @Test(.timeLimit(.minutes(3))) func moreConcurrentUploadsThanThreadsDoNotDeadlock() async throws {
    // This size is more than one block.
    let bytes = Data(count: (1 << 20) + 1000)
    try await withThrowingTaskGroup(of: Int64.self) { group in
      for number in 0..<300 {
        let reference = bucket.root.child("\(number)")
        group.addTask { try await reference.putDataAsync(bytes).size }
      }
      var sizes: [Int64] = []
      for try await size in group { sizes.append(size) }
      #expect(sizes == Array(repeating: Int64(bytes.count), count: 300))
    }
    #expect(try await bucket.root.listAll().items.count == 300)
    #expect(bucket.blobFiles.count { $0.hasPrefix("blob-") } == 1)
  }

  @Test func aSmallTransferDoesNotWaitForLargeOnes() async throws {
    let large = noise(12 << 20)
    let ends = Ends()
    // Starts more large transfers than the transfer threads can run, and then starts the small one.
    for number in 0..<24 {
      bucket.root.child("large \(number)").putData(large) { _, _ in ends.add("large") }
    }
    bucket.root.child("small").putData(Data("small".utf8)) { _, _ in ends.add("small") }
    await ends.wait(for: "small")
    // On a busy machine, some of the large ones end before the small one has started.
    #expect(ends.all.count { $0 == "large" } < 12)
  }

  @Test func identicalContentsAreStoredOnce() async throws {
    let bytes = noise(1 << 20)
    _ = try await bucket.root.child("first").putDataAsync(bytes)
    let before = try spaceOfContents()
    #expect(before < 2 << 20)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        let reference = bucket.root.child("copies/\(number)")
        group.addTask { _ = try await reference.putDataAsync(bytes) }
      }
      try await group.waitForAll()
    }
    #expect(try spaceOfContents() == before)
    #expect(try await bucket.root.child("copies/99").data(maxSize: .max) == bytes)
  }

  /// Guards against garbage in packs that is not reclaimed until the process ends.
  @Test(.timeLimit(.minutes(2))) func deletedContentsAreReclaimedWhileTheAppRuns() async throws {
    let sweeps = EventCount()
    bucket.storage.client.afterEachSweep { sweeps.add() }
    let references = (0..<24).map { bucket.root.child("\($0)") }
    for (number, reference) in references.enumerated() {
      _ = try await reference.putDataAsync(noise(1 << 20, seed: UInt64(number) + 1))
    }
    #expect(try spaceOfContents() > 24 << 20)
    for reference in references.dropFirst() { try await reference.delete() }
    while try spaceOfContents() > 16 << 20 {
      try #require(await sweeps.next(), "the sweeps leave too much")
    }
    #expect(try await references[0].data(maxSize: .max) == noise(1 << 20, seed: 1))
  }

  private func spaceOfContents() throws -> Int {
    let files = FileManager.default.enumerator(atPath: bucket.folder.path)?.compactMap { $0 as? String } ?? []
    return files.filter { $0.contains("/blobs/") }.reduce(0) { total, name in
      // A sweep may delete a pack during the enumeration.
      let attributes = try? FileManager.default.attributesOfItem(
        atPath: bucket.folder.appendingPathComponent(name).path)
      return total + ((attributes?[.size] as? NSNumber)?.intValue ?? 0)
    }
  }

  // MARK: Concurrent calls on one transfer

  private final class Ends: Sendable {
    private let ends = Locked<[String]>([])
    var all: [String] { ends.withLock { $0 } }

    func add(_ end: String) {
      ends.withLock { $0.append(end) }
      ends.wakeAll()
    }

    func wait(for end: String) async {
      await withCheckedContinuation { done in
        DispatchQueue.global().async { [ends] in
          ends.withLock(when: { $0.contains(end) }) { _ in }
          done.resume()
        }
      }
    }
  }

  private func race<Transfer: StorageObservableTask & StorageTaskManagement>(
    _ task: Transfer, cancelling: Bool
  ) async {
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<8 {
        group.addTask {
          for step in 0..<50 {
            switch (worker + step) % 5 {
            case 0: task.pause?()
            case 1, 2: task.resume?()
            case 3: task.removeObserver(withHandle: task.observe(.progress) { _ in })
            default: if cancelling, step == 44 { task.cancel?() } else { _ = task.snapshot.progress }
            }
            await Task.yield()
          }
        }
      }
    }
    task.resume?()
  }

  @Test(arguments: [false, true])
  func concurrentControlOfADownloadEndsItOnce(cancelling: Bool) async throws {
    let bytes = noise(6_000_000)
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(bytes)
    var wrong: [String] = []
    for _ in 0..<3 {
      let ends = Ends()
      let task = reference.getData(maxSize: .max) { data, error in
        ends.add(
          data != nil ? "whole \(data == bytes)" : "error \((error as? StorageError)?.code == .cancelled)")
        ends.add("end")
      }
      task.observe(.success) { _ in ends.add("success") }
      task.observe(.failure) { _ in ends.add("failure") }
      await race(task, cancelling: cancelling)
      await ends.wait(for: "end")
      let all = ends.all
      let isEnded = all.contains("whole true") || cancelling && all.contains("error true")
      if !isEnded || all.count(where: { $0 == "end" }) != 1 { wrong.append("\(all)") }
    }
    #expect(wrong == [])
  }

  @Test func concurrentControlOfAnUploadEndsItOnceAndCancelLeavesNothing() async throws {
    var wrong: [String] = []
    for round in 0..<3 {
      let ends = Ends()
      let reference = bucket.root.child("\(round)")
      let task = reference.putData(noise(9_000_000, seed: UInt64(round) + 1)) { metadata, error in
        ends.add(metadata != nil ? "whole" : "error \((error as? StorageError)?.code == .cancelled)")
        ends.add("end")
      }
      await race(task, cancelling: true)
      await ends.wait(for: "end")
      let all = ends.all
      if all != ["whole", "end"] && all != ["error true", "end"] { wrong.append("\(round): \(all)") }
    }
    #expect(wrong == [])
    // Closing the bucket waits for the removal of the staged parts.
    await bucket.restart()
    #expect(try await bucket.storage.pendingUploads().isEmpty)
    #expect(bucket.blobFiles.allSatisfy { !$0.hasPrefix("staged-") })
  }
}
