// Counts garbage in packs while the store is open, to decide when a sweep is worthwhile.

import ByteStore
import DocumentStore

/// Known garbage in packs: bytes of contents without a record.
struct PackGarbage {
  private var byPack: [UInt64: UInt64] = [:]
  private var sinceSweep: UInt64 = 0
  /// Total size of all packs at the last sweep.
  private var bytesOfPacks: UInt64 = 0

  mutating func note(_ place: BlobLocation) {
    guard let pack = place.pack else { return }
    byPack[pack, default: 0] += place.bytesInPack
    sinceSweep += place.storedBytes
  }

  func bytes(inPack pack: UInt64) -> UInt64 { byPack[pack] ?? 0 }

  /// True if the garbage since the last sweep is at least an eighth of all packs, and at least an eighth of
  /// one full pack. A sweep that reads all content records is then worthwhile.
  func justifySweep(_ options: BlobStore.Options) -> Bool {
    sinceSweep > 0 && sinceSweep >= max(bytesOfPacks, options.packBytesMax) / 8
  }

  mutating func beginSweep() { sinceSweep = 0 }

  mutating func endSweep(_ bytesOfPacks: UInt64, removed packs: [UInt64]) {
    self.bytesOfPacks = bytesOfPacks
    for pack in packs { byPack[pack] = nil }
  }
}
