// Stores on a simulated disk, for readable tests.

import ByteStore
import Harness
import Testing

/// A simulated machine: a disk with a store in one directory.
struct TestStore {
  static let path = "/store"
  static let firstLog = "/store/log-0000000001"

  var disk: SimulatedDisk

  init(
    _ image: DiskImage = DiskImage(), seed: UInt64 = 0,
    _ change: (inout SimulatedDisk.Options) -> Void = { _ in }
  ) {
    var options = SimulatedDisk.Options()
    options.seed = seed
    options.recordsTrace = true
    change(&options)
    disk = SimulatedDisk(image, options: options)
  }

  /// Opens the store. Each open gets a different random seed, as in a new process.
  func open(createsIfMissing: Bool = true, syncBytes: UInt64? = nil) throws(ByteStoreError) -> ByteStore {
    var options = ByteStore.Options()
    if let syncBytes { options.blobs.syncBytes = syncBytes }
    options.logBytesMin = 64 << 10
    options.createsIfMissing = createsIfMissing
    options.maintenance = .manual
    let seed = UInt64(disk.counters.operations)
    return try ByteStore.open(Self.path, options: options, platform: disk.platform(seed: seed))
  }

  /// The machine after a crash and a restart.
  func after(_ crash: Crash) -> TestStore { TestStore(disk.image(after: crash)) }

  /// The machine after a power loss at a time when everything had reached the disk.
  var withAllWritesDurable: TestStore { after(.powerLoss(.everything, seed: 0)) }

  /// A copy with changed bytes in one file.
  func changing(_ path: String, _ change: (inout [UInt8]) throws -> Void) throws -> TestStore {
    var image = disk.image
    var bytes = try #require(image.contents(of: path)).bytes
    try change(&bytes)
    image.replace(path, with: PagedBytes(bytes))
    return TestStore(image)
  }
}

extension ByteStore {
  @discardableResult
  func put(
    _ value: [UInt8], for key: String, _ durability: Durability = .synced
  ) throws(ByteStoreError) -> SequenceNumber {
    var batch = Batch()
    try batch.put(value, for: Array(key.utf8))
    return try commit(batch, durability: durability)
  }

  func value(for key: String) throws(ByteStoreError) -> [UInt8]? {
    try value(for: Array(key.utf8))
  }
}

/// Returns the error that `body` throws. Fails the test if `body` throws no error.
func storeError(_ body: () throws(ByteStoreError) -> Void) throws -> ByteStoreError {
  do throws(ByteStoreError) {
    try body()
  } catch {
    return error
  }
  throw NothingThrown()
}

struct NothingThrown: Error {}
