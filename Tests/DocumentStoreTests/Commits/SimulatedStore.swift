// A document store on a simulated disk.

import ByteStore
import DocumentStore
import Harness

struct SimulatedStore {
  let disk: SimulatedDisk
  let store: DocumentStore

  init(_ image: DiskImage = DiskImage(), kibibytes: Int? = nil) throws {
    var options = SimulatedDisk.Options()
    options.capacity = kibibytes.map { $0 << 10 }
    disk = SimulatedDisk(image, options: options)
    var storeOptions = DocumentStore.Options()
    storeOptions.maintenance = .manual
    store = try DocumentStore.open("/store", options: storeOptions, platform: disk.platform(seed: 1))
  }

  /// A copy of the disk after a power loss that drops all unsynced data.
  func afterPowerLoss() throws -> SimulatedStore {
    try SimulatedStore(disk.image(after: .powerLoss(.nothing, seed: 0)))
  }

  /// Commits documents until the disk is full.
  func fillDisk() throws {
    var number = 0
    var refused = 0
    while refused < 10 {
      let filler = StoredValue.bytes([UInt8](repeating: 7, count: 3000))
      let mutation = Mutation.set(path("filler", "\(number)"), StoredMap([("bytes", filler)]))
      if failure(of: { try store.commit([mutation]) }) == nil { refused = 0 } else { refused += 1 }
      number += 1
    }
  }
}

/// Adds one to the field `n`.
func increment(_ path: DocumentPath, _ precondition: Precondition = .none) -> Mutation {
  .patch(
    path, StoredMap(), mask: FieldMask([]), transforms: [FieldTransform(field("n"), .increment(.integer(1)))],
    precondition: precondition)
}
