// Injects crashes and faults into the salvage of a damaged store (docs/reliability.md, P8).
//
//   1. Damage a sample store in a way that a check detects.
//   2. Salvage it without disturbances, and record the keys and values.
//   3. Salvage the damaged store again, and disturb the salvage by a fault, or by a crash before some call
//      with any of the unsynced writes surviving. Repeat this up to two times with the resulting disk. In
//      between, sometimes open the store and write to it.
//   4. Salvage a last time without disturbances. The keys and values must be those of step 2 and those
//      written in step 3.

internal import ByteStore
internal import StoreTools

package struct SalvageCampaign {
  private var summary = Summary()
  private var random: SeededRandom
  /// The disturbances so far, for the failure message.
  private var disturbances: [String] = []

  package struct Summary: Sendable, CustomStringConvertible {
    package var states = 0
    package var failures = 0
    package var firstFailure: String?
    package var damages = 0
    /// The numbers of states by the outcome of the last salvage.
    package var outcomes: [String: Int] = [:]

    package var description: String {
      "\(states) states of \(damages) damaged stores, \(failures) failed; "
        + outcomes.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        + (firstFailure.map { "\nfirst failure: \($0)" } ?? "")
    }
  }

  package static func run(states: Int, seed: UInt64) -> Summary {
    var campaign = SalvageCampaign(random: SeededRandom(seed: seed))
    var round: UInt64 = 0
    while campaign.summary.states < states {
      round += 1
      let specimens = Specimen.all(seed: SeededRandom.seed(seed, round), Setting())
      for specimen in specimens where campaign.summary.states < states {
        for _ in 0..<3 { campaign.run(specimen, seed: SeededRandom.seed(seed, round, 1), states: states) }
      }
    }
    return campaign.summary
  }

  private init(random: SeededRandom) { self.random = random }

  // MARK: One damaged store

  private mutating func run(_ specimen: Specimen, seed: UInt64, states: Int) {
    let damage = damage(specimen)
    do throws(Finding) {
      guard let expected = try Self.expected(damage.image, seed) else { return }
      summary.damages += 1
      for _ in 0..<min(40, max(0, states - summary.states)) {
        summary.states += 1
        let seed = random.next()
        disturbances = []
        do throws(Finding) {
          try run(damage, expected, seed: seed)
        } catch {
          throw Finding(error.kind, "\(error.text); after \(disturbances.joined(separator: ", then "))")
        }
      }
    } catch {
      summary.failures += 1
      guard summary.firstFailure == nil else { return }
      summary.firstFailure = "store '\(specimen.name)', \(damage.kind.rawValue) \(damage.text): \(error)"
    }
  }

  private mutating func damage(_ specimen: Specimen) -> FileDamage {
    let path = specimen.paths[random.below(specimen.paths.count)]
    if random.oneIn(3) {
      let ranges = FileDamage.ranges(of: path, in: specimen, step: 4096)
      return ranges[random.below(ranges.count)]
    }
    let size = specimen.contents(of: path).size
    return FileDamage.flip(random.below(min(size, 8 * 4096) * 8), of: path, in: specimen)
  }

  private struct Expected {
    var contents: Contents
    /// The number of disk calls in the undisturbed salvage.
    var calls: Int
  }

  ///  Returns nil if there is nothing to salvage, or if the salvage is refused.
  private static func expected(_ image: DiskImage, _ seed: UInt64) throws(Finding) -> Expected? {
    let disk = SimulatedDisk(image)
    do throws(ByteStoreError) {
      let report = try ByteStore.salvage(Life.path, platform: disk.platform(seed: seed))
      guard report.outcome == .salvaged else { return nil }
    } catch {
      if case .newerFormat = error { return nil }
      throw Finding(.dishonest, "salvage ended with \(error)")
    }
    let calls = disk.counters.operations
    return Expected(contents: try contents(disk, seed), calls: calls)
  }

  private static func contents(_ disk: SimulatedDisk, _ seed: UInt64) throws(Finding) -> Contents {
    do throws(ByteStoreError) {
      return try Repaired.contents(disk, seed: SeededRandom.seed(seed, 2))
    } catch {
      throw Finding(.falseAlarm, "the salvaged store does not open: \(error)")
    }
  }

  // MARK: One trouble

  private mutating func run(
    _ damage: FileDamage, _ expected: Expected, seed: UInt64
  ) throws(Finding) {
    var random = SeededRandom(seed: seed)
    var image = damage.image
    var contents = expected.contents
    for _ in 0..<1 + random.below(3) {
      let calls = expected.calls + 10
      image = random.oneIn(3) ? try fault(image, calls, &random) : try crash(image, &random)
      if random.oneIn(3) { image = write(image, &contents, &random) }
    }
    let disk = SimulatedDisk(image)
    do throws(ByteStoreError) {
      let report = try ByteStore.salvage(Life.path, platform: disk.platform(seed: random.next()))
      summary.outcomes[report.outcome.rawValue, default: 0] += 1
    } catch {
      throw Finding(.dishonest, "the last salvage ended with \(error)")
    }
    let after = disk.image(after: .powerLoss(.nothing, seed: 0))
    let found = try Self.contents(SimulatedDisk(after), seed)
    guard found == contents else {
      disturbances.append("with \(after.paths)")
      let lost = contents.filter { found[$0.key] != $0.value }.keys.map(name)
      let new = found.filter { contents[$0.key] == nil }.keys.map(name)
      throw Finding(.lostCommit, "not the same keys: without \(lost), and with \(new)")
    }
    try Self.compareOriginals(damage.image, after)
  }

  private mutating func crash(
    _ image: DiskImage, _ random: inout SeededRandom
  ) throws(Finding) -> DiskImage {
    var options = SimulatedDisk.Options()
    options.recordsHistory = true
    options.shortensTransfers = random.oneIn(4)
    options.seed = random.next()
    let disk = SimulatedDisk(image, options: options)
    _ = try Self.salvage(disk, random.next())
    let history = disk.history
    // The last calls replace the manifest, so half of the crashes are chosen among these calls.
    let back = random.oneIn(2) ? random.below(min(40, history.count + 1)) : random.below(history.count + 1)
    let call = history.count - back
    let imageBeforeCrash = call < history.count ? history[call].image : disk.image
    let survivors = Survivors.allCases[random.below(Survivors.allCases.count)]
    let crash = random.oneIn(4) ? Crash.kill : .powerLoss(survivors, seed: random.next())
    disturbances.append("\(crash) before call \(call) of \(history.count)")
    return imageBeforeCrash.after(crash)
  }

  private mutating func fault(
    _ image: DiskImage, _ calls: Int, _ random: inout SeededRandom
  ) throws(Finding) -> DiskImage {
    var options = SimulatedDisk.Options()
    let kind = DiskFault.allCases[random.below(DiskFault.allCases.count)]
    options.fault = FaultPlan(kind, at: random.below(calls), isSticky: random.oneIn(2))
    options.seed = random.next()
    let disk = SimulatedDisk(image, options: options)
    _ = try Self.salvage(disk, random.next())
    let survivors = Survivors.allCases[random.below(Survivors.allCases.count)]
    let crash = random.oneIn(2) ? Crash.kill : .powerLoss(survivors, seed: random.next())
    let struck = disk.faultPoints.map { "\($0.fault) of \($0.operation)" }
    disturbances.append("\(struck.first ?? "no fault"), \(crash)")
    return disk.image(after: crash)
  }

  /// Runs a salvage. Only a disk fault may make it fail; in that case, returns nil.
  private static func salvage(_ disk: SimulatedDisk, _ seed: UInt64) throws(Finding) -> SalvageReport? {
    do throws(ByteStoreError) {
      return try ByteStore.salvage(Life.path, platform: disk.platform(seed: seed))
    } catch {
      if case .system = error, disk.counters.faults > 0 { return nil }
      throw Finding(.dishonest, "salvage ended with \(error)")
    }
  }

  /// Simulates an app that opens the store and writes to it if the open succeeds.
  private mutating func write(
    _ image: DiskImage, _ contents: inout Contents, _ random: inout SeededRandom
  ) -> DiskImage {
    let disk = SimulatedDisk(image)
    var options = ByteStore.Options()
    options.maintenance = .manual
    options.logBytesMin = 16 << 10
    let key = Array("late".utf8)
    let value = random.bytes(20)
    do throws(ByteStoreError) {
      let store = try ByteStore.open(
        Life.path, options: options, platform: disk.platform(seed: random.next()))
      var batch = Batch(stamp: 1 << 20)
      try batch.put(value, for: key)
      try store.commit(batch)
      store.abandon()
      contents[key] = value
      disturbances.append("a commit")
    } catch {
      // The store is damaged and reports that.
    }
    return disk.image(after: .powerLoss(.nothing, seed: 0))
  }

  private static func compareOriginals(_ before: DiskImage, _ after: DiskImage) throws(Finding) {
    let kept = Set(after.paths.compactMap { after.contents(of: $0)?.bytes })
    for path in before.paths where ["/log-", "/segment-", "/checkpoint-"].contains(where: path.contains) {
      guard let bytes = before.contents(of: path)?.bytes, !kept.contains(bytes) else { continue }
      throw Finding(.lostCommit, "salvage has not kept \(path)")
    }
  }
}
