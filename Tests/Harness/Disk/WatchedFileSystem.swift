// A file system that counts all calls, can run an action before a read or a directory listing, and reports
// when all locks are released.

package import ByteStore
import Libc

package final class WatchedFileSystem: FileSystem {
  package struct Counters: Sendable {
    /// The numbers of bytes written, by the part of the file name before the number: log, segment,
    /// checkpoint, MANIFEST, SPARE.
    package var bytesWritten: [String: UInt64] = [:]
    package var syncs = 0
    /// The number of reads since `countWaits()` that would have waited for the disk if the page cache had
    /// been empty at that call.
    package var waitsForReads = 0

    package var totalBytesWritten: UInt64 { bytesWritten.values.reduce(0, +) }
  }

  private struct State {
    var counters = Counters()
    /// Nil unless waits are counted.
    var pages: PagesRead?
    /// The total time that each thread has spent in syncs.
    var timeInSyncs: [UInt: Duration] = [:]
    var blocking = BlockingCalls()
    var beforeNextRead: (@Sendable () -> Void)?
    var beforeNextListing: (@Sendable () -> Void)?
    var locksHeld = 0
  }

  private let base: any FileSystem
  private let state = Locked(State())
  private let unlocked = Signal()

  package init(_ base: any FileSystem) { self.base = base }

  package var counters: Counters {
    state.withLock { state in
      var counters = state.counters
      counters.waitsForReads = state.pages?.waits ?? 0
      return counters
    }
  }

  /// Starts counting waits, which takes memory for each page that is read.
  package func countWaits() { state.withLock { $0.pages = PagesRead() } }

  /// Runs `action` once before the next read of a file, on the reading thread.
  package func beforeNextRead(_ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.beforeNextRead = action }
  }

  /// Runs `action` once before the next directory listing, on the listing thread.
  package func beforeNextListing(_ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.beforeNextListing = action }
  }

  /// Blocks until all locks of directories are released. Returns false after the timeout. Only one thread at
  /// a time may wait.
  package func waitUntilUnlocked(seconds: UInt64) -> Bool {
    state.withLock(wokenBy: unlocked, within: seconds * 1_000_000_000, when: { $0.locksHeld == 0 }) {
      $0.locksHeld == 0
    }
  }

  fileprivate func didLock() { state.withLock { $0.locksHeld += 1 } }

  fileprivate func didUnlock() {
    state.withLock { $0.locksHeld -= 1 }
    unlocked.wake()
  }

  package func createDirectory(_ path: String) throws(SystemFailure) { try base.createDirectory(path) }

  package func openDirectory(_ path: String) throws(SystemFailure) -> any OpenDirectory {
    WatchedDirectory(try base.openDirectory(path), self)
  }

  fileprivate func willRead(_ range: Range<UInt64>, of file: String) {
    state.withLock { state in
      state.pages?.read(range, of: file)
      return state.beforeNextRead.take()
    }?()
  }

  fileprivate func prefetch(for range: Range<UInt64>, of file: String) {
    state.withLock { $0.pages?.prefetch(for: range, of: file) }
  }

  fileprivate func didWrite(_ range: Range<UInt64>, of file: String) {
    state.withLock { $0.pages?.write(range, of: file) }
  }

  fileprivate func willList() { state.withLock { $0.beforeNextListing.take() }?() }

  fileprivate func count(_ bytes: Int, of kind: String) {
    state.withLock { $0.counters.bytesWritten[kind, default: 0] += UInt64(bytes) }
  }

  /// The total time of the syncs that the calling thread requested.
  package var timeInSyncsOfThisThread: Duration {
    state.withLock { $0.timeInSyncs[Self.thisThread, default: .zero] }
  }

  /// From now on, counts the writes and syncs of the calling thread as calls that commits wait for.
  package func followThisThread() { state.withLock { $0.blocking.follow(Self.thisThread) } }

  /// Returns the calls that may have delayed a commit that ran from `start` to `end` (`BlockingCalls`).
  package func blocked(
    since start: ContinuousClock.Instant, until end: ContinuousClock.Instant
  ) -> BlockedTime {
    state.withLock { $0.blocking.ended(since: start, until: end) }
  }

  /// Runs `body`, which gives a file a name. This call may begin a rotation.
  fileprivate func name<Result>(
    _ kind: String, isManifestInPlace: Bool = false, _ body: () throws(SystemFailure) -> Result
  ) throws(SystemFailure) -> Result {
    state.withLock {
      $0.blocking.willRename(kind, by: Self.thisThread, isManifestInPlace: isManifestInPlace)
    }
    do throws(SystemFailure) { return try body() } catch {
      state.withLock { $0.blocking.failed(by: Self.thisThread) }
      throw error
    }
  }

  fileprivate func call<Result>(
    _ kind: String, isSync: Bool, _ body: () throws(SystemFailure) -> Result
  ) throws(SystemFailure) -> Result {
    let start = ContinuousClock.now
    defer {
      let end = ContinuousClock.now
      state.withLock { state in
        if isSync {
          state.counters.syncs += 1
          state.timeInSyncs[Self.thisThread, default: .zero] += end - start
        }
        state.blocking.ended(kind, isSync: isSync, by: Self.thisThread, since: start, at: end)
      }
    }
    do throws(SystemFailure) { return try body() } catch {
      state.withLock { $0.blocking.failed(by: Self.thisThread) }
      throw error
    }
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

  func isAtItsPath() -> Bool { base.isAtItsPath() }

  func names() throws(SystemFailure) -> [String] {
    watch.willList()
    return try base.names()
  }

  func kind(of name: String) throws(SystemFailure) -> EntryKind? { try base.kind(of: name) }

  func durability() throws(SystemFailure) -> DurabilityReport { try base.durability() }

  func createFile(_ name: String) throws(SystemFailure) -> any OpenFile {
    try watch.name(WatchedFile.kind(name)) { () throws(SystemFailure) in
      WatchedFile(try base.createFile(name), name, watch)
    }
  }

  func openFile(_ name: String, _ access: FileAccess) throws(SystemFailure) -> any OpenFile {
    WatchedFile(try base.openFile(name, access), name, watch)
  }

  func rename(_ name: String, to newName: String) throws(SystemFailure) {
    let kind = WatchedFile.kind(newName)
    try watch.name(kind, isManifestInPlace: kind == "MANIFEST") { () throws(SystemFailure) in
      try base.rename(name, to: newName)
    }
  }
  func remove(_ name: String) throws(SystemFailure) { try base.remove(name) }

  func sync() throws(SystemFailure) {
    try watch.call("directory", isSync: true) { () throws(SystemFailure) in try base.sync() }
  }

  func lock(_ name: String?, _ access: FileAccess) throws(SystemFailure) -> DirectoryLockResult {
    switch try base.lock(name, access) {
    case .acquired(let lock): .acquired(WatchedLock(lock, watch))
    case .held(let holder): .held(by: holder)
    }
  }

  func readerLock(_ name: String, _ access: FileAccess) throws(SystemFailure) -> (any ReaderLock)? {
    try base.readerLock(name, access)
  }
}

private final class WatchedLock: DirectoryLock {
  private let base: any DirectoryLock
  private let watch: WatchedFileSystem
  private let isHeld = Locked(true)

  init(_ base: any DirectoryLock, _ watch: WatchedFileSystem) {
    self.base = base
    self.watch = watch
    watch.didLock()
  }

  deinit { release() }

  func release() {
    let wasHeld = isHeld.withLock { isHeld in
      defer { isHeld = false }
      return isHeld
    }
    guard wasHeld else { return }
    base.release()
    watch.didUnlock()
  }
}

private struct WatchedFile: OpenFile {
  private let base: any OpenFile
  private let kind: String
  private let watch: WatchedFileSystem

  init(_ base: any OpenFile, _ name: String, _ watch: WatchedFileSystem) {
    self.base = base
    kind = Self.kind(name)
    self.watch = watch
  }

  static func kind(_ name: String) -> String { String(name.prefix { $0 != "-" && $0 != "." }) }

  var path: String { base.path }
  func size() throws(SystemFailure) -> UInt64 { try base.size() }

  func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    watch.willRead(offset..<offset + UInt64(buffer.byteCount), of: path)
    return try base.read(into: &buffer, at: offset)
  }

  func write(_ bytes: RawSpan, at offset: UInt64) throws(SystemFailure) -> Int {
    let taken = try watch.call(kind, isSync: false) { () throws(SystemFailure) in
      try base.write(bytes, at: offset)
    }
    watch.count(taken, of: kind)
    watch.didWrite(offset..<offset + UInt64(taken), of: path)
    return taken
  }

  func sync() throws(SystemFailure) {
    try watch.call(kind, isSync: true) { () throws(SystemFailure) in try base.sync() }
  }

  func startWriteback(_ range: Range<UInt64>) { base.startWriteback(range) }

  func startReading(_ range: Range<UInt64>) {
    watch.prefetch(for: range, of: path)
    base.startReading(range)
  }

  func close() { base.close() }
}
