// The directory lock on a real file system.
//
// On many file systems, such as ext4, a new file gets the inode number of a deleted file. On other file
// systems, these tests cannot fail.

import Foundation
import Harness
import Testing

@testable import ByteStore

@Suite struct DirectoryLockTests {
  /// Regression: one thread closed a store whose directory had already been deleted. Another thread's new
  /// store got the inode number of that directory and was refused as already open in this process.
  @Test func reusedInodeNumbersDoNotConfuseLocks() throws {
    let folder = NSTemporaryDirectory() + "dugout-locks-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let failures = Locked<[String]>([])
    let threads = (0..<4).map { thread in
      WorkerThread {
        for number in 0..<500 {
          do {
            try Self.lockAndDelete("\(folder)/\(thread)-\(number)")
          } catch {
            failures.withLock { $0.append("\(error)") }
          }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(failures.withLock { $0 } == [])
  }

  /// A longer process id that was in the file before does not remain visible, whatever else the file
  /// contained.
  @Test(arguments: ["", "4000000000\nand more", String(repeating: "7", count: 5000)])
  func lockFileNamesTheCurrentHolder(before: String) throws {
    let folder = NSTemporaryDirectory() + "dugout-locks-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try Data(before.utf8).write(to: URL(fileURLWithPath: "\(folder)/LOCK"))
    let directory = try PosixFileSystem().openDirectory(folder)
    guard case .acquired(let lock) = try directory.lock("LOCK", .readAndWrite) else {
      return #expect(Bool(false), "no other process has it")
    }
    defer { lock.release() }
    let text = try String(contentsOfFile: "\(folder)/LOCK", encoding: .utf8)
    #expect(text.split(separator: "\n").first == "\(getpid())")
    // The file contains a whole block.
    #expect(text.utf8.count == max(4096, before.utf8.count))
  }

  /// A reader writes nothing, neither into the lock file nor into the directory, and still excludes writers.
  @Test(arguments: [nil, "4000000000\n"]) func readersLockWithoutWriting(lockFile: String?) throws {
    let folder = NSTemporaryDirectory() + "dugout-locks-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    if let lockFile { try Data(lockFile.utf8).write(to: URL(fileURLWithPath: "\(folder)/LOCK")) }
    let directory = try PosixFileSystem().openDirectory(folder)
    guard case .acquired(let lock) = try directory.lock("LOCK", .read) else {
      return #expect(Bool(false), "no other process has it")
    }
    guard case .held(let holder) = try directory.lock("LOCK", .readAndWrite) else {
      return #expect(Bool(false), "the reader has it")
    }
    #expect(holder == getpid())
    #expect(try directory.names() == (lockFile == nil ? [] : ["LOCK"]))
    let left = FileManager.default.contents(atPath: "\(folder)/LOCK")
    #expect(left.map { String(decoding: $0, as: UTF8.self) } == lockFile)
    lock.release()
    guard case .acquired = try directory.lock("LOCK", .readAndWrite) else {
      return #expect(Bool(false), "the reader has released it")
    }
  }

  private struct Held: Error { var holder: Int32? }

  private static func lockAndDelete(_ path: String) throws {
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
