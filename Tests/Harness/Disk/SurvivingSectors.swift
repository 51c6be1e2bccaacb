// The sectors of unsynced writes that reach the medium despite a power loss, and the order in which they
// reach it.

/// A random subset of writes, cut at sectors. For each write, the subset contains nothing, the whole write, a
/// prefix as after an interruption, or randomly chosen sectors.
struct SurvivingSectors {
  static let sectorBytes = 512

  private var pieces: [DiskImage.PendingWrite] = []

  init(of writes: [DiskImage.PendingWrite], _ random: inout SeededRandom) {
    for write in writes { add(write, &random) }
    // The device may execute overlapping writes in either order.
    if random.oneIn(4) { pieces.shuffle(using: &random) }
  }

  private mutating func add(_ write: DiskImage.PendingWrite, _ random: inout SeededRandom) {
    switch random.below(5) {
    case 0:
      break
    case 1:
      pieces.append(write)
    case 2:
      let sectors = Self.sectors(of: write.range)
      let count = random.below(sectors.count + 1)
      for sector in sectors.prefix(count) { pieces.append(Self.cut(write, sector)) }
    default:
      let survivesOnce = 1 + random.below(3)
      for sector in Self.sectors(of: write.range) where random.below(4) < survivesOnce {
        pieces.append(Self.cut(write, sector))
      }
    }
  }

  func applied(to contents: PagedBytes) -> PagedBytes {
    pieces.reduce(into: contents) { $0.take($1.range, from: $1.after) }
  }

  /// Returns a file size between the end of the surviving writes and the end of all writes.
  func size(
    above durable: Int, _ writes: [DiskImage.PendingWrite], _ random: inout SeededRandom
  ) -> Int {
    let least = pieces.reduce(durable) { max($0, $1.range.upperBound) }
    let most = writes.reduce(durable) { max($0, $1.range.upperBound) }
    return least < most && random.oneIn(2) ? least + random.below(most - least + 1) : least
  }

  private static func sectors(of range: Range<Int>) -> Range<Int> {
    range.lowerBound / sectorBytes..<(range.upperBound + sectorBytes - 1) / sectorBytes
  }

  private static func cut(_ write: DiskImage.PendingWrite, _ sector: Int) -> DiskImage.PendingWrite {
    let bytes = sector * sectorBytes..<(sector + 1) * sectorBytes
    return DiskImage.PendingWrite(range: bytes.clamped(to: write.range), after: write.after)
  }
}
