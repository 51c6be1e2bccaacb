// Looks at a store that stay as they are.

import ByteStore
import Harness
import Testing

@Suite struct SnapshotTests {
  /// The story: a snapshot was closed while a read of it waited for the disk. By then it had forgotten its
  /// table, and the read said that there was no such key.
  @Test func aReadDuringACloseDoesNotSayThatThereIsNothing() throws {
    let machine = TestStore()
    let first = try machine.open()
    try first.put([1], for: "key")
    try first.flush()
    try first.close()

    var platform = machine.disk.platform(seed: 1)
    let watched = WatchedFileSystem(machine.disk)
    platform.fileSystem = watched
    let store = try ByteStore.open(TestStore.path, platform: platform)
    let snapshot = try store.snapshot()
    watched.beforeNextRead { snapshot.close() }
    let error = try storeError { () throws(ByteStoreError) in _ = try snapshot.value(for: Array("key".utf8)) }
    #expect(error == .closed(directory: TestStore.path))
  }
}
