// Damages every file in every way, and checks that the store detects the damage (docs/reliability.md, T4).
//
//   1. Create stores that were never closed, that were idle, and that were closed, with one log and with
//      several.
//   2. Damage a store: flip every bit; truncate to every length; zero ranges or make them unreadable; replace
//      pages by pages from other positions or other files; swap, replace, duplicate or delete files, or
//      replace them by older versions.
//   3. Judge the result. Acceptable are an error that names the damage, a store with every commit, and, after
//      an unclean stop, a reported loss of the final group. Anything else is harm.

package import ByteStore

package struct CorruptionMatrix {
  package enum Flips: Sendable {
    case all
    /// Flips this many random bits of each store.
    case random(Int)
    /// Flips every bit of this many bytes of each kind of file, or of all bytes if the files have fewer. Then
    /// flips this many random bits of each store.
    case eachKind(bytes: Int, thenRandom: Int)
  }

  private static let slowestAllowed = Duration.seconds(1)

  private let seed: UInt64
  private let brokenRule: Rule?
  private let stopsAtFirst: Bool
  private var summary = MatrixSummary()

  /// Runs the matrix. `breaking` switches off a rule of the engine; the matrix should then report harm. With
  /// `stopsAtFirst`, the run stops at the first harm.
  package static func run(
    flips: Flips, seed: UInt64, breaking rule: Rule? = nil, stopsAtFirst: Bool = false
  ) -> MatrixSummary {
    var matrix = CorruptionMatrix(seed: seed, brokenRule: rule, stopsAtFirst: stopsAtFirst)
    let setting = Setting(brokenRule: rule)
    let specimens = Specimen.all(seed: seed, setting)
    let others = Specimen.all(seed: seed &+ 1, setting)
    for (specimen, other) in zip(specimens, others) { matrix.damage(specimen, other, flips) }
    return matrix.summary
  }

  private init(seed: UInt64, brokenRule: Rule?, stopsAtFirst: Bool) {
    self.seed = seed
    self.brokenRule = brokenRule
    self.stopsAtFirst = stopsAtFirst
  }

  private mutating func damage(_ specimen: Specimen, _ other: Specimen, _ flips: Flips) {
    if stopsAtFirst, summary.firstHarm != nil { return }
    var random = SeededRandom(seed: seed)
    FileDamage.forEach(in: specimen, other, flips, &random) { damage in
      if !stopsAtFirst || summary.firstHarm == nil { judge(damage, specimen) }
    }
  }

  // MARK: Judging

  private mutating func judge(_ damage: FileDamage, _ specimen: Specimen) {
    var (verdict, time) = timed(damage, specimen)
    // A busy machine may delay a run, so a slow case is run once more.
    if time >= Self.slowestAllowed { (verdict, time) = timed(damage, specimen) }
    summary.slowestOpen = max(summary.slowestOpen, time)
    switch verdict {
    case .success(let outcome) where time < Self.slowestAllowed:
      summary.count(damage, outcome)
    case .success:
      harm(damage, specimen, "took \(time)")
    case .failure(let finding):
      harm(damage, specimen, finding.text)
    }
  }

  private func timed(
    _ damage: FileDamage, _ specimen: Specimen
  ) -> (verdict: Result<WritableKeyPath<MatrixSummary.Counts, Int>, Finding>, time: Duration) {
    let start = ContinuousClock.now
    let verdict = verdict(on: damage, specimen)
    return (verdict, ContinuousClock.now - start)
  }

  private mutating func harm(_ damage: FileDamage, _ specimen: Specimen, _ text: String) {
    summary.count(damage, \.harm)
    guard summary.firstHarm == nil else { return }
    summary.firstHarm =
      "seed \(seed), store '\(specimen.name)', \(damage.kind.rawValue) \(damage.text): \(text)"
  }

  private func verdict(
    on damage: FileDamage, _ specimen: Specimen
  ) -> Result<WritableKeyPath<MatrixSummary.Counts, Int>, Finding> {
    let disk = damage.disk
    var platform = disk.platform(seed: SeededRandom.seed(seed, 5))
    platform.brokenRule = brokenRule
    var options = ByteStore.Options()
    options.maintenance = .manual
    let store: ByteStore
    do throws(ByteStoreError) {
      store = try ByteStore.open(Life.path, options: options, platform: platform)
    } catch {
      switch error {
      case .corrupted, .newerFormat, .foreignFile, .notAStore, .noStore, .nameTaken:
        return .success(\.detected)
      case .system(let cause) where damage.explains(cause): return .success(\.detected)
      default: return .failure(Finding(.dishonest, "\(error)"))
      }
    }
    return Result { () throws(Finding) in try Self.outcome(of: store, damage, specimen) }
  }

  private static func outcome(
    of store: ByteStore, _ damage: FileDamage, _ specimen: Specimen
  ) throws(Finding) -> WritableKeyPath<MatrixSummary.Counts, Int> {
    let last = specimen.points.count - 1
    let found = Int(store.lastCommit.value)
    guard found <= last else { throw Finding(.ghost, "commit \(found) of \(last)") }
    var wasRefused = false
    try specimen.points[found].compare(with: store, at: found) { error in
      switch error {
      case .corrupted, .newerFormat, .foreignFile: wasRefused = true
      case .system(let cause) where damage.explains(cause): wasRefused = true
      default: return false
      }
      return true
    }
    if wasRefused { return \.detected }
    if found == last, damage.movesCommit {
      throw Finding(.ghost, "commit \(last) was read at a place that it was not written for")
    }
    if found == last { return \.identical }
    if damage.looksUnwritten { return \.unwritten }
    guard !store.recoveryReport.losses.isEmpty else {
      throw Finding(.lostCommit, "commits after \(found) are gone and the report names nothing")
    }
    if damage.coversLastHeader { return \.unwritten }
    guard last - found <= specimen.unconfirmedCommits else {
      throw Finding(
        .lostCommit, "commits after \(found) are gone, and only \(specimen.unconfirmedCommits) may be")
    }
    return \.reported
  }
}

extension FileDamage {
  /// Returns whether the error is a read error of the device that names the damaged file.
  func explains(_ cause: SystemFailure) -> Bool {
    cause.path == unreadable?.path && cause.operation.contains("read")
  }
}
