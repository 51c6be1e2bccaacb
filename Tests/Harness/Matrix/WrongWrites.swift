// A device that stores one bit of a flush incorrectly (docs/reliability.md, C7).
//
//   1. Commit some keys, some of them twice, with a flush in between.
//   2. Flush again. The device flips a bit of one write to a segment or a checkpoint, and reports success.
//   3. Judge. Either the flush reports the damage, or the files that it wrote are correct. In both cases the
//      next open must show every commit.

package import ByteStore

package struct WrongWrites {
  package struct Summary: Sendable {
    package fileprivate(set) var rounds = 0
    /// The number of flushes that reported the damage.
    package fileprivate(set) var noticed = 0
    package fileprivate(set) var failures = 0
    package fileprivate(set) var firstFailure: String?
  }

  /// The files that a flush reads back, by name prefix, with the number of writes to each that may be
  /// garbled.
  private static let files = [(name: "/segment-", writes: 2), (name: "/checkpoint-", writes: 2)]

  /// Runs the rounds. `breaking` switches off a rule of the engine; the rounds should then report failures.
  package static func run(rounds: Int, seed: UInt64, breaking rule: Rule? = nil) -> Summary {
    var summary = Summary()
    for round in 0..<rounds {
      let seed = SeededRandom.seed(seed, UInt64(round))
      do throws(Finding) {
        if try WrongWrites(seed, rule).isNoticed(at: round) { summary.noticed += 1 }
      } catch {
        summary.failures += 1
        summary.firstFailure = summary.firstFailure ?? "seed \(seed), round \(round): \(error)"
      }
      summary.rounds += 1
    }
    return summary
  }

  private let seed: UInt64
  private let brokenRule: Rule?

  private init(_ seed: UInt64, _ rule: Rule?) {
    self.seed = seed
    brokenRule = rule
  }

  private func isNoticed(at round: Int) throws(Finding) -> Bool {
    var random = SeededRandom(seed: seed)
    let file = Self.files[round % Self.files.count]
    var options = SimulatedDisk.Options()
    options.garbling = SimulatedDisk.Garbling(
      file.name, number: random.below(2 * file.writes), bit: random.below(1 << 20))
    let disk = SimulatedDisk(options: options)
    var contents: Contents = [:]
    var isNoticed = false
    do throws(ByteStoreError) {
      let store = try open(disk)
      defer { store.abandon() }
      for _ in 0..<2 {
        for _ in 0..<6 { try commit(to: store, &contents, &random) }
        isNoticed = try !flush(store) || isNoticed
      }
    } catch {
      throw Finding(.dishonest, "a store on a device that garbles \(file.name): \(error)")
    }
    try compare(disk.image, contents)
    guard disk.hasGarbled || isNoticed else { throw Finding(.dishonest, "no write was garbled") }
    return isNoticed
  }

  private func open(_ disk: SimulatedDisk) throws(ByteStoreError) -> ByteStore {
    var options = ByteStore.Options()
    options.maintenance = .manual
    var platform = disk.platform(seed: seed)
    platform.brokenRule = brokenRule
    return try ByteStore.open(Life.path, options: options, platform: platform)
  }

  private func commit(
    to store: ByteStore, _ contents: inout Contents, _ random: inout SeededRandom
  ) throws(ByteStoreError) {
    let key = Array("key\(random.below(8))".utf8)
    let value = random.bytes([10, 700, 5000][random.below(3)])
    var batch = Batch()
    try batch.put(value, for: key)
    _ = try store.commit(batch)
    contents[key] = value
  }

  /// Flushes the store. Returns false if the flush reports that its output is damaged.
  private func flush(_ store: ByteStore) throws(ByteStoreError) -> Bool {
    do throws(ByteStoreError) {
      try store.flush(.everything)
      return true
    } catch {
      guard case .corrupted = error else { throw error }
      return false
    }
  }

  private func compare(_ image: DiskImage, _ contents: Contents) throws(Finding) {
    do throws(ByteStoreError) {
      let store = try open(SimulatedDisk(image.after(.kill)))
      defer { store.abandon() }
      for (key, value) in contents where try store.value(for: key) != value {
        throw ByteStoreError.corrupted(
          Damage(file: Life.path, offset: 0, expected: "the value of \(name(key))", found: "another one"))
      }
    } catch {
      throw Finding(.lostCommit, "after a flush, acknowledged commits cannot be read: \(error)")
    }
  }
}
