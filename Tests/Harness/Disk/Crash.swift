// The ways in which a run can end, and the disk that the next run finds (docs/reliability.md, F1 and F2).
//
// A power loss may leave:
//   - any subset of the writes to a file since its last sync, in any order, cut at sectors;
//   - a file size between the durable size and the end of the farthest such write. Where no write survived,
//     the file contains zeros or garbage;
//   - any subset of the changes to a directory since its last sync, applied in their original order. A rename
//     survives as one step. A journaling file system permits less, because it keeps a prefix of the changes.
//     The subset also covers file systems without a journal, which write directory blocks one by one. The
//     order of two surviving changes is kept, because both are in the same block;
//   - names without contents: a new name may refer to a file whose bytes are lost.

package enum Crash: Hashable, Sendable, CustomStringConvertible {
  /// The process dies and the machine continues, so all written bytes stay visible.
  case kill
  case powerLoss(Survivors, seed: UInt64)

  package var description: String {
    switch self {
    case .kill: "kill"
    case .powerLoss(let survivors, let seed): "power loss, survivors: \(survivors.rawValue), seed \(seed)"
    }
  }
}

package enum Survivors: String, CaseIterable, Sendable {
  case nothing
  case everything
  /// All names, but only synced contents.
  case names
  /// All contents, but only synced names.
  case contents
  case randomSectors
  case randomNames
  case random

  package var isRandom: Bool { self == .randomSectors || self == .randomNames || self == .random }
}

extension DiskImage {
  /// Returns the disk that the next process finds.
  package func after(_ crash: Crash) -> DiskImage {
    var image = self
    image.locked = [:]
    image.appending = []
    if case .powerLoss(let survivors, let seed) = crash {
      var random = SeededRandom(seed: seed)
      for file in files.indices {
        let contents = files[file].survivingContents(survivors, &random, others: files)
        image.files[file] = File(live: contents, durable: contents)
      }
      for directory in directories.indices {
        let names = directories[directory].survivingNames(survivors, &random)
        image.directories[directory] = Directory(live: names, durable: names)
      }
    }
    return image
  }
}

extension DiskImage.File {
  fileprivate func survivingContents(
    _ survivors: Survivors, _ random: inout SeededRandom, others: [DiskImage.File]
  ) -> PagedBytes {
    guard !pending.isEmpty else { return durable }
    switch survivors {
    case .nothing, .names:
      return durable
    case .everything, .contents, .randomNames:
      return synced
    case .randomSectors, .random:
      let sectors = SurvivingSectors(of: pending, &random)
      let size = sectors.size(above: durable.size, pending, &random)
      var contents = durable
      contents.fill(to: size, &random, others: others)
      return sectors.applied(to: contents)
    }
  }
}

extension PagedBytes {
  /// Extends the file with space that was never written: zeros, garbage, or the old bytes of another file.
  fileprivate mutating func fill(
    to newSize: Int, _ random: inout SeededRandom, others: [DiskImage.File]
  ) {
    let gap = size..<max(size, newSize)
    guard !gap.isEmpty else { return }
    grow(to: newSize)
    switch random.below(3) {
    case 0:
      break
    case 1:
      random.bytes(gap.count).withUnsafeBytes { write($0, at: gap.lowerBound) }
    default:
      let other = others[random.below(others.count)].live
      take(gap.clamped(to: 0..<max(gap.lowerBound, other.size)), from: other)
    }
  }
}

extension DiskImage.Directory {
  fileprivate func survivingNames(
    _ survivors: Survivors, _ random: inout SeededRandom
  ) -> [String: DiskImage.Entry] {
    let survives: (inout SeededRandom) -> Bool =
      switch survivors {
      case .nothing, .contents: { _ in false }
      case .everything, .names, .randomSectors: { _ in true }
      case .randomNames, .random: { $0.oneIn(2) }
      }
    return pending.reduce(into: durable) { names, change in
      if survives(&random) { change.apply(to: &names) }
    }
  }
}
