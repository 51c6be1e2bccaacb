// A process that forks: the child has copies of all state and must use none of it.

#if os(Linux)
import Foundation
import Harness
import Libc
import Testing

@testable import ByteStore

@Suite struct ForkTests {
  /// The findings of the child, one bit each.
  private struct Answers: OptionSet {
    let rawValue: Int32
    static let commitRefused = Answers(rawValue: 1)
    static let enqueueRefused = Answers(rawValue: 2)
    static let readRefused = Answers(rawValue: 4)
    static let flushRefused = Answers(rawValue: 8)
    static let skipsMaintenance = Answers(rawValue: 16)
    static let parentHoldsTheLock = Answers(rawValue: 32)
    static let all = Answers(rawValue: 63)
  }

  /// Regression: in a child, the list of locks claimed that the child held its parent's locks. `enqueue`
  /// and `finish`, called separately, wrote to the parent's log.
  @Test func forkedChildIsRefusedAndSeesTheParentsLock() throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-fork-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var options = ByteStore.Options()
    options.maintenance = .manual
    let store = try ByteStore.open(folder, options: options)
    try store.put([1], for: "key")
    let parent = getpid()
    let half = try store.enqueue(Batch())
    let answers = try ForkedChild.result {
      var answers = Answers()
      let forked = ByteStoreError.forked(directory: folder)
      if error({ () throws(ByteStoreError) in try store.put([2], for: "key") }) == forked {
        answers.insert(.commitRefused)
      }
      if error({ () throws(ByteStoreError) in _ = try store.enqueue(Batch()) }) == forked,
        error({ () throws(ByteStoreError) in try store.finish(half) }) == forked
      {
        answers.insert(.enqueueRefused)
      }
      if error({ () throws(ByteStoreError) in _ = try store.value(for: "key") }) == forked {
        answers.insert(.readRefused)
      }
      if error({ () throws(ByteStoreError) in try store.flush() }) == forked { answers.insert(.flushRefused) }
      if !store.performMaintenance() { answers.insert(.skipsMaintenance) }
      let held = error { () throws(ByteStoreError) in _ = try ByteStore.open(folder, options: options) }
      if held == .locked(directory: folder, holder: parent) { answers.insert(.parentHoldsTheLock) }
      try? store.close()
      return answers.rawValue
    }
    #expect(Answers(rawValue: answers) == .all)
    try store.finish(half)
    #expect(try store.value(for: "key") == [1])
    try store.close()
  }

  /// After the parent has closed the store, a child may open it again.
  @Test func forkedChildMayOpenAStoreThatItsParentClosed() throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-fork-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var options = ByteStore.Options()
    options.maintenance = .manual
    let store = try ByteStore.open(folder, options: options)
    try store.put([1], for: "key")
    try store.close()
    // Like `ForkedChild.result`, but the child is forked before the store is closed.
    for _ in 0..<20 {
      let store = try ByteStore.open(folder, options: options)
      var pipes: [Int32] = [0, 0]
      try #require(pipe(&pipes) == 0)
      let child = try ForkedChild.start {
        var byte: UInt8 = 0
        // Waits for the parent's signal.
        _ = read(pipes[0], &byte, 1)
        guard let mine = try? ByteStore.open(folder, options: options) else { return 1 }
        let value = try? mine.value(for: "key")
        try? mine.close()
        return value == [1] ? 0 : 2
      }
      try store.close()
      var byte: UInt8 = 1
      _ = write(pipes[1], &byte, 1)
      close(pipes[0])
      close(pipes[1])
      guard let status = ForkedChild.wait(for: child) else { continue }
      try #require(status == 0)
      return
    }
    throw POSIXError(.ETIMEDOUT)
  }

  /// A child has a copy of the file with its parent's mark. It cannot remove the mark, and does not keep it.
  @Test func onlyTheParentRemovesItsMark() throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-fork-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let directory = try PosixFileSystem().openDirectory(folder)
    let lock = try #require(try directory.readerLock("READERS", .readAndWrite))
    let reader = try #require(try directory.readerLock("READERS", .read))
    #expect(lock.set(.isOpen) && lock.set(.appends))
    let status = try ForkedChild.result {
      lock.release()
      return 0
    }
    #expect(status == 0 && reader.mayHave(.isOpen) && reader.mayHave(.appends))
    var pipes: [Int32] = [0, 0]
    try #require(pipe(&pipes) == 0)
    let child = try ForkedChild.start {
      var byte: UInt8 = 0
      // Waits for the parent's signal.
      return read(pipes[0], &byte, 1) == 1 ? 0 : 1
    }
    lock.release()
    #expect(!reader.mayHave(.isOpen) && !reader.mayHave(.appends), "the child is still alive")
    var byte: UInt8 = 1
    _ = write(pipes[1], &byte, 1)
    _ = ForkedChild.wait(for: child)
    close(pipes[0])
    close(pipes[1])
  }

  /// The umask belongs to the process. In a child, changing it does not affect other tests.
  @Test(arguments: [0, 0o077, 0o277, 0o777] as [mode_t])
  func filesArePrivateWithAnyUmask(mask: mode_t) throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-mask-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let result = try ForkedChild.result {
      umask(mask)
      var options = ByteStore.Options()
      options.maintenance = .manual
      guard let store = try? ByteStore.open("\(folder)/store", options: options) else { return 1 }
      guard (try? store.put([1], for: "key")) != nil, (try? store.flush()) != nil, (try? store.close()) != nil
      else { return 2 }
      return 0
    }
    #expect(result == 0)
    func mode(_ path: String) throws -> mode_t {
      var status = stat()
      try #require(lstat(path, &status) == 0)
      return status.st_mode & 0o7777
    }
    #expect(try mode(folder) == 0o700)
    #expect(try mode("\(folder)/store") == 0o700)
    let names = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/store")
    #expect(names.contains("LOCK") && names.count >= 5)
    #expect(try names.filter { try mode("\(folder)/store/\($0)") != 0o600 } == [])
  }

  private func error(_ body: () throws(ByteStoreError) -> Void) -> ByteStoreError? {
    do throws(ByteStoreError) {
      try body()
      return nil
    } catch {
      return error
    }
  }
}
#endif
