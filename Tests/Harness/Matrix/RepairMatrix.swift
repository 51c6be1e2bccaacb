// Runs `check` and `salvage` for every kind of damage to every file (docs/reliability.md, P8).
//
//   1. Open the damaged store and read all keys, to determine whether an open or a read detects the damage.
//   2. Check the store. The check must detect everything that step 1 detects, and must change nothing.
//   3. Salvage the store. The result must open, `check` must find it sound, and each value must have been
//      committed for its key. Everything that was in undamaged files must be present.
//
// Bytes that the device cannot read now may be readable later. A check therefore reports unreadable bytes,
// and a salvage keeps every byte of the original files.
//
// The values of the specimens are random, so a search for the bytes of a value finds the files that contain
// it.

internal import ByteStore
internal import StoreTools

package struct RepairMatrix {
  private let seed: UInt64
  private var summary = RepairSummary()
  /// For each value that is long enough to search for, the files of the specimen that contain it.
  private var containingFiles: [[UInt8]: [String]] = [:]

  /// Runs the matrix. Only one in `sparing` of the damaged disks is examined.
  package static func run(
    flips: CorruptionMatrix.Flips, sparing: Int = 1, seed: UInt64
  ) -> RepairSummary {
    var matrix = RepairMatrix(seed: seed)
    let specimens = Specimen.all(seed: seed, Setting())
    let others = Specimen.all(seed: seed &+ 1, Setting())
    var choice = SeededRandom(seed: seed)
    for (specimen, other) in zip(specimens, others) {
      matrix.judgeUndamaged(specimen)
      matrix.containingFiles = specimen.containingFiles
      var random = SeededRandom(seed: seed)
      FileDamage.forEach(in: specimen, other, flips, &random) { damage in
        if choice.oneIn(sparing) { matrix.judge(damage, specimen) }
      }
    }
    return matrix.summary
  }

  private init(seed: UInt64) { self.seed = seed }

  // MARK: Judging

  private mutating func judgeUndamaged(_ specimen: Specimen) {
    do throws(Finding) {
      let disk = SimulatedDisk(specimen.image)
      let report = try Self.report(of: disk, seed)
      guard report.isSound else { throw Finding(.falseAlarm, "\(report.findings)") }
      guard report.keys == specimen.contents.count else {
        throw Finding(.wrongReport, "\(report.keys) keys, and there are \(specimen.contents.count)")
      }
    } catch {
      summary.fail("store '\(specimen.name)', undamaged: \(error)")
    }
  }

  private mutating func judge(_ damage: FileDamage, _ specimen: Specimen) {
    do throws(Finding) {
      let isNoticed = try Self.isNoticed(damage, seed)
      let isFound = try isFound(damage)
      guard isFound || !isNoticed else {
        throw Finding(.dishonest, "an open notices the damage, and the check does not")
      }
      try salvage(damage, specimen, isFound: isFound)
    } catch {
      summary.fail(
        "seed \(seed), store '\(specimen.name)', \(damage.kind.rawValue) \(damage.text): \(error)")
    }
  }

  private static func isNoticed(_ damage: FileDamage, _ seed: UInt64) throws(Finding) -> Bool {
    do throws(ByteStoreError) {
      _ = try Repaired.contents(damage.disk, seed: seed)
      return false
    } catch {
      if case .system(let cause) = error, !damage.explains(cause) { throw Finding(.dishonest, "\(error)") }
      return true
    }
  }

  private mutating func isFound(_ damage: FileDamage) throws(Finding) -> Bool {
    let disk = damage.disk
    defer { summary.checks += 1 }
    let found: Bool
    do throws(ByteStoreError) {
      found = try !ByteStore.check(Life.path, platform: disk.platform(seed: seed)).isSound
    } catch {
      switch error {
      case .newerFormat, .notAStore, .noStore: found = true
      default: throw Finding(.dishonest, "the check ended with \(error)")
      }
    }
    summary.found += found ? 1 : 0
    let after = disk.image
    for path in Set(after.paths + damage.image.paths) where !path.hasSuffix("/LOCK") {
      guard after.contents(of: path)?.bytes == damage.image.contents(of: path)?.bytes else {
        throw Finding(.dishonest, "the check has changed \(path)")
      }
    }
    return found
  }

  private static func report(of disk: SimulatedDisk, _ seed: UInt64) throws(Finding) -> CheckReport {
    do throws(ByteStoreError) {
      return try ByteStore.check(Life.path, platform: disk.platform(seed: seed))
    } catch {
      throw Finding(.dishonest, "the check ended with \(error)")
    }
  }

  // MARK: Salvage

  private mutating func salvage(
    _ damage: FileDamage, _ specimen: Specimen, isFound: Bool
  ) throws(Finding) {
    let disk = damage.disk
    let report: SalvageReport
    do throws(ByteStoreError) {
      report = try ByteStore.salvage(Life.path, platform: disk.platform(seed: SeededRandom.seed(seed, 7)))
    } catch {
      try Self.compareOriginals(damage.image, disk.image)
      guard Self.mayRefuse(damage, error) else { throw Finding(.dishonest, "salvage ended with \(error)") }
      summary.refused += 1
      return
    }
    summary.salvaged += report.outcome == .healthy ? 0 : 1
    guard (report.outcome == .healthy) == !isFound else {
      throw Finding(.dishonest, "salvage says \(report.outcome), after a check that says otherwise")
    }
    if report.outcome != .healthy { try Self.compareOriginals(damage.image, disk.image) }
    let checked = try Self.report(of: SimulatedDisk(disk.image), seed)
    guard checked.isSound else { throw Finding(.falseAlarm, "after salvage: \(checked.findings)") }
    let contents: Contents
    do throws(ByteStoreError) {
      contents = try Repaired.contents(SimulatedDisk(disk.image), seed: SeededRandom.seed(seed, 8))
    } catch {
      throw Finding(.falseAlarm, "the salvaged store does not open: \(error)")
    }
    guard report.outcome == .healthy || report.keys == contents.count else {
      throw Finding(.wrongReport, "\(report.keys) keys, and there are \(contents.count)")
    }
    try specimen.compare(contents, damage, containingFiles)
  }

  /// Returns whether a salvage may refuse this damage. For example, it may refuse a directory with files of
  /// two stores or of a newer version, because a person has to decide which files to keep.
  private static func mayRefuse(_ damage: FileDamage, _ error: ByteStoreError) -> Bool {
    if case .foreignFile = error { return [.replaced, .older, .spliced].contains(damage.kind) }
    if case .noStore = error { return true }
    if case .system(let cause) = error { return damage.explains(cause) }
    return false
  }

  /// Checks that every byte of the original files still exists, under any file name.
  private static func compareOriginals(_ before: DiskImage, _ after: DiskImage) throws(Finding) {
    let kept = Set(after.paths.compactMap { after.contents(of: $0)?.bytes })
    for path in before.paths where !path.hasSuffix("/LOCK") && !path.hasSuffix("/SPARE") {
      guard let bytes = before.contents(of: path)?.bytes, !kept.contains(bytes) else { continue }
      throw Finding(.lostCommit, "salvage has not kept \(path)")
    }
  }
}

/// A store after a repair, as a user opens it.
enum Repaired {
  /// Returns all keys and values. Every value is read both by a full scan and by its key.
  static func contents(_ disk: SimulatedDisk, seed: UInt64) throws(ByteStoreError) -> Contents {
    var options = ByteStore.Options()
    options.maintenance = .manual
    options.createsIfMissing = false
    let store = try ByteStore.open(Life.path, options: options, platform: disk.platform(seed: seed))
    defer { store.abandon() }
    var contents: Contents = [:]
    try store.snapshot().forEach { _, key, value in
      contents[[UInt8](copying: key)] = [UInt8](copying: value)
    }
    for key in contents.keys { _ = try store.value(for: key) }
    return contents
  }
}

extension Specimen {
  /// The contents after the last commit.
  var contents: Contents { points[points.count - 1].contents }

  fileprivate func compare(
    _ found: Contents, _ damage: FileDamage, _ containingFiles: [[UInt8]: [String]]
  ) throws(Finding) {
    for (key, value) in found {
      let history = points.compactMap { $0.contents[key] }
      guard history.contains(value) else {
        throw Finding(.ghost, "\(Harness.name(key)) has \(value.count) bytes that no commit put")
      }
    }
    let damaged = Set(
      image.paths.filter {
        image.contents(of: $0)?.bytes != damage.image.contents(of: $0)?.bytes || $0 == damage.unreadable?.path
      })
    let isLogDamaged = damaged.contains { $0.contains("/log-") }
    for (key, files) in containingFiles where !damage.isUndetectable {
      let isSafe = files.contains { !damaged.contains($0) }
      guard isSafe, found[key] != contents[key] else { continue }
      throw Finding(.lostCommit, "\(Harness.name(key)) was in a file that was not damaged, and is lost")
    }
    guard !isLogDamaged, damaged.allSatisfy({ $0.contains("/segment-") }) else { return }
    for key in found.keys where contents[key] == nil {
      throw Finding(.ghost, "\(Harness.name(key)) was removed, and no checkpoint or log is damaged")
    }
  }

  /// For each value that is long enough to search for, the files that contain it.
  fileprivate var containingFiles: [[UInt8]: [String]] {
    let files = paths.map { ($0, contents(of: $0).bytes) }
    return contents.filter { $0.value.count >= 8 }.mapValues { value in
      files.filter { $0.1.containsBytes(value) }.map(\.0)
    }
  }
}

extension FileDamage {
  /// Whether no check can detect the damage, because the damaged log looks like an open log after a crash.
  fileprivate var isUndetectable: Bool { looksUnwritten || coversLastHeader }
}

package struct RepairSummary: Sendable, CustomStringConvertible {
  package var checks = 0
  /// The number of damaged stores in which the check found damage.
  package var found = 0
  package var salvaged = 0
  package var refused = 0
  package private(set) var failures = 0
  package private(set) var firstFailures: [String] = []

  mutating func fail(_ text: String) {
    failures += 1
    if firstFailures.count < 12 { firstFailures.append(text) }
  }

  package var description: String {
    ([
      "\(checks) checks, \(found) with findings, \(salvaged) salvaged, \(refused) refused, \(failures) failed"
    ]
      + firstFailures).joined(separator: "\n")
  }
}
