// The lock of a directory on a real file system. On many of them, ext4 among these, a new file gets the number of one that is
// gone; on others nothing here can fail.

import Foundation
import Harness
import Testing

@testable import ByteStore

@Suite struct DirectoryLockTests {
  /// The story: a store was closed by one thread when its directory was gone already; another thread's new store, whose
  /// directory or file had got the number of that one, was told that its own process had it open.
  @Test func directoriesThatComeAndGoAreNeverTakenForEachOther() throws {
    let folder = NSTemporaryDirectory() + "dugout-locks-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let failures = Locked<[String]>([])
    let threads = (0..<4).map { thread in
      WorkerThread {
        for number in 0..<500 {
          do {
            try Self.comeAndGo("\(folder)/\(thread)-\(number)")
          } catch {
            failures.withLock { $0.append("\(error)") }
          }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(failures.withLock { $0 } == [])
  }

  /// A longer number that was there before does not show through, whatever else the file had.
  @Test(arguments: ["", "4000000000\nand more", String(repeating: "7", count: 5000)])
  func theHolderIsTheOneWhoHasItNow(before: String) throws {
    let folder = NSTemporaryDirectory() + "dugout-locks-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try Data(before.utf8).write(to: URL(fileURLWithPath: "\(folder)/LOCK"))
    let directory = try PosixFileSystem().openDirectory(folder)
    guard case .acquired(let lock) = try directory.lock("LOCK", .readAndWrite) else {
      return #expect(Bool(false), "nobody else has it")
    }
    defer { lock.release() }
    let text = try String(contentsOfFile: "\(folder)/LOCK", encoding: .utf8)
    #expect(text.split(separator: "\n").first == "\(getpid())")
    // A whole block.
    #expect(text.utf8.count == max(4096, before.utf8.count))
  }

  private struct Held: Error { var holder: Int32? }

  private static func comeAndGo(_ path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    let result = try PosixFileSystem().openDirectory(path).lock("LOCK", .readAndWrite)
    guard case .acquired(let lock) = result else {
      guard case .held(let holder) = result else { return }
      throw Held(holder: holder)
    }
    try FileManager.default.removeItem(atPath: path)
    lock.release()
  }
}
