// Uploads that are resumed after a restart of the process.

import FirebaseStorage
import Foundation
import Testing

struct ResumeTests {
  private let bucket = TestBucket()

  /// Pauses an upload with a staged part, and then restarts the app.
  private func leaveUpload(of url: URL, to name: String) async throws {
    let task = bucket.root.child(name).putFile(from: url)
    await withCheckedContinuation { done in
      let once = Once(done)
      task.observe(.progress) { _ in
        task.pause()
        once.resume()
      }
    }
    await bucket.restart()
  }

  private final class Once: @unchecked Sendable {
    private var continuation: CheckedContinuation<Void, Never>?
    private let lock = NSLock()
    init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }
    func resume() {
      lock.lock()
      defer { lock.unlock() }
      continuation?.resume()
      continuation = nil
    }
  }

  @Test func aPausedUploadIsListedAfterARestartAndResumes() async throws {
    let bytes = noise(40_000_000)
    let url = try bucket.file("source.bin", bytes)
    try await leaveUpload(of: url, to: "a")
    let pending = try #require(try await bucket.storage.pendingUploads().first)
    #expect(pending.reference == bucket.root.child("a"))
    #expect(pending.fileURL?.lastPathComponent == "source.bin")
    #expect(pending.totalByteCount == 40_000_000)
    #expect(!pending.isActive)
    #expect(bucket.blobFiles.filter { $0.hasPrefix("staged-") }.count == 1)
    let task = try #require(pending.resume())
    let metadata = try await withCheckedThrowingContinuation { done in
      task.observe(.success) { done.resume(returning: $0.metadata) }
      task.observe(.failure) { done.resume(throwing: $0.error ?? NothingThrown()) }
    }
    #expect(metadata?.size == 40_000_000)
    #expect(try await bucket.root.child("a").data(maxSize: .max) == bytes)
    #expect(try await bucket.storage.pendingUploads().isEmpty)
    #expect(bucket.blobFiles.filter { $0.hasPrefix("staged-") }.isEmpty)
  }

  @Test func aPausedUploadCanBeCancelledAfterARestart() async throws {
    let url = try bucket.file("source.bin", noise(40_000_000))
    try await leaveUpload(of: url, to: "a")
    let pending = try #require(try await bucket.storage.pendingUploads().first)
    #expect(try await pending.cancel())
    #expect(try await bucket.storage.pendingUploads().isEmpty)
    #expect(bucket.blobFiles.filter { $0.hasPrefix("staged-") }.isEmpty)
  }

  @Test func aSourceChangedDuringAPauseFailsTheUploadAndLeavesNothing() async throws {
    let reference = bucket.root.child("a")
    _ = try await reference.putDataAsync(Data("before".utf8))
    let url = try bucket.file("source.bin", noise(24_000_000))
    let task = reference.putFile(from: url)
    await withCheckedContinuation { done in
      let once = Once(done)
      task.observe(.progress) { _ in
        task.pause()
        once.resume()
      }
    }
    // If the observers remained, they would pause the task again.
    task.removeAllObservers()
    try noise(24_000_000, seed: 2).write(to: url)
    let error: (any Error)? = await withCheckedContinuation { done in
      task.observe(.success) { done.resume(returning: $0.error) }
      task.observe(.failure) { done.resume(returning: $0.error) }
      task.resume()
    }
    let failure = try #require(error as? StorageError)
    #expect(failure.code == .unknown && failure.localizedDescription.contains("was changed"))
    #expect(try await reference.data(maxSize: .max) == Data("before".utf8))
    #expect(try await bucket.storage.pendingUploads().isEmpty)
    #expect(bucket.blobFiles.allSatisfy { !$0.hasPrefix("staged-") && !$0.hasPrefix("blob-") })
  }

  @Test func aChangedSourceFileIsUploadedFromTheStart() async throws {
    let url = try bucket.file("source.bin", noise(40_000_000))
    try await leaveUpload(of: url, to: "a")
    let changed = noise(2_000_000, seed: 9)
    try changed.write(to: url)
    let metadata = try await bucket.root.child("a").putFileAsync(from: url)
    #expect(metadata.size == 2_000_000)
    #expect(try await bucket.root.child("a").data(maxSize: .max) == changed)
  }
}
