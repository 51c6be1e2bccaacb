// Readers beside a writer that recycles logs and deletes files during an open.

import Harness
import Testing

@testable import ByteStore

private func options(isReader: Bool = false) -> ByteStore.Options {
  var options = ByteStore.Options()
  // With these limits, the next log is never larger than the last one, so that logs are recycled.
  options.logBytesMin = 64 << 10
  options.logBytesMax = 64 << 10
  options.maintenance = .manual
  options.isReader = isReader
  return options
}

private func fill(_ store: ByteStore, _ keys: Range<Int>) throws {
  for number in keys {
    try store.put([UInt8](repeating: UInt8(number % 251), count: 900), for: "key \(number)")
  }
}

@Suite struct ReaderLockTests {
  @Test func logsAreRecycledOnlyWhileThereIsNoReader() throws {
    let directory = TemporaryDirectory()
    let store = try ByteStore.open(directory.path, options: options())
    try fill(store, 0..<200)
    let reader = try ByteStore.open(directory.path, options: options(isReader: true))
    try store.flush()
    #expect(try !directory.names.contains("SPARE"), "the reader may still read the log")
    #expect(try reader.value(for: "key 3") == [UInt8](repeating: 3, count: 900))
    try reader.close()
    try fill(store, 0..<200)
    try store.flush()
    #expect(try directory.names.contains("SPARE"))
    try store.close()
  }

  @Test func aReaderNoticesThatTheWriterHasEnded() throws {
    let directory = TemporaryDirectory()
    let store = try ByteStore.open(directory.path, options: options())
    try fill(store, 0..<20)
    let reader = try ByteStore.open(directory.path, options: options(isReader: true))
    #expect(reader.count == 19, "no later frame records the sync of the last commit")
    store.abandon()
    guard case .commits(let commits) = try reader.follow() else {
      Issue.record("nothing was flushed")
      return
    }
    #expect(commits.count == 1)
    try reader.close()
  }

  /// The next writer has recovered the commits, and its log does not say so before its first commit.
  @Test func readersShowNoLessOnceTheNextWriterHasOpenedTheStore() throws {
    let directory = TemporaryDirectory()
    let store = try ByteStore.open(directory.path, options: options())
    try fill(store, 0..<20)
    store.abandon()
    let first = try ByteStore.open(directory.path, options: options(isReader: true))
    #expect(first.count == 20)
    let next = try ByteStore.open(directory.path, options: options())
    let second = try ByteStore.open(directory.path, options: options(isReader: true))
    #expect(second.count == 20)
    try fill(next, 20..<22)
    for reader in [first, second] {
      guard case .commits(let commits) = try reader.follow() else {
        Issue.record("nothing was flushed")
        return
      }
      #expect(commits.count == 1, "the sync of the last commit is not recorded")
      try reader.close()
    }
    try next.close()
  }

  @Test func aReaderWorksWithoutTheLockFile() throws {
    let directory = TemporaryDirectory()
    let store = try ByteStore.open(directory.path, options: options())
    try fill(store, 0..<20)
    try store.close()
    let folder = try PosixFileSystem().openDirectory(directory.path)
    try folder.remove("READERS")
    let before = try directory.contents()
    let reader = try ByteStore.open(directory.path, options: options(isReader: true))
    #expect(reader.count == 20)
    #expect(try directory.contents() == before)
    try reader.close()
  }

  /// A reader whose lock the writer cannot see, as on another mount of the disk, reads from a log while the
  /// writer overwrites it with zeros and writes the commits of a later log into it.
  @Test func framesOfARecycledLogAreNotMistakenForNewOnes() throws {
    let machine = TestStore()
    let store = try ByteStore.open(
      TestStore.path, options: options(), platform: machine.disk.platform(seed: 1))
    try fill(store, 0..<20)
    while store.performMaintenance() {}
    let reader = try ByteStore.open(
      TestStore.path, options: options(isReader: true), platform: machine.disk.platform(seed: 2))
    #expect(reader.count == 20)
    for round in 1..<20 {
      try fill(store, 0..<20 + 10 * round)
      try store.flush()
    }
    #expect(machine.disk.image.paths.contains("/store/SPARE"), "the log was recycled")
    guard case .mustReopen = try reader.follow() else {
      Issue.record("the reader did not notice that its log is gone")
      return
    }
    #expect(reader.count == 20)
  }

  // MARK: Changes during an open

  /// The writer flushes, which deletes files that the manifest named, between two calls of the reader.
  @Test(arguments: 0..<24) func anOpenStartsAgainAfterAFlush(call: Int) throws {
    let machine = TestStore()
    let store = try ByteStore.open(
      TestStore.path, options: options(), platform: machine.disk.platform(seed: 1))
    try fill(store, 0..<60)
    try store.flush()
    try fill(store, 60..<100)
    while store.performMaintenance() {}
    var platform = machine.disk.platform(seed: 2)
    let hook = HookedFileSystem(machine.disk, before: call) {
      try? fill(store, 100..<150)
      try? store.flush(.everything)
      try? fill(store, 150..<160)
      while store.performMaintenance() {}
    }
    platform.fileSystem = hook
    let reader = try ByteStore.open(TestStore.path, options: options(isReader: true), platform: platform)
    let expected = hook.hasRun ? [100, 160] : [100]
    #expect(expected.contains(reader.count))
    let found = try (0..<reader.count).filter { try reader.value(for: "key \($0)")?.count == 900 }
    #expect(found.count == reader.count)
    try reader.close()
    try store.close()
  }

  @Test func aMissingFileOfAManifestThatStaysIsDamage() throws {
    let machine = TestStore()
    let store = try machine.open()
    try fill(store, 0..<60)
    try store.flush()
    try store.close()
    let directory = try machine.disk.openDirectory(TestStore.path)
    let name = try #require(try directory.names().first { $0.hasPrefix("segment-") })
    try directory.remove(name)
    let error = try storeError { () throws(ByteStoreError) in
      _ = try ByteStore.open(
        TestStore.path, options: options(isReader: true), platform: machine.disk.platform(seed: 2))
    }
    #expect(error.isDamage, "\(error)")
  }
}

/// A file system that calls a closure once, before one of the calls that open or read a file.
private final class HookedFileSystem: FileSystem {
  private struct State {
    var callsLeft: Int
    var hook: (@Sendable () -> Void)?
  }

  private let base: any FileSystem
  private let state: Locked<State>

  init(_ base: any FileSystem, before call: Int, _ hook: @escaping @Sendable () -> Void) {
    self.base = base
    state = Locked(State(callsLeft: call, hook: hook))
  }

  var hasRun: Bool { state.withLock { $0.hook == nil } }

  fileprivate func willCall() {
    let hook = state.withLock { state -> (@Sendable () -> Void)? in
      state.callsLeft -= 1
      guard state.callsLeft < 0 else { return nil }
      defer { state.hook = nil }
      return state.hook
    }
    hook?()
  }

  func createDirectory(_ path: String) throws(SystemFailure) { try base.createDirectory(path) }

  func openDirectory(_ path: String) throws(SystemFailure) -> any OpenDirectory {
    HookedDirectory(base: try base.openDirectory(path), hooks: self)
  }
}

private struct HookedDirectory: OpenDirectory {
  let base: any OpenDirectory
  let hooks: HookedFileSystem

  var path: String { base.path }
  func names() throws(SystemFailure) -> [String] { try base.names() }
  func kind(of name: String) throws(SystemFailure) -> EntryKind? { try base.kind(of: name) }
  func createFile(_ name: String) throws(SystemFailure) -> any OpenFile { try base.createFile(name) }

  func openFile(_ name: String, _ access: FileAccess) throws(SystemFailure) -> any OpenFile {
    hooks.willCall()
    return HookedFile(base: try base.openFile(name, access), hooks: hooks)
  }

  func rename(_ name: String, to newName: String) throws(SystemFailure) {
    try base.rename(name, to: newName)
  }

  func remove(_ name: String) throws(SystemFailure) { try base.remove(name) }
  func sync() throws(SystemFailure) { try base.sync() }
  func durability() throws(SystemFailure) -> DurabilityReport { try base.durability() }

  func lock(_ name: String?, _ access: FileAccess) throws(SystemFailure) -> DirectoryLockResult {
    try base.lock(name, access)
  }
}

private struct HookedFile: OpenFile {
  let base: any OpenFile
  let hooks: HookedFileSystem

  var path: String { base.path }
  func size() throws(SystemFailure) -> UInt64 { try base.size() }

  func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    hooks.willCall()
    return try base.read(into: &buffer, at: offset)
  }

  func write(_ bytes: RawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    try base.write(bytes, at: offset)
  }

  func sync() throws(SystemFailure) { try base.sync() }
  func close() { base.close() }
}
