// How a run ends, and what is on the disk when the next one begins (docs/reliability.md, F1 and F2).
//
// What a power loss may leave behind:
//   - of the writes since the last sync of a file, any subset, in any order, cut at sectors;
//   - a size between the durable one and the end of the farthest such write, with zeros or garbage
//     wherever nothing survived;
//   - of the changes since the last sync of a directory, any subset, applied in the order in which they
//     were made. A rename survives as one step. That is more than a journal permits, which keeps a
//     prefix, and covers file systems without one, where directory blocks are written one by one; the
//     order of two surviving changes is kept, because both end in the same block;
//   - names apart from contents: a new name may stand for a file whose bytes are gone.

package enum Crash: Hashable, Sendable, CustomStringConvertible {
  /// The process dies and the machine goes on: every later reader sees what it wrote.
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
  /// All names, but of the contents only what was synced.
  case names
  /// All contents, but only the names that were synced.
  case contents
  case randomSectors
  case randomNames
  case random

  package var isRandom: Bool { self == .randomSectors || self == .randomNames || self == .random }
}

extension DiskImage {
  /// The disk that the next process finds.
  package func after(_ crash: Crash) -> DiskImage {
    var image = self
    image.locked = [:]
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
  /// Makes room that nobody has written to: zeros, garbage, or what another file held there before.
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
