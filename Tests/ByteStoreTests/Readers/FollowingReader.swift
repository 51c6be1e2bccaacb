// The writers and readers of the tests of readers.

import ByteStore
import Harness

/// A writer on a simulated disk that has committed one value. Its readers use a scripted file system.
struct FollowedWriter {
  let machine: TestStore
  let store: ByteStore
  let files: ScriptedFileSystem

  init() throws {
    machine = TestStore()
    store = try ByteStore.open(
      TestStore.path, options: writerOptions(), platform: machine.disk.platform(seed: 1))
    files = ScriptedFileSystem(base: machine.disk)
    try store.put([1], for: "a")
    becomeIdle(store)
  }

  var readerPlatform: Platform {
    var platform = machine.disk.platform(seed: 2)
    platform.fileSystem = files
    return platform
  }

  func openReader() throws(ByteStoreError) -> ByteStore {
    try ByteStoreTests.openReader(TestStore.path, readerPlatform)
  }
}

/// An upper layer without pages.
struct NoLayer: UpperLayer {
  private struct NoPages: CheckpointPages {
    func regions() throws(ByteStoreError) -> [(region: CheckpointRegion, pages: Int)] { [] }

    func payload(_ region: CheckpointRegion, _ page: Int) throws(ByteStoreError) -> [UInt8] { [] }
  }

  func apply(_ note: any CommitNote, _ ordinals: [UInt32]) {}

  func freeze() -> any CheckpointPages { NoPages() }
}

final class NoNote: CommitNote {}

/// Options with which a flush recycles the log that it drops.
func writerOptions() -> ByteStore.Options {
  var options = ByteStore.Options()
  options.logBytesMin = 64 << 10
  options.logBytesMax = 64 << 10
  options.maintenance = .manual
  return options
}

func openReader(_ path: String, _ platform: Platform) throws(ByteStoreError) -> ByteStore {
  var options = ByteStore.Options()
  options.isReader = true
  return try ByteStore.open(path, options: options, platform: platform)
}

/// Takes over the writer's commits as the document store does. Returns whether the files were captured again.
@discardableResult
func refresh(_ reader: ByteStore) throws(ByteStoreError) -> Bool {
  switch try reader.follow() {
  case .commits(let commits):
    for commit in commits { try reader.apply(commit, note: NoNote()) }
    reader.didApplyFollowed()
    return false
  case .mustReopen:
    try reader.adopt(try reader.reopened(upperLayer: NoLayer())) {}
    return true
  }
}

/// Writes the watermark, as happens when a store is idle.
func becomeIdle(_ store: ByteStore) { while store.performMaintenance() {} }
