// The mark by which readers see that a writer has a store open.

import Harness
import Libc
import Testing

@testable import ByteStore

#if os(Linux)
@Suite struct WriterMarkTests {
  private let folder = TemporaryDirectory()

  private var hasWriter: Bool {
    get throws {
      let directory = try PosixFileSystem().openDirectory(folder.path)
      return try #require(try directory.readerLock("READERS", .read)).mayHave(.isOpen)
    }
  }

  private func open(_ files: any FileSystem = PosixFileSystem()) throws(ByteStoreError) -> ByteStore {
    var platform = Platform.real
    platform.fileSystem = files
    return try ByteStore.open(folder.path, options: writerOptions(), platform: platform)
  }

  /// Regression: a close kept the mark until the store object was released. It then vanished from the store
  /// that had been opened meanwhile.
  @Test func theMarkEndsWithTheCloseAndNotWithTheObject() throws {
    var first: ByteStore? = try open()
    #expect(try hasWriter)
    try first?.close()
    #expect(try !hasWriter)
    let second = try open()
    withExtendedLifetime(first) {}
    first = nil
    #expect(try hasWriter, "the second store is still open")
    second.abandon()
    #expect(try !hasWriter)
  }

  /// Regression: a store counted as free while a long recovery read its log.
  @Test func aStoreIsMarkedBeforeItIsRead() throws {
    let store = try open()
    try store.put([1], for: "a")
    store.abandon()
    #expect(ByteStore.use(of: folder.path) == .free)
    let files = ScriptedFileSystem(base: PosixFileSystem())
    let path = folder.path
    let use = Locked<ByteStore.DirectoryUse>(.free)
    files.hooks.before("open log-0000000001") { use.withLock { $0 = ByteStore.use(of: path) } }
    let recovered = try open(files)
    #expect(files.hooks.areDone)
    #expect(use.withLock { $0 } == .held(by: getpid()))
    try recovered.close()
  }

  /// A child that an earlier writer has forked may still have the mark of that writer.
  @Test func aMarkThatIsTakenIsSetLater() throws {
    try folder.create()
    let directory = try PosixFileSystem().openDirectory(folder.path)
    let other = try #require(try directory.readerLock("READERS", .readAndWrite))
    #expect(other.set(.isOpen))
    let files = ScriptedFileSystem(base: PosixFileSystem())
    let store = try open(files)
    other.release()
    #expect(try !hasWriter)
    for _ in 0..<3 { store.performMaintenance() }
    #expect(try hasWriter)
    #expect(files.hooks.count("mark") == 2, "a mark that is set needs no further call")
    try store.close()
  }
}
#endif
