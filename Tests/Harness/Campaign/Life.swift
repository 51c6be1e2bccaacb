// One life of a store: from the start of a process on a given disk until a crash.
//
// A life opens the store, runs the steps of its plan and compares all results with the oracle. After an
// injected fault it checks that the error is correct (P9). It then reacts as a caller would: it retries
// an open, drops a refused commit, and reopens after an unknown outcome.

package import ByteStore
import StoreTools

struct LifePlan: Sendable {
  var options: ByteStore.Options
  var steps: [Workload.Step]
  var fault: FaultPlan?
  var shortensTransfers = false
  var schedulesJobs = false
  var capacity: Int?
  var recordsTrace = false
  /// The seed of this life's random choices; different lives of a store need different seeds.
  var seed: UInt64
  var setting: Setting
}

/// The settings that all lives of a campaign share.
struct Setting: Sendable {
  /// Counts the commits that are queued while another commit is in progress. With this count, a campaign can
  /// make group commit deterministic.
  var commitsWaiting: CommitsWaiting?
  /// The rule that the engine breaks deliberately, to prove that the campaign detects the violation.
  var brokenRule: Rule?
}

/// Returns the number of commits in a store that wait for a leader.
package typealias CommitsWaiting = @Sendable (ByteStore) -> Int

struct Life {
  static let path = "/store"

  let disk: SimulatedDisk
  private(set) var oracle: Oracle
  /// The recovery by the first successful open of this life.
  private(set) var recovery: Recovery?
  private let plan: LifePlan
  private let platform: Platform
  private var store: ByteStore?
  private var snapshots: [(snapshot: Snapshot, commit: Int)] = []
  private let interleavedCommits = InterleavedCommits()
  private let scheduler: JobScheduler?
  /// The last commit of the store when it was opened.
  private var openedAt = 0
  /// The disk right after the store was last opened.
  private var imageWhenOpened: DiskImage?
  /// Whether maintenance, a flush or a background job met a fault. The fault may have poisoned the writer
  /// although no commit has failed yet.
  private var mayBePoisoned = false
  /// Whether a put was acknowledged in this life, so that the reserve file exists. Before the first such put,
  /// the reserve may be missing: a power loss may have removed it, and another file may have used its space.
  private var hasReserve = false
  private static let otherFile = "other"

  init(on image: DiskImage, _ oracle: Oracle, _ plan: LifePlan) {
    var options = SimulatedDisk.Options()
    options.seed = SeededRandom.seed(plan.seed, 1)
    options.fault = plan.fault
    options.shortensTransfers = plan.shortensTransfers
    options.capacity = plan.capacity
    options.recordsTrace = plan.recordsTrace
    options.recordsHistory = true
    options.operationsMax = 20_000
    disk = SimulatedDisk(image, options: options)
    var platform = disk.platform(seed: SeededRandom.seed(plan.seed, 2))
    platform.brokenRule = plan.setting.brokenRule
    self.platform = platform
    self.oracle = oracle
    self.plan = plan
    scheduler = plan.schedulesJobs ? JobScheduler(seed: SeededRandom.seed(plan.seed, 3)) : nil
  }

  struct Recovery {
    var report: RecoveryReport
    var commit: Int
    var image: DiskImage
  }

  /// Returns the disk as it was before the given call, or at the end of the life if there is no such call.
  func image(before operation: Int) -> DiskImage {
    let history = disk.history
    return operation < history.count ? history[operation].image : disk.image
  }

  mutating func run() throws(Finding) {
    try oracle.checkBackups(on: disk.image)
    try open()
    try resume()
    try checkOldLogs()
  }

  private mutating func resume() throws(Finding) {
    if plan.seed % 8 == 0 { try checkSecondOpenFails() }
    // Even if the caller does nothing more, a process runs its background jobs until it dies.
    defer { scheduler?.finishAll() }
    for step in plan.steps {
      guard let store else { return }
      let faults = disk.counters.faults
      try perform(step, on: store)
      scheduler?.runSome()
      if scheduler != nil, self.store === store, disk.counters.faults > faults { mayBePoisoned = true }
      if scheduler != nil, let store = self.store { try compare(with: store) }
    }
    if let store { try compare(with: store) }
    scheduler?.finishAll()
    if scheduler != nil, let store { try compare(with: store) }
  }

  private func freeSpace() {
    // The removal is synced before the space is used again. File systems do not reuse the space of a removed
    // file while a power loss could still restore that file.
    guard let directory = try? disk.openDirectory("/") else { return }
    try? directory.remove(Self.otherFile)
    try? directory.sync()
  }

  private mutating func perform(_ step: Workload.Step, on store: ByteStore) throws(Finding) {
    switch step {
    case .commit(let edit): try commit(edit, to: store)
    case .group(let edits): try commitConcurrently(edits, to: store)
    case .maintain: maintain(store)
    case .flush(let scope, let edits): try flush(scope, during: edits, store)
    case .backup(let directory, let edits): try backUp(store, to: directory, during: edits)
    case .snapshot: try openSnapshot(at: store)
    case .reopen: try reopen(store)
    case .occupySpace: occupySpace()
    case .freeSpace: freeSpace()
    }
  }

  /// The counts of background jobs.
  var jobCounts: JobScheduler.Counts { scheduler?.counts ?? JobScheduler.Counts() }

  private var operations: Int { disk.counters.operations }

  // MARK: Opening and closing

  /// Opens the store, and retries once after a fault. Leaves it closed if the fault persists.
  private mutating func open() throws(Finding) {
    // An open cannot use a reserve that does not exist or that a power loss removed.
    let reserve = disk.image.contents(of: "\(Self.path)/RESERVE")?.size ?? 0
    if try !openOnce(), try !openOnce(), !disk.hasPendingFault {
      guard plan.capacity == nil || reserve >= 64 << 10 else { return }
      throw Finding(.dishonest, "the store does not open after the fault is gone")
    }
  }

  private mutating func openOnce() throws(Finding) -> Bool {
    let faults = disk.counters.faults
    let opened: ByteStore
    do throws(ByteStoreError) {
      var options = plan.options
      let (interleavedCommits, scheduler) = (interleavedCommits, scheduler)
      if let scheduler { options.maintenance = .simulated(by: scheduler) }
      options.betweenFlushSteps = { _ in
        if let scheduler, scheduler.pause() == .job { return }
        interleavedCommits.run()
      }
      opened = try ByteStore.open(Self.path, options: options, platform: platform)
    } catch {
      guard case .system = error else { throw Finding(.falseAlarm, "\(error)") }
      guard disk.counters.faults > faults else {
        throw Finding(.dishonest, "the open failed without a fault: \(error)")
      }
      return false
    }
    let sequence = try oracle.expectation(at: operations, after: .kill).check(opened, isAcceptable)
    oracle.record(at: sequence, operation: operations)
    if recovery == nil {
      recovery = Recovery(report: opened.recoveryReport, commit: sequence, image: disk.image)
    }
    store = opened
    openedAt = sequence
    imageWhenOpened = disk.image
    mayBePoisoned = false
    return true
  }

  /// A second open of the store must fail as `locked`, unless a fault prevents the check.
  private func checkSecondOpenFails() throws(Finding) {
    guard store != nil else { return }
    let faults = disk.counters.faults
    var options = plan.options
    options.maintenance = .manual
    let (path, platform) = (Self.path, platform)
    let second = Result { () throws(ByteStoreError) in
      try ByteStore.open(path, options: options, platform: platform)
    }
    switch second {
    case .failure(.locked): break
    case .failure(.system) where disk.counters.faults > faults: break
    case .failure(let error): throw Finding(.dishonest, "a second opening failed with \(error)")
    case .success(let store):
      store.abandon()
      throw Finding(.dishonest, "the store was opened twice")
    }
  }

  /// Checks that the engine has not written to any log that existed when the store was opened.
  private func checkOldLogs() throws(Finding) {
    guard let before = imageWhenOpened else { return }
    let after = disk.image
    for path in before.paths where path.hasPrefix("\(Self.path)/log-") {
      // If the directory entry now refers to a different file, that file is a different log with the same
      // name.
      guard after.entry(at: path) == before.entry(at: path),
        after.contents(of: path) != before.contents(of: path)
      else { continue }
      throw Finding(.oldLog, "\(path) is of an earlier opening, and has changed since this one")
    }
  }

  // MARK: A full disk

  /// Whether lack of space is the only possible cause of failures and the reserve exists. In that case,
  /// operations that free space must succeed (C11).
  private var mustSucceedWithReserve: Bool { hasReserve && plan.capacity != nil && plan.fault == nil }

  private func occupySpace() {
    guard let root = try? disk.openDirectory("/") else { return }
    try? root.remove(Self.otherFile)
    guard let file = try? root.createFile(Self.otherFile) else { return }
    defer { file.close() }
    let block = [UInt8](repeating: 1, count: 64 << 10)
    var offset: UInt64 = 0
    while let taken = try? file.write(block.rawSpan, at: offset) { offset += UInt64(taken) }
  }

  private func requireNoReserve(_ what: String) throws(Finding) {
    guard !mustSucceedWithReserve else { throw Finding(.dishonest, "\(what), and there is a reserve for it") }
  }

  private mutating func reopen(_ closing: ByteStore) throws(Finding) {
    // Without a commit there is no log to mark as closed.
    let hasCommitted = Int(closing.lastCommit.value) > openedAt
    let wasClosed = try close(closing) && !mayBePoisoned
    if wasClosed { oracle.acknowledgeSync(through: oracle.acknowledged, at: operations) }
    try checkOldLogs()
    try open()
    guard let report = store?.recoveryReport, wasClosed, hasCommitted else { return }
    guard report.losses.isEmpty, report.wasClosedCleanly else {
      throw Finding(.wrongReport, "a store that was closed reports \(report)")
    }
  }

  private mutating func close(_ closing: ByteStore) throws(Finding) -> Bool {
    let faults = disk.counters.faults
    scheduler?.finishBeforeClose()
    mayBePoisoned = mayBePoisoned || disk.counters.faults > faults
    store = nil
    snapshots = []
    do throws(ByteStoreError) {
      try closing.close()
      return true
    } catch {
      guard disk.counters.faults > faults else {
        throw Finding(.dishonest, "the store does not close: \(error)")
      }
      try requireNoReserve("a close failed with \(error)")
      return false
    }
  }

  /// Runs maintenance, after which every acknowledged commit is durable. If maintenance fails, the next
  /// commit reports the failure.
  private mutating func maintain(_ store: ByteStore) {
    let faults = disk.counters.faults
    store.performMaintenance()
    mayBePoisoned = mayBePoisoned || disk.counters.faults > faults
    guard !mayBePoisoned else { return }
    oracle.acknowledgeSync(through: oracle.acknowledged, at: operations)
  }

  // MARK: Flushing

  private mutating func openSnapshot(at store: ByteStore) throws(Finding) {
    do throws(ByteStoreError) {
      snapshots.append((try store.snapshot(), oracle.acknowledged))
    } catch {
      throw Finding(.dishonest, "no snapshot: \(error)")
    }
  }

  /// Flushes the store. Commits between the steps of the flush must be as durable as any other commits.
  private mutating func flush(
    _ scope: ByteStore.FlushScope, during edits: [Edit], _ store: ByteStore
  ) throws(Finding) {
    let last = oracle.acknowledged
    let faults = disk.counters.faults
    scheduler?.finishFlush()
    interleavedCommits.prepare(edits, store, disk)
    let flush = { Result { () throws(ByteStoreError) in try store.flush(scope) } }
    let result = scheduler?.during(.flush, flush) ?? flush()
    let unknown = try record(interleavedCommits.finish(), after: last)
    // Work after the write of the manifest may fail even though the flush succeeds.
    mayBePoisoned = mayBePoisoned || disk.counters.faults > faults
    switch result {
    case .success:
      if unknown == nil { oracle.acknowledgeSync(through: last, at: operations) }
    case .failure(let error):
      switch error {
      case .system, .outcomeUnknown:
        try requireFault("a flush failed with \(error)")
        // Commits between the steps may use up the space that the flush needs. Such a flush may fail even
        // though the reserve exists; the next flush gets the space.
        if edits.isEmpty { try requireNoReserve("a flush failed with \(error)") }
      default: throw Finding(.dishonest, "a flush failed with \(error)")
      }
    }
    if let unknown { return try resume(after: unknown, in: store) }
    if case .failure(.outcomeUnknown) = result {
      try compare(with: store)
      _ = try close(store)
      return try open()
    }
    try compare(with: store)
  }

  /// Backs up the store. The backup must contain the state at the time of the call, even if other commits
  /// follow during the backup. Those commits must be as durable as any others.
  private mutating func backUp(
    _ store: ByteStore, to directory: String, during edits: [Edit]
  ) throws(Finding) {
    let last = oracle.acknowledged
    let isTaken = disk.image.contents(of: "\(directory)/MANIFEST") != nil
    oracle.beginBackup(to: directory, at: operations)
    interleavedCommits.prepare(edits, store, disk)
    let result = Result { () throws(ByteStoreError) in try store.backup(to: directory) }
    let end = operations
    let unknown = try record(interleavedCommits.finish(), after: last)
    switch result {
    case .success(let report):
      guard !isTaken, Int(report.sequence.value) == last else {
        throw Finding(.ghost, "a backup of commit \(last) says that it has \(report.sequence.value)")
      }
      oracle.completeBackup(to: directory, at: end)
    case .failure(.notEmpty) where isTaken: oracle.forgetBackup(to: directory)
    case .failure(.system): try requireFault("a backup failed")
    case .failure(let error): throw Finding(.dishonest, "a backup failed with \(error)")
    }
    try oracle.checkBackups(on: disk.image.after(.kill))
    if let unknown { return try resume(after: unknown, in: store) }
    try compare(with: store)
  }

  /// Reports to the oracle the commits that ran during a flush or a backup. Returns the first commit with an
  /// unknown outcome, or nil.
  private mutating func record(
    _ commits: [InterleavedCommits.Commit], after last: Int
  ) throws(Finding) -> Edit? {
    var sequence = last
    var unknown: Edit?
    for commit in commits {
      switch try Self.outcome(of: commit.result) {
      case .acknowledged(let found):
        sequence += 1
        guard found == sequence, unknown == nil else {
          throw Finding(.ghost, "commit \(sequence) was acknowledged as \(found)")
        }
        oracle.begin(commit.edit, at: commit.beganAt)
        oracle.acknowledge(sequence, commit.edit.durability, at: commit.endedAt)
      case .refused:
        try requireFault("a commit was refused")
      case .unknown:
        try requireFault("the outcome of a commit is unknown")
        guard unknown == nil else { continue }
        unknown = commit.edit
        oracle.begin(commit.edit, at: commit.beganAt)
      }
    }
    return unknown
  }

  // MARK: Committing

  private enum Outcome {
    case acknowledged(Int)
    case refused
    case unknown
  }

  private mutating func commit(_ edit: Edit, to store: ByteStore) throws(Finding) {
    let last = oracle.acknowledged
    oracle.begin(edit, at: operations)
    switch try Self.outcome(of: edit, in: store) {
    case .acknowledged(let sequence):
      guard sequence == last + 1 else {
        throw Finding(.ghost, "commit \(last + 1) was acknowledged as \(sequence)")
      }
      oracle.acknowledge(sequence, edit.durability, at: operations)
      if !edit.isRemovalOnly { hasReserve = true }
    case .refused:
      oracle.forget(after: last)
      try requireFault("a commit was refused")
      if edit.isRemovalOnly { try requireNoReserve("a removal was refused") }
      try compare(with: store)
    case .unknown:
      try requireFault("the outcome of a commit is unknown")
      try requireNoReserve("a full disk ended all writing")
      try resume(after: edit, in: store)
    }
  }

  /// Runs the first commit. While it waits for its sync, the other commits queue up in order.
  private mutating func commitConcurrently(_ edits: [Edit], to store: ByteStore) throws(Finding) {
    guard plan.setting.commitsWaiting != nil || plan.fault == nil, !plan.schedulesJobs else {
      // If the queue cannot be observed, it is not known which commit of a failed group came first. If jobs
      // are scheduled, the order in which the group's threads submit their jobs is not known either.
      for edit in edits where self.store === store { try commit(edit, to: store) }
      return
    }
    let last = oracle.acknowledged
    let start = operations
    for edit in edits { oracle.begin(edit, at: start) }
    let followers = GroupOfCommits(edits.dropFirst(), in: store, waiting: plan.setting.commitsWaiting)
    disk.beforeNextSync { followers.queueUp() }
    let first = Result { () throws(Finding) in try Self.outcome(of: edits[0], in: store) }
    followers.commitOneByOne()
    disk.beforeNextSync(nil)
    let results =
      [first]
      + followers.results().map { result in
        Result { () throws(Finding) in try Self.outcome(of: result) }
      }

    var acknowledged: [(sequence: Int, edit: Edit)] = []
    var unknown: [Edit] = []
    for (edit, result) in zip(edits, results) {
      switch try result.get() {
      case .acknowledged(let sequence): acknowledged.append((sequence, edit))
      case .refused: try requireFault("a commit was refused")
      case .unknown: unknown.append(edit)
      }
    }
    acknowledged.sort { $0.sequence < $1.sequence }
    oracle.forget(after: last)
    for (number, commit) in acknowledged.enumerated() {
      guard commit.sequence == last + 1 + number else {
        throw Finding(.ghost, "commit \(last + 1 + number) was acknowledged as \(commit.sequence)")
      }
      oracle.begin(commit.edit, at: start)
      oracle.acknowledge(commit.sequence, commit.edit.durability, at: operations)
    }
    for edit in unknown { oracle.begin(edit, at: start) }
    guard let edit = unknown.first else { return try compare(with: store) }
    try requireFault("the outcome of a commit is unknown")
    try resume(after: edit, in: store)
  }

  private static func outcome(of edit: Edit, in store: ByteStore) throws(Finding) -> Outcome {
    try outcome(
      of: Result { () throws(ByteStoreError) in
        try store.commit(edit.batch, durability: edit.durability)
      })
  }

  private static func outcome(
    of result: Result<SequenceNumber, ByteStoreError>
  ) throws(Finding) -> Outcome {
    switch result {
    case .success(let sequence): .acknowledged(Int(sequence.value))
    case .failure(.system), .failure(.flushImpossible): .refused
    case .failure(.outcomeUnknown): .unknown
    case .failure(let error): throw Finding(.dishonest, "a commit failed with \(error)")
    }
  }

  /// Checks that after an unknown outcome the writer refuses every commit until the next open, and that reads
  /// still work (C4). Then reopens the store.
  private mutating func resume(after edit: Edit, in store: ByteStore) throws(Finding) {
    try compare(with: store)
    if case .acknowledged = try Self.outcome(of: edit, in: store) {
      throw Finding(.dishonest, "a commit succeeded after one whose outcome is unknown")
    }
    _ = try close(store)
    try open()
  }

  private func requireFault(_ what: String) throws(Finding) {
    guard disk.counters.faults == 0 else { return }
    throw Finding(.dishonest, "\(what) without a fault")
  }

  /// Checks that the open store shows exactly the commits that it acknowledged.
  private func compare(with store: ByteStore) throws(Finding) {
    let points = oracle.expectation(at: operations, after: .kill).points
    let acknowledged = oracle.acknowledged
    guard Int(store.lastCommit.value) == acknowledged else {
      throw Finding(
        .ghost, "the store shows commit \(store.lastCommit.value), and \(acknowledged) is the last")
    }
    try points[acknowledged].compare(with: store, at: acknowledged, isAcceptable)
    for (snapshot, commit) in snapshots {
      try points[commit].compare(withState: snapshot, at: commit, isAcceptable)
    }
  }

  /// Accepts a failed read after a fault. Reports of damaged data are never accepted, because a crash does
  /// not damage a store.
  private var isAcceptable: ErrorPredicate {
    let disk = disk
    return { error in
      guard case .system = error else { return false }
      return disk.counters.faults > 0
    }
  }
}
