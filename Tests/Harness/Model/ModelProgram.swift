// One random program: a store, and the dictionaries that the contents of the store and of its snapshots must
// equal.

internal import ByteStore

struct ModelProgram {
  private struct OpenSnapshot {
    var snapshot: Snapshot
    var contents: Contents
  }

  private static let path = "/model"
  /// A number of keys that is larger than a page of the key directory can hold.
  private static let manyKeys = 450

  private(set) var summary: ModelCampaign.Summary
  private var random: SeededRandom
  private let disk: SimulatedDisk
  private let platform: Platform
  private var options = ByteStore.Options()
  private let interleavedCommits = InterleavedCommits()
  private let parameters: Parameters
  private var contents: Contents = [:]
  private var openSnapshots: [OpenSnapshot] = []
  /// The highest stamp of all commits. `nextStamp` is the last stamp that was generated.
  private var stamp: UInt64 = 0
  private var nextStamp: UInt64 = 0
  private var operation = 0

  /// The random parameters of a program.
  private struct Parameters {
    /// The upper bound of the numbers from which keys are made. Most keys are below 20.
    var keysMax: Int
    /// The maximum number of operations in a batch.
    var batchMax: Int
    /// On average, one in this many values occupies a hundred pages.
    var hugeValueOneIn: Int?
    /// On average, one in this many steps reopens the store. Reopening is rarer for large contents, because
    /// it includes a full comparison.
    var reopenOneIn: Int

    init(_ random: inout SeededRandom) {
      let isLarge = random.oneIn(8)
      keysMax = isLarge ? 3000 : 600
      batchMax = isLarge ? 60 : 6
      hugeValueOneIn = random.oneIn(4) ? 300 : nil
      reopenOneIn = isLarge ? 200 : 50
    }
  }

  init(seed: UInt64, _ summary: ModelCampaign.Summary, breaking rule: Rule?) {
    self.summary = summary
    random = SeededRandom(seed: seed)
    var disk = SimulatedDisk.Options()
    disk.seed = seed
    disk.shortensTransfers = random.oneIn(4)
    disk.operationsMax = .max
    self.disk = SimulatedDisk(options: disk)
    var platform = self.disk.platform(seed: seed)
    platform.brokenRule = rule
    self.platform = platform
    parameters = Parameters(&random)
    options.logBytesMin = [16 << 10, 64 << 10, 256 << 10][random.below(3)]
    options.logBytesMax = 256 << 10
    options.flushBytes = [24 << 10, 96 << 10, 1 << 30][random.below(3)]
    options.segmentBytesMax = [16 << 10, 48 << 10, 1 << 20][random.below(3)]
    options.cacheBytesMax = [0, 8 << 10, 128 << 10, 4 << 20][random.below(4)]
    options.maintenance = .manual
    let interleavedCommits = interleavedCommits
    options.betweenFlushSteps = { _ in interleavedCommits.run() }
    if options.cacheBytesMax == 0 { self.summary.count(.storesWithoutCache) }
  }

  mutating func run(_ operations: Int) throws(ModelFailure) {
    var store = try open()
    for number in 0..<operations {
      operation = number
      summary.operations += 1
      if random.oneIn(parameters.reopenOneIn) {
        store = try reopen(store)
        continue
      }
      switch random.below(100) {
      case 0: try compareAll(store)
      case 1..<5: maintain(store)
      case 5..<8: try flush(store)
      case 8..<10: try openSnapshot(at: store)
      case 10..<12: try checkAndCloseSnapshot()
      case 12..<42: try read(store)
      default: try commit(store)
      }
    }
    try compareAll(store)
    while !openSnapshots.isEmpty { try checkAndCloseSnapshot() }
  }

  // MARK: Opening and closing

  private func open() throws(ModelFailure) -> ByteStore {
    do throws(ByteStoreError) {
      return try ByteStore.open(Self.path, options: options, platform: platform)
    } catch {
      throw failure("the store does not open: \(error)")
    }
  }

  /// Closes the store, or abandons it as a killed process would, and opens it again.
  private mutating func reopen(_ store: ByteStore) throws(ModelFailure) -> ByteStore {
    do throws(ByteStoreError) {
      if random.oneIn(2) {
        try store.close()
        summary.count(.closes)
      } else {
        store.abandon()
        summary.count(.abandons)
      }
    } catch {
      throw failure("the store does not close: \(error)")
    }
    try checkClosedSnapshots()
    let opened = try open()
    guard opened.lastStamp == stamp else {
      throw failure("the last stamp is \(opened.lastStamp) and must be \(stamp)")
    }
    guard opened.recoveryReport.losses.isEmpty else {
      throw failure("nothing was lost, and the report says \(opened.recoveryReport)")
    }
    try compareAll(opened)
    return opened
  }

  /// Checks that the snapshots of a closed store refuse all reads.
  private mutating func checkClosedSnapshots() throws(ModelFailure) {
    for openSnapshot in openSnapshots {
      summary.count(.snapshotsOutlived)
      do throws(ByteStoreError) {
        _ = try openSnapshot.snapshot.value(for: randomKey())
      } catch {
        guard case .closed = error else { throw failure("a snapshot of a closed store says \(error)") }
        continue
      }
      throw failure("a snapshot of a closed store still answers")
    }
    openSnapshots = []
  }

  // MARK: Flushing

  private mutating func maintain(_ store: ByteStore) {
    summary.count(.maintenances)
    store.performMaintenance()
  }

  private mutating func flush(_ store: ByteStore) throws(ModelFailure) {
    let isEverything = random.oneIn(3)
    summary.count(isEverything ? .flushesOfEverything : .flushesAsNeeded)
    let before = segments
    let edits = random.oneIn(2) ? [] : (0..<1 + random.below(7)).map { _ in randomEdit() }
    interleavedCommits.prepare(edits, store, disk, takesSnapshots: random.oneIn(2))
    let result = Result { () throws(ByteStoreError) in
      try store.flush(isEverything ? .everything : .asNeeded)
    }
    try applyInterleaved(interleavedCommits.finish())
    if case .failure(let error) = result { throw failure("a flush failed: \(error)") }
    if !before.isSubset(of: segments) { summary.count(.compactions) }
    if segments.count > 1 { summary.count(.storesOfSeveralSegments) }
    if random.oneIn(10) { try compareAll(store) }
  }

  private mutating func applyInterleaved(_ commits: [InterleavedCommits.Commit]) throws(ModelFailure) {
    for commit in commits {
      summary.count(.commitsBetweenFlushSteps)
      if case .failure(let error) = commit.result {
        throw failure("a commit during a flush failed: \(error)")
      }
      apply(commit.edit)
      guard let snapshot = commit.snapshot else { continue }
      summary.count(.snapshotsOpenedBetweenFlushSteps)
      openSnapshots.append(OpenSnapshot(snapshot: snapshot, contents: contents))
    }
  }

  private var segments: Set<String> { Set(disk.image.paths.filter { $0.contains("/segment-") }) }

  // MARK: Committing

  private mutating func commit(_ store: ByteStore) throws(ModelFailure) {
    summary.count(.commits)
    let edit = randomEdit()
    do throws(ByteStoreError) {
      try store.commit(edit.batch, durability: edit.durability)
    } catch {
      throw failure("a commit failed: \(error)")
    }
    apply(edit)
  }

  private mutating func apply(_ edit: Edit) {
    let hadMany = contents.count >= Self.manyKeys
    edit.apply(to: &contents)
    stamp = max(stamp, edit.stamp)
    if !hadMany, contents.count >= Self.manyKeys { summary.count(.storesOfManyKeys) }
  }

  private mutating func randomEdit() -> Edit {
    // Occasionally a commit has a stamp that is older than the last one.
    nextStamp += 1
    let stamp = random.oneIn(20) ? nextStamp / 2 : nextStamp
    let operations = (0..<random.below(parameters.batchMax)).map { _ in
      random.oneIn(3)
        ? Edit.Operation.remove(key: randomKey()) : .put(key: randomKey(), value: randomValue())
    }
    return Edit(operations, stamp: stamp, random.oneIn(3) ? .synced : .buffered)
  }

  private mutating func randomKey() -> [UInt8] {
    // Most keys are short, so that commits often use the same key. Some keys are empty and some are long.
    switch random.below(50) {
    case 0: []
    case 1: [UInt8](repeating: 7, count: random.below(3000))
    default:
      Array("k\(random.below(random.oneIn(3) || parameters.batchMax > 6 ? parameters.keysMax : 20))".utf8)
    }
  }

  /// Returns a value of one page of a segment, of several pages or of a hundred. Some values compress well,
  /// others do not.
  private mutating func randomValue() -> [UInt8] {
    var size = random.below(200)
    if let oneIn = parameters.hugeValueOneIn, random.oneIn(oneIn) {
      size = 100 << 10 + random.below(700 << 10)
      summary.count(.hugeValues)
    } else if random.oneIn(40) {
      size = random.below(40_000)
      if size > 8 << 10 { summary.count(.largeValues) }
    }
    guard random.oneIn(3), size > 0 else { return random.bytes(size) }
    let words = random.bytes(1 + random.below(30))
    return (0..<size).map { words[$0 % words.count] }
  }

  // MARK: Comparing

  private mutating func openSnapshot(at store: ByteStore) throws(ModelFailure) {
    summary.count(.snapshotsOpened)
    do throws(ByteStoreError) {
      openSnapshots.append(OpenSnapshot(snapshot: try store.snapshot(), contents: contents))
    } catch {
      throw failure("no snapshot: \(error)")
    }
    if openSnapshots.count > 8 { try checkAndCloseSnapshot() }
  }

  private mutating func checkAndCloseSnapshot() throws(ModelFailure) {
    guard !openSnapshots.isEmpty else { return }
    let openSnapshot = openSnapshots.remove(at: random.below(openSnapshots.count))
    if random.oneIn(2) {
      summary.count(.snapshotsWalked)
      try walk(openSnapshot)
    } else {
      summary.count(.snapshotsRead)
      var buffer = ReadBuffer()
      for (key, value) in openSnapshot.contents {
        try compare(key, value, in: openSnapshot.snapshot, &buffer)
      }
      let key = randomKey()
      try compare(key, openSnapshot.contents[key], in: openSnapshot.snapshot, &buffer)
    }
    guard openSnapshot.snapshot.count == openSnapshot.contents.count else {
      throw failure(
        "a snapshot counts \(openSnapshot.snapshot.count) keys and must count \(openSnapshot.contents.count)")
    }
    openSnapshot.snapshot.close()
  }

  private func walk(_ openSnapshot: OpenSnapshot) throws(ModelFailure) {
    var found: Contents = [:]
    var calls = 0
    do throws(ByteStoreError) {
      try openSnapshot.snapshot.forEach { _, key, value in
        calls += 1
        found[Array(copying: key)] = Array(copying: value)
      }
    } catch {
      throw failure("a snapshot cannot be read as a whole: \(error)")
    }
    guard found == openSnapshot.contents, calls == found.count else {
      throw failure(
        "a snapshot hands over \(calls) entries and must hand over \(openSnapshot.contents.count)")
    }
  }

  private mutating func read(_ store: ByteStore) throws(ModelFailure) {
    summary.count(.reads)
    var buffer = ReadBuffer()
    let key = randomKey()
    try compare(key, contents[key], in: store, &buffer)
  }

  private func compare(
    _ key: [UInt8], _ expected: [UInt8]?, in state: some ReadableState, _ buffer: inout ReadBuffer
  ) throws(ModelFailure) {
    let found: [UInt8]?
    do throws(ByteStoreError) {
      found = try state.read(key, into: &buffer) ? Array(copying: buffer.bytes) : nil
    } catch {
      throw failure("a read failed: \(error)")
    }
    guard found == expected else {
      throw failure("key \(key.prefix(20)) has \(Self.text(found)) and must have \(Self.text(expected))")
    }
  }

  private static func text(_ value: [UInt8]?) -> String { value.map { "\($0.count) bytes" } ?? "no value" }

  private mutating func compareAll(_ store: ByteStore) throws(ModelFailure) {
    summary.count(.invariantChecks)
    do throws(ByteStoreError) { try store.checkInvariants() } catch { throw failure("damage: \(error)") }
    guard store.count == contents.count else {
      throw failure("the store holds \(store.count) keys and must hold \(contents.count)")
    }
    var buffer = ReadBuffer()
    for (key, value) in contents { try compare(key, value, in: store, &buffer) }
  }

  private func failure(_ what: String) -> ModelFailure { ModelFailure(operation: operation, what: what) }
}
