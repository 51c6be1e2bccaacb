// Counting what dies in packs while a store is open: so one that runs for months knows when a sweep is worth it.

import ByteStore
import DocumentStore

/// What packs have of contents without a record, as far as it was seen to die.
struct DeadBytes {
  private var byPack: [UInt64: UInt64] = [:]
  private var sinceSweep: UInt64 = 0
  /// Of all packs, at the last sweep.
  private var bytesOfPacks: UInt64 = 0

  mutating func note(_ place: BlobPlace) {
    guard let pack = place.pack else { return }
    byPack[pack, default: 0] += place.bytesInPack
    sinceSweep += place.storedBytes
  }

  func bytes(inPack pack: UInt64) -> UInt64 { byPack[pack] ?? 0 }

  /// An eighth of all that there is, and of a pack at least: then looking at all records is worth it.
  func areWorthASweep(_ options: BlobStore.Options) -> Bool {
    sinceSweep > 0 && sinceSweep >= max(bytesOfPacks, options.packBytesMax) / 8
  }

  mutating func beginSweep() { sinceSweep = 0 }

  mutating func endSweep(_ bytesOfPacks: UInt64, removed packs: [UInt64]) {
    self.bytesOfPacks = bytesOfPacks
    for pack in packs { byPack[pack] = nil }
  }
}
