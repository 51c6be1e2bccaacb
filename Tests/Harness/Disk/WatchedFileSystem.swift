// A file system that counts what goes through it, and lets something happen before a read or a look at names.

package import ByteStore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

package final class WatchedFileSystem: FileSystem {
  package struct Counters: Sendable {
    /// By what stands before the number in a file's name: log, segment, checkpoint, MANIFEST, SPARE.
    package var bytesWritten: [String: UInt64] = [:]
    package var syncs = 0

    package var bytesWrittenInAll: UInt64 { bytesWritten.values.reduce(0, +) }
  }

  private struct State {
    var counters = Counters()
    /// By thread.
    var timeInSyncs: [UInt: Duration] = [:]
    /// Of the threads whose calls are timed together.
    var timedThreads: Set<UInt> = []
    var timedCalls = 0
    var timedSyncs = 0
    var timedSince = ContinuousClock.now
    var timeInTimedCalls = Duration.zero
    var beforeNextRead: (@Sendable () -> Void)?
    var beforeNextNames: (@Sendable () -> Void)?
  }

  private let base: any FileSystem
  private let state = Locked(State())

  package init(_ base: any FileSystem) { self.base = base }

  package var counters: Counters { state.withLock { $0.counters } }

  /// Runs `action` in the thread of the next read of a file, before it, once.
  package func beforeNextRead(_ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.beforeNextRead = action }
  }

  /// Runs `action` in the thread of the next look at the names of a folder, before it, once.
  package func beforeNextNames(_ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.beforeNextNames = action }
  }

  package func createDirectory(_ path: String) throws(SystemFailure) { try base.createDirectory(path) }

  package func openDirectory(_ path: String) throws(SystemFailure) -> any OpenDirectory {
    WatchedDirectory(try base.openDirectory(path), self)
  }

  fileprivate func willRead() { state.withLock { $0.beforeNextRead.take() }?() }
  fileprivate func willList() { state.withLock { $0.beforeNextNames.take() }?() }

  fileprivate func count(_ bytes: Int, of kind: String) {
    state.withLock { $0.counters.bytesWritten[kind, default: 0] += UInt64(bytes) }
  }

  /// How long the syncs took that the calling thread has asked for.
  package var timeInSyncsOfThisThread: Duration {
    state.withLock { $0.timeInSyncs[Self.thisThread, default: .zero] }
  }

  /// From now on the writes and syncs of the calling thread count for `timeInTimedCalls`.
  package func timeThisThread() { state.withLock { _ = $0.timedThreads.insert(Self.thisThread) } }

  /// For how long at least one of the timed threads was in a write or a sync, until now. Where one of them leads a group of
  /// commits, that is what the others wait for.
  package var timeInTimedCalls: Duration {
    state.withLock { state in
      state.timedCalls == 0
        ? state.timeInTimedCalls : state.timeInTimedCalls + (ContinuousClock.now - state.timedSince)
    }
  }

  /// How many syncs of the timed threads have ended.
  package var timedSyncs: Int { state.withLock { $0.timedSyncs } }

  fileprivate func timed<Result>(_ call: () throws(SystemFailure) -> Result) throws(SystemFailure) -> Result {
    let isTimed = state.withLock { state in
      guard state.timedThreads.contains(Self.thisThread) else { return false }
      if state.timedCalls == 0 { state.timedSince = .now }
      state.timedCalls += 1
      return true
    }
    defer {
      if isTimed {
        state.withLock { state in
          state.timedCalls -= 1
          if state.timedCalls == 0 { state.timeInTimedCalls += ContinuousClock.now - state.timedSince }
        }
      }
    }
    return try call()
  }

  fileprivate func countSync(_ sync: () throws(SystemFailure) -> Void) throws(SystemFailure) {
    let start = ContinuousClock.now
    defer {
      let took = ContinuousClock.now - start
      state.withLock { state in
        state.counters.syncs += 1
        state.timeInSyncs[Self.thisThread, default: .zero] += took
        if state.timedThreads.contains(Self.thisThread) { state.timedSyncs += 1 }
      }
    }
    try timed(sync)
  }

  private static var thisThread: UInt {
    #if canImport(Glibc)
    return pthread_self()
    #else
    return UInt(bitPattern: pthread_self())
    #endif
  }
}

private struct WatchedDirectory: OpenDirectory {
  private let base: any OpenDirectory
  private let watch: WatchedFileSystem

  init(_ base: any OpenDirectory, _ watch: WatchedFileSystem) {
    self.base = base
    self.watch = watch
  }

  var path: String { base.path }

  func names() throws(SystemFailure) -> [String] {
    watch.willList()
    return try base.names()
  }

  func durability() throws(SystemFailure) -> DurabilityReport { try base.durability() }

  func createFile(_ name: String) throws(SystemFailure) -> any OpenFile {
    WatchedFile(try base.createFile(name), name, watch)
  }

  func openFile(_ name: String, _ access: FileAccess) throws(SystemFailure) -> any OpenFile {
    WatchedFile(try base.openFile(name, access), name, watch)
  }

  func rename(_ name: String, to newName: String) throws(SystemFailure) { try base.rename(name, to: newName) }
  func remove(_ name: String) throws(SystemFailure) { try base.remove(name) }

  func sync() throws(SystemFailure) {
    try watch.countSync { () throws(SystemFailure) in try base.sync() }
  }

  func lock(_ name: String, _ access: FileAccess) throws(SystemFailure) -> DirectoryLockResult {
    try base.lock(name, access)
  }
}

private struct WatchedFile: OpenFile {
  private let base: any OpenFile
  private let kind: String
  private let watch: WatchedFileSystem

  init(_ base: any OpenFile, _ name: String, _ watch: WatchedFileSystem) {
    self.base = base
    kind = String(name.prefix { $0 != "-" && $0 != "." })
    self.watch = watch
  }

  var path: String { base.path }
  func size() throws(SystemFailure) -> UInt64 { try base.size() }

  func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    watch.willRead()
    return try base.read(into: &buffer, at: offset)
  }

  func write(_ bytes: RawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    let taken = try watch.timed { () throws(SystemFailure) in try base.write(bytes, at: offset) }
    watch.count(taken, of: kind)
    return taken
  }

  func sync() throws(SystemFailure) {
    try watch.countSync { () throws(SystemFailure) in try base.sync() }
  }

  func startWriting(_ range: Range<UInt64>) { base.startWriting(range) }

  func startReading(_ range: Range<UInt64>) { base.startReading(range) }

  func close() { base.close() }
}
