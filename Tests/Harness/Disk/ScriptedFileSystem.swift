// A file system that counts calls, and runs functions of the test before it opens, reads or syncs a file.

package import ByteStore

/// Another file system with functions that run between two calls, for races that must happen, and with calls
/// that fail.
package struct ScriptedFileSystem: FileSystem {
  private let base: any FileSystem
  package let hooks = Hooks()

  package init(base: any FileSystem) { self.base = base }

  /// The functions by call, such as `open MANIFEST` or `read log-0000000001`. Each runs once. Locks have the
  /// calls `lock`, `readerLock`, `mark`, `isShared`, `share` and `mayHaveWriter`.
  package final class Hooks: Sendable {
    package typealias Check = @Sendable (_ call: String) throws(SystemFailure) -> Void

    private let functions = Locked<[String: [@Sendable () -> Void]]>([:])
    private let counts = Locked<[String: Int]>([:])
    private let answers = Locked<[String: [Bool]]>([:])
    private let check = Locked<Check?>(nil)
    /// The number of bytes that were read from logs.
    package let bytesOfLogs = Locked(0)

    /// How often each call was made.
    package var calls: [String: Int] { counts.withLock { $0 } }

    /// The calls for locks and for the mark of the writer.
    package var callsOfLocks: [String: Int] { calls.filter { !$0.key.contains(" ") } }

    package func count(_ call: String) -> Int { calls[call, default: 0] }

    /// Gives the next calls of `mark` or `mayHaveWriter` these answers, instead of those of the system.
    package func answer(_ call: String, _ values: Bool...) {
      answers.withLock { $0[call, default: []] += values }
    }

    fileprivate func answer(to call: String) -> Bool? {
      answers.withLock { answers in
        guard answers[call]?.isEmpty == false else { return nil }
        return answers[call]?.removeFirst()
      }
    }

    /// Runs `body` before the next call of this kind; several functions run before one call each.
    package func before(_ call: String, _ body: @escaping @Sendable () -> Void) {
      functions.withLock { $0[call, default: []].append(body) }
    }

    /// Calls `check` before each open, read and sync of a file. If `check` throws, the call fails with that
    /// error. Nil ends that.
    package func checkFiles(_ check: Check?) {
      let old = self.check.withLock { current in
        defer { current = check }
        return current
      }
      // Released outside the lock, because it may hold the last reference to a store.
      withExtendedLifetime(old) {}
    }

    fileprivate func runOnFile(_ call: String) throws(SystemFailure) {
      run(call)
      if let check = check.withLock({ $0 }) { try check(call) }
    }

    fileprivate func run(_ call: String) {
      counts.withLock { $0[call, default: 0] += 1 }
      let body = functions.withLock { functions -> (@Sendable () -> Void)? in
        guard functions[call]?.isEmpty == false else { return nil }
        return functions[call]?.removeFirst()
      }
      body?()
    }

    /// Whether every function has run.
    package var areDone: Bool { functions.withLock { $0.values.allSatisfy(\.isEmpty) } }
  }

  package func createDirectory(_ path: String) throws(SystemFailure) { try base.createDirectory(path) }

  package func openDirectory(_ path: String) throws(SystemFailure) -> any OpenDirectory {
    ScriptedDirectory(base: try base.openDirectory(path), hooks: hooks)
  }
}

private struct ScriptedDirectory: OpenDirectory {
  let base: any OpenDirectory
  let hooks: ScriptedFileSystem.Hooks

  var path: String { base.path }

  func isAtItsPath() -> Bool { base.isAtItsPath() }

  func names() throws(SystemFailure) -> [String] { try base.names() }

  func kind(of name: String) throws(SystemFailure) -> EntryKind? { try base.kind(of: name) }

  func createFile(_ name: String) throws(SystemFailure) -> any OpenFile { try base.createFile(name) }

  func openFile(_ name: String, _ access: FileAccess) throws(SystemFailure) -> any OpenFile {
    try hooks.runOnFile("open \(name)")
    return ScriptedFile(base: try base.openFile(name, access), name: name, hooks: hooks)
  }

  func rename(_ name: String, to newName: String) throws(SystemFailure) {
    try base.rename(name, to: newName)
  }

  func remove(_ name: String) throws(SystemFailure) { try base.remove(name) }

  func sync() throws(SystemFailure) { try base.sync() }

  func durability() throws(SystemFailure) -> DurabilityReport { try base.durability() }

  func lock(_ name: String?, _ access: FileAccess) throws(SystemFailure) -> DirectoryLockResult {
    hooks.run("lock")
    return try base.lock(name, access)
  }

  func readerLock(_ name: String, _ access: FileAccess) throws(SystemFailure) -> (any ReaderLock)? {
    hooks.run("readerLock")
    return try base.readerLock(name, access).map { ScriptedReaderLock(base: $0, hooks: hooks) }
  }
}

private struct ScriptedReaderLock: ReaderLock {
  let base: any ReaderLock
  let hooks: ScriptedFileSystem.Hooks

  func set(_ mark: WriterMark) -> Bool {
    let call = mark == .isOpen ? "mark" : "markAppends"
    hooks.run(call)
    return hooks.answer(to: call) ?? base.set(mark)
  }

  func isShared() -> Bool {
    hooks.run("isShared")
    return base.isShared()
  }

  func share() -> Bool {
    hooks.run("share")
    return base.share()
  }

  func mayHave(_ mark: WriterMark) -> Bool {
    let call = mark == .isOpen ? "isOpen" : "mayHaveWriter"
    hooks.run(call)
    return hooks.answer(to: call) ?? base.mayHave(mark)
  }

  func release() { base.release() }
}

private struct ScriptedFile: OpenFile {
  let base: any OpenFile
  let name: String
  let hooks: ScriptedFileSystem.Hooks

  var path: String { base.path }

  func size() throws(SystemFailure) -> UInt64 { try base.size() }

  func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    try hooks.runOnFile("read \(name)")
    let count = try base.read(into: &buffer, at: offset)
    if name.hasPrefix("log-") { hooks.bytesOfLogs.withLock { $0 += count } }
    return count
  }

  func write(_ bytes: RawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    try base.write(bytes, at: offset)
  }

  func sync() throws(SystemFailure) {
    try hooks.runOnFile("sync \(name)")
    try base.sync()
  }

  func close() { base.close() }
}
