// Snapshots and concurrent closing.

import ByteStore
import Harness
import Testing

@Suite struct SnapshotTests {
  /// Regression: a snapshot was closed while one of its reads waited for the disk. The snapshot's key
  /// directory was then already empty, and the read reported a missing key.
  @Test func readDuringACloseDoesNotReportAMissingKey() throws {
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
