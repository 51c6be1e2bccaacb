// What campaigns stand on when they say how long the disk made somebody wait.

import Foundation
import Harness
import Testing

@testable import ByteStore

@Suite struct WatchedFileSystemTests {
  private static let bytes: [UInt8] = [1, 2, 3]

  @Test func onlyWritesAndSyncsOfTimedThreadsAreTimed() throws {
    let path = NSTemporaryDirectory() + "dugout-watched-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let watched = WatchedFileSystem(PosixFileSystem())
    try watched.createDirectory(path)
    let file = try watched.openDirectory(path).createFile("file")
    defer { file.close() }
    @Sendable func use() throws {
      _ = try file.write(Self.bytes.rawSpan, at: 0)
      try file.sync()
    }
    try use()
    #expect(watched.timeInTimedCalls == .zero)
    watched.timeThisThread()
    try use()
    let own = watched.timeInTimedCalls
    #expect(own > .zero)
    let failed = Locked(false)
    WorkerThread { if (try? use()) == nil { failed.withLock { $0 = true } } }.join()
    #expect(watched.timeInTimedCalls == own)
    #expect(failed.withLock { !$0 })
    _ = try file.size()
    #expect(watched.timeInTimedCalls == own)
  }
}
