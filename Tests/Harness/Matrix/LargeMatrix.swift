// Flips random bits of a large store, one at a time (docs/reliability.md, G2).
//
//   1. Flip any bit of any file.
//   2. Open the store. Read the keys whose first read examines the block with this bit, and one key whose
//      first read examines only other blocks.
//   3. Judge the result. Acceptable are an error that names the damage, and correct values. The one other key
//      must be readable in any case.
//   4. For some of the flips, run a check, which must detect everything that an open or a read detected.
//
// A flip in a block that neither an open nor any read examines is harmless, and counts as unread.

package import ByteStore
import StoreTools

package struct LargeMatrix {
  package struct Summary: Sendable {
    fileprivate(set) var rows: [FileDamage.Part: MatrixSummary.Counts] = [:]
    /// The total size of all files.
    package fileprivate(set) var bytes = 0
    package fileprivate(set) var keys = 0
    package fileprivate(set) var unread = 0
    package fileprivate(set) var checks = 0
    package fileprivate(set) var firstHarm: String?

    package var total: MatrixSummary.Counts { rows.values.reduce(MatrixSummary.Counts(), +) }
    package var harm: Int { total.harm }
    package var byPart: [(name: String, counts: MatrixSummary.Counts)] {
      FileDamage.Part.allCases.compactMap { part in rows[part].map { ("\(part)", $0) } }
    }
  }

  private let specimen: LargeSpecimen
  private let seed: UInt64
  private let brokenRule: Rule?
  private var random: SeededRandom
  private var summary = Summary()

  /// Runs the matrix. `breaking` switches off a rule of the engine; the matrix should then report harm.
  package static func run(
    flips: Int, bytes: Int = 64 << 20, flipsPerCheck: Int = 5000, seed: UInt64,
    breaking rule: Rule? = nil
  ) -> Summary {
    let specimen: LargeSpecimen
    do throws(ByteStoreError) {
      specimen = try LargeSpecimen(bytes: bytes, seed: seed)
    } catch {
      preconditionFailure("a store on a sound disk: \(error)")
    }
    var matrix = LargeMatrix(specimen, seed, rule)
    for number in 1...max(1, flips) { matrix.flip(alsoChecks: number % flipsPerCheck == 0) }
    return matrix.summary
  }

  private init(_ specimen: LargeSpecimen, _ seed: UInt64, _ rule: Rule?) {
    self.specimen = specimen
    self.seed = seed
    brokenRule = rule
    random = SeededRandom(seed: SeededRandom.seed(seed, 11))
    summary.bytes = specimen.bytes
    summary.keys = specimen.keys
  }

  // MARK: One flip

  private mutating func flip(alsoChecks: Bool) {
    let (path, offset) = place()
    let bit = random.below(8)
    let part = FileDamage.part(of: path, at: offset)
    let readers = specimen.readers(of: path, at: offset)
    let image = flipped(bit, of: path, at: offset)
    do throws(Finding) {
      let isNoticed = try isNoticed(in: image, path, offset, readers)
      if alsoChecks { try check(image, isNoticed: isNoticed) }
      if readers.isEmpty, !specimen.isReadByOpen(path, at: offset) { summary.unread += 1 }
      var counts = summary.rows[part, default: MatrixSummary.Counts()]
      if isNoticed { counts.detected += 1 } else { counts.identical += 1 }
      summary.rows[part] = counts
    } catch {
      summary.rows[part, default: MatrixSummary.Counts()].harm += 1
      summary.firstHarm =
        summary.firstHarm ?? "seed \(seed), large store, bit \(bit) of byte \(offset) of \(path): \(error)"
    }
  }

  /// Chooses a byte of the store with uniform probability.
  private mutating func place() -> (path: String, offset: Int) {
    var place = random.below(specimen.bytes)
    for (path, size) in zip(specimen.paths, specimen.sizes) {
      if place < size { return (path, place) }
      place -= size
    }
    preconditionFailure("a place below the sum of all sizes lies in one of the files")
  }

  private func flipped(_ bit: Int, of path: String, at offset: Int) -> DiskImage {
    var image = specimen.image
    guard var contents = image.contents(of: path) else { preconditionFailure("no file \(path)") }
    contents.replaceByte(at: offset, with: contents[offset] ^ 1 << UInt8(bit))
    image.replace(path, with: contents)
    return image
  }

  // MARK: Judging

  /// Returns whether an open or a read reports the damage. Throws if a read returns a wrong value, which is
  /// harm.
  private mutating func isNoticed(
    in image: DiskImage, _ path: String, _ offset: Int, _ readers: [Int]
  ) throws(Finding) -> Bool {
    var platform = SimulatedDisk(image).platform(seed: SeededRandom.seed(seed, 12))
    platform.brokenRule = brokenRule
    let store: ByteStore
    do throws(ByteStoreError) {
      store = try ByteStore.open(Life.path, options: LargeSpecimen.options, platform: platform)
    } catch {
      try Self.requireDamageError(error)
      return true
    }
    defer { store.abandon() }
    guard store.recoveryReport.losses.isEmpty else {
      throw Finding(.wrongReport, "the store was closed, and the report names \(store.recoveryReport.losses)")
    }
    var isNoticed = false
    for number in readers where try !readsCorrectly(number, in: store) { isNoticed = true }
    let otherKey = random.below(specimen.keys)
    // If a block has the maximum number of recorded readers, further keys may read it, so the other key
    // proves nothing.
    if readers.count < LargeSpecimen.readersMax, !readers.contains(otherKey),
      try !readsCorrectly(otherKey, in: store)
    {
      throw Finding(.dishonest, "key \(otherKey), which does not read there, cannot be read")
    }
    return isNoticed
  }

  /// Returns whether the value of a key is read correctly; false if the read reports damage.
  private func readsCorrectly(_ number: Int, in store: ByteStore) throws(Finding) -> Bool {
    let found: [UInt8]?
    do throws(ByteStoreError) {
      found = try store.value(for: LargeSpecimen.key(number))
    } catch {
      try Self.requireDamageError(error)
      return false
    }
    guard found == specimen.value(number) else {
      throw Finding(.tornBatch, "key \(number) has another value, and this is not reported")
    }
    return true
  }

  private static func requireDamageError(_ error: ByteStoreError) throws(Finding) {
    switch error {
    case .corrupted, .newerFormat, .foreignFile, .notAStore, .noStore: return
    default: throw Finding(.dishonest, "\(error)")
    }
  }

  private mutating func check(_ image: DiskImage, isNoticed: Bool) throws(Finding) {
    summary.checks += 1
    let isSound: Bool
    do throws(ByteStoreError) {
      isSound = try ByteStore.check(Life.path, platform: SimulatedDisk(image).platform(seed: seed)).isSound
    } catch {
      try Self.requireDamageError(error)
      return
    }
    if isNoticed, isSound { throw Finding(.dishonest, "a read notices the damage, and the check does not") }
  }
}

extension LargeMatrix.Summary: CustomStringConvertible {
  package var description: String {
    let lines = byPart.map { "large \($0.name): \($0.counts)" }
    let harm = firstHarm.map { ["first harm: \($0)"] } ?? []
    return
      ([
        "\(total.all) flips in a store of \(bytes) bytes and \(keys) keys: \(total); \(unread) in unread places, "
          + "\(checks) checks"
      ] + lines + harm).joined(separator: "\n")
  }
}
