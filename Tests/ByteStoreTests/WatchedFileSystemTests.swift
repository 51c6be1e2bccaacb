// Tests of how campaigns measure the time for which commits wait for the disk.

import Foundation
import Testing

@testable import ByteStore
@testable import Harness

@Suite struct WatchedFileSystemTests {
  private static let bytes: [UInt8] = [1, 2, 3]

  private static func withWatched(_ body: (WatchedFileSystem, any OpenDirectory) throws -> Void) throws {
    let path = NSTemporaryDirectory() + "dugout-watched-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let watched = WatchedFileSystem(PosixFileSystem())
    try watched.createDirectory(path)
    try body(watched, try watched.openDirectory(path))
  }

  private static func writeAndSync(_ name: String, in directory: any OpenDirectory) throws {
    let file = try directory.createFile(name)
    defer { file.close() }
    _ = try file.write(bytes.rawSpan, at: 0)
    try file.sync()
  }

  /// Creates a log as a rotation does when there is no recycled log file.
  private static func createLog(in directory: any OpenDirectory) throws -> String {
    try writeAndSync("log-1", in: directory)
    try directory.sync()
    try writeAndSync("MANIFEST.new", in: directory)
    try directory.rename("MANIFEST.new", to: "MANIFEST")
    try directory.sync()
    return "log-1"
  }

  @Test func commitsWaitForLogWritesAndSyncs() throws {
    try Self.withWatched { watched, directory in
      let start = ContinuousClock.now
      try Self.writeAndSync("segment-1", in: directory)
      #expect(watched.blocked(since: start, until: .now).calls.isEmpty)
      watched.followThisThread()
      try Self.writeAndSync("segment-2", in: directory)
      #expect(watched.blocked(since: start, until: .now).calls.isEmpty)
      let log = try directory.openFile(try Self.createLog(in: directory), .readAndWrite)
      defer { log.close() }
      let creationCallCount = watched.blocked(since: start, until: .now).calls.count
      _ = try log.write(Self.bytes.rawSpan, at: 0)
      try log.sync()
      let own = watched.blocked(since: start, until: .now)
      #expect(own.calls.dropFirst(creationCallCount).map(\.isSync) == [false, true])
      #expect(
        own.calls.dropFirst(creationCallCount).allSatisfy { !$0.isPartOfRotation } && own.duration > .zero)
      let hasFailed = Locked(false)
      WorkerThread {
        do { try Self.writeAndSync("segment-3", in: directory) } catch { hasFailed.withLock { $0 = true } }
      }.join()
      #expect(hasFailed.withLock { !$0 })
      #expect(watched.blocked(since: start, until: .now).calls.count == own.calls.count)
      #expect(watched.blocked(since: .now, until: .now).calls.isEmpty)
    }
  }

  /// Commits wait for the calls of a flush during its turn, but not for its calls in parallel to commits.
  @Test func commitsWaitForRotationAndManifest() throws {
    try Self.withWatched { watched, directory in
      let start = ContinuousClock.now
      func kinds() -> [String] { watched.blocked(since: start, until: .now).calls.map(\.kind) }
      try Self.writeAndSync("SPARE", in: directory)
      try directory.sync()
      #expect(kinds().isEmpty)
      try directory.rename("SPARE", to: "log-1")
      try directory.sync()
      try Self.writeAndSync("MANIFEST.new", in: directory)
      try directory.rename("MANIFEST.new", to: "MANIFEST")
      try directory.sync()
      let turn = ["directory", "MANIFEST", "MANIFEST", "directory"]
      #expect(kinds() == turn)
      try Self.writeAndSync("checkpoint-1", in: directory)
      try directory.sync()
      try directory.rename("log-1", to: "SPARE")
      #expect(kinds() == turn)
    }
  }

  /// Filling a log during a rotation does not count as waiting for the disk.
  @Test func zeroFillInARotationDoesNotCount() throws {
    try Self.withWatched { watched, directory in
      let start = ContinuousClock.now
      func calls() -> [BlockingCalls.Call] { watched.blocked(since: start, until: .now).calls }
      try Self.writeAndSync("log-1", in: directory)
      #expect(calls().map(\.isSync) == [true])
      #expect(throws: SystemFailure.self) { try directory.rename("nothing", to: "MANIFEST") }
      try Self.writeAndSync("segment-1", in: directory)
      try directory.sync()
      #expect(calls().count == 1)
    }
  }

  @Test func commitWaitCountsOverlapsOnce() {
    var blocking = BlockingCalls()
    blocking.follow(1)
    let start = ContinuousClock.now
    func end(_ kind: String, _ from: Int, _ to: Int, isSync: Bool = true, by thread: UInt = 1) {
      blocking.ended(
        kind, isSync: isSync, by: thread, since: start + .milliseconds(from), at: start + .milliseconds(to))
    }
    end("log", -9, -1)
    // These calls belong to the group in progress, to the flush's turn, to the commit's own group, and to the
    // next group.
    end("log", -5, 3)
    blocking.willRename("MANIFEST", by: 2)
    end("MANIFEST", 2, 6, by: 2)
    blocking.willRename("MANIFEST", by: 2, isManifestInPlace: true)
    end("directory", 6, 7, by: 2)
    end("segment", 7, 20, by: 2)
    end("log", 20, 21, isSync: false)
    end("log", 21, 30)
    end("log", 31, 60)
    let blocked = blocking.ended(since: start, until: start + .milliseconds(70))
    #expect(blocked.calls.map(\.kind) == ["log", "MANIFEST", "directory", "log", "log"])
    #expect(blocked.duration == .milliseconds(17) && blocked.longestSync == .milliseconds(9))
    #expect(blocked.syncs == 4)
    let early = blocking.ended(since: start, until: start + .milliseconds(29))
    #expect(early.calls.count == 4 && early.duration == .milliseconds(8))
    let late = blocking.ended(since: start + .milliseconds(4), until: start + .milliseconds(70))
    #expect(late.duration == .milliseconds(42))
  }
}
