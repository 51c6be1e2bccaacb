// Builds a store from all readable data of a damaged store, and quarantines the originals.
//
//   1. lock
//   2. resume    complete a salvage that was interrupted during its switch
//   3. check     quarantine entries of another kind with the name of a store file (SalvageClearing);
//                leave a healthy store alone, unless the upper layer cannot decode some of its entries
//   4. sources   classify files by their headers (SalvageSources)
//   5. base      choose the checkpoint that explains most, which decides which entries are live
//                (SalvageCheckpoint)
//   6. table     add entries, then commits; remove definitions that the upper layer cannot decode; then
//                add missing entries from the contexts of logs and from checkpoints (SalvageKeyDirectory)
//   7. judge     remove entries that the upper layer cannot decode, and report what is lost
//                (SalvageLosses)
//   8. write     write segments, a checkpoint and a manifest of a new store, with salvaged names
//   9. switch    quarantine the originals, and rename the new files (SalvageDirectory)
//
// Nothing is deleted. The old files are only read before step 9, and an interrupted step 9 can be
// resumed at any point. After a crash at any time, a salvage of the directory therefore gives the same
// keys. The new store has a new id, so that a file in quarantine is never taken for a part of it.

package import ByteStore
import Libc

extension ByteStore {
  /// Builds a store that can be opened, from all readable data. A healthy store is left alone.
  ///
  /// The upper layer returns entries that must exist, from the data that it keeps in a checkpoint. Those
  /// entries whose keys are missing are added. It also decides which entries cannot be decoded. Undecodable
  /// entries are left out, and a store that contains any of them is not healthy. `observer`
  /// learns what is lost before a file of the store is changed.
  package static func salvage(
    _ path: String, platform: Platform = .real, upperLayer: SalvageUpperLayer = SalvageUpperLayer(),
    progress: ((CheckProgress) -> Void)? = nil, observer: SalvageObserver? = nil
  ) throws(ByteStoreError) -> SalvageReport {
    let directory = try openStoreDirectory(path, platform)
    let lock = try takeLockForRepair(of: directory)
    defer { lock.release() }
    var salvage = Salvage(
      directory, lock, platform: platform, restore: upperLayer.restore, judge: upperLayer.judge,
      observer: observer, progress)
    return try salvage.run()
  }
}

/// The part of a salvage that the upper layer contributes.
package struct SalvageUpperLayer {
  package let restore: SalvageRestore
  package let judge: (any EntryJudge)?

  package init(restore: @escaping SalvageRestore = { _ in [] }, judge: (any EntryJudge)? = nil) {
    self.restore = restore
    self.judge = judge
  }
}

/// Decides which entries of a salvaged store can be decoded. The upper layer implements it.
package protocol EntryJudge: AnyObject {
  /// Calls `check` with an inspector and returns the resulting report. Calls `check` again if the inspector
  /// has learnt definitions in the first run.
  func report(
    _ check: (@escaping EntryInspector) throws(ByteStoreError) -> CheckReport
  ) throws(ByteStoreError) -> CheckReport

  /// The name of an entry that other entries need for decoding, if the entry itself cannot be decoded;
  /// otherwise nil.
  func brokenDefinition(_ key: RawSpan, _ value: RawSpan) -> String?

  /// The undecodable entries among all entries of a store. Each call of `forEach` visits all of them.
  func undecodable(
    _ forEach: (_ body: (_ key: RawSpan, _ value: RawSpan) -> Void) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) -> [(key: [UInt8], name: String)]

  /// Passes the keys that a checkpoint names to `body`, each with its ordinal. Returns the keys on unreadable
  /// pages.
  func forEachKey(
    in pages: SalvagePages, _ body: (_ key: [UInt8], _ ordinal: UInt32) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) -> [UnreadableKeys]
}

struct Salvage {
  private let directory: any OpenDirectory
  private let lock: any DirectoryLock
  private let platform: Platform
  private let restore: SalvageRestore
  private let judge: (any EntryJudge)?
  private let observer: SalvageObserver?
  private let progress: ((CheckProgress) -> Void)?

  init(
    _ directory: any OpenDirectory, _ lock: any DirectoryLock, platform: Platform,
    restore: @escaping SalvageRestore, judge: (any EntryJudge)?, observer: SalvageObserver?,
    _ progress: ((CheckProgress) -> Void)?
  ) {
    self.observer = observer
    self.directory = directory
    self.lock = lock
    self.platform = platform
    self.restore = restore
    self.judge = judge
    self.progress = progress
  }

  // MARK: Steps

  mutating func run() throws(ByteStoreError) -> SalvageReport {
    var names = try system { () throws(SystemFailure) in try directory.names() }
    if let manifest = try SalvageSwitch.interrupted(Set(names), directory) {
      let cleared = try SalvageClearing(names, directory, platform: platform)
      var report = try resume(manifest)
      report.quarantined += cleared.quarantined
      return report
    }
    var check = Check(directory, lock, platform: platform, progress)
    try check.run()
    var checked = try inspected(check.report)
    guard !checked.isSound else { return try healthy(check, names) }
    let damage = checked.findings
    let cleared = try SalvageClearing(names, directory, platform: platform)
    if !cleared.quarantined.isEmpty {
      names = try system { () throws(SystemFailure) in try directory.names() }
      check = Check(directory, lock, platform: platform, progress)
      try check.run()
      checked = try inspected(check.report)
      if checked.isSound { return try healthy(check, names).cleared(cleared, damage) }
    }
    try SalvageSwitch.removeUnfinished(directory)
    var report = SalvageReport(outcome: .salvaged, damage: damage)
    let sources = try SalvageSources(names, directory, platform: platform)
    defer { sources.close() }
    report.foreign = sources.foreign
    report.filesRead = sources.filesRead
    let gathered = try gather(sources, report)
    report = gathered.report
    let manifest: Manifest
    do throws(ByteStoreError) {
      manifest = try write(gathered.table, gathered.segments, old: sources.manifest, names: names)
    } catch {
      try? SalvageSwitch.removeUnfinished(directory)
      throw error
    }
    report = try switchOver(manifest, report, number: cleared.number)
    report.quarantined += cleared.quarantined
    return report
  }

  /// The report of a check. If all bytes are intact, the upper layer's judge checks the entries as well.
  private func inspected(_ report: CheckReport) throws(ByteStoreError) -> CheckReport {
    guard report.isSound, let judge else { return report }
    let (directory, lock, platform, restore, progress) = (directory, lock, platform, restore, progress)
    return try judge.report { inspect throws(ByteStoreError) in
      let upperLayer = UpperLayerCheck(inspect: inspect, restore: restore)
      var check = Check(directory, lock, platform: platform, upperLayer: upperLayer, progress)
      try check.run()
      return check.report
    }
  }

  private func healthy(_ check: Check, _ names: [String]) throws(ByteStoreError) -> SalvageReport {
    if names.contains(where: StoreFile.isSalvaged) {
      try ByteStore.write(check.manifest.successor(), directory, platform: platform)
      try SalvageSwitch.removeUnfinished(directory)
    }
    var report = SalvageReport(storeID: check.manifest.storeID)
    report.keys = check.report.keys
    report.checkpoint = .whole
    return report
  }

  private func resume(_ manifest: Manifest) throws(ByteStoreError) -> SalvageReport {
    var report = try switchOver(
      manifest.successor(), SalvageReport(outcome: .completed), number: nil, isResuming: true)
    if let entry = manifest.checkpoint {
      let checkpoint = try CheckpointFile(entry, storeID: manifest.storeID, in: directory, platform: platform)
      report.keys = checkpoint.header.keys
    }
    return report
  }

  // MARK: Collecting entries

  private struct Gathered {
    var table: KeyDirectory
    var segments: [SegmentSource]
    var report: SalvageReport
  }

  private func gather(
    _ sources: SalvageSources, _ report: SalvageReport
  ) throws(ByteStoreError) -> Gathered {
    let judge = try SalvageBase.choose(sources)
    var report = report
    report.checkpoint = judge.map { $0.isIntact ? .whole : .partial } ?? .none
    for loss in sources.openLogLosses {
      report.addGap("\(directory.path)/\(loss.name)", loss.range, reason: loss.reason)
    }
    let chosen = SalvageBase.segments(sources, judge)
    if judge == nil, chosen.isEmpty, sources.isKnownToHaveNoCheckpoint { report.checkpoint = .whole }
    var done: UInt64 = 0
    let total = sources.segments.reduce(0) { $0 + $1.file.size }
    var table = SalvageKeyDirectory(
      sources, judge, report: report, directory: directory, platform: platform, observer: observer
    ) { file, bytes in
      done += bytes
      progress?(CheckProgress(file: file, bytesDone: done, bytesTotal: max(done, total)))
    }
    try table.addSegments(chosen, platform)
    try table.applyLogs(from: SalvageBase.firstLog(sources, judge))
    // Before broken definitions are removed: they were found, so the checkpoint does not restore lost ones.
    if let judge {
      try table.noteRestorable(restore { region in (try? judge.source.payloads(region)) ?? [nil] })
    }
    // Remove broken definitions before missing entries are added, so that a valid definition elsewhere can
    // replace a broken one.
    if let layer = self.judge { try table.removeBrokenDefinitions(layer) }
    for log in sources.logs { try table.addMissing(try log.context(directory), self.judge) }
    for checkpoint in sources.checkpoints {
      try table.addMissing(
        restore { region in (try? checkpoint.payloads(region)) ?? [nil] }, self.judge)
    }
    if let layer = self.judge { try table.removeUndecodable(layer) }
    let result = table.finish()
    if let layer = self.judge { try table.reportLosses(layer) }
    return Gathered(table: result, segments: table.segments, report: table.report)
  }

  // MARK: Writing

  private func write(
    _ table: KeyDirectory, _ segments: [SegmentSource], old: Manifest?, names: [String]
  ) throws(ByteStoreError) -> Manifest {
    var manifest = Manifest(storeID: platform.random.randomID())
    let numbers = FileNumbers(old, names)
    manifest.nextLogNumber = numbers.nextLog
    let target = FlushJob.Target(
      directory: SalvageDirectory(directory: directory), platform: platform, storeID: manifest.storeID,
      segmentBytesMax: ByteStore.Options().segmentBytesMax, nextNumber: { numbers.next() })
    var job = FlushJob(table, target)
    try job.writeMemtable()
    for (slot, source) in segments.enumerated() { try job.rescue(source, slot: slot) }
    try job.endSegments()
    // If an entry was readable before and is missing now, the cause is a device error.
    guard job.moves.count == table.keys else {
      job.discard()
      throw .system(SystemFailure(operation: "pread", path: directory.path, code: EIO))
    }
    let position = LogHeader.LogEnd(fileID: .zero, length: 0, sequence: table.published)
    manifest.checkpoint = try job.writeCheckpoint(position: position, nil)
    manifest.segments = job.segmentsLeft.map(\.entry).sorted { $0.number < $1.number }
    manifest.nextFileNumber = numbers.next()
    try system { () throws(SystemFailure) in try directory.sync() }
    return manifest
  }

  private func switchOver(
    _ manifest: Manifest, _ report: SalvageReport, number: UInt64?, isResuming: Bool = false
  ) throws(ByteStoreError) -> SalvageReport {
    var change = SalvageSwitch(manifest, directory, platform: platform, number: number)
    try change.run(isResuming: isResuming)
    var report = report
    report.quarantined = change.quarantined
    report.storeID = manifest.storeID
    return report
  }
}

/// File numbers that are unused in the directory.
private final class FileNumbers {
  let nextLog: LogNumber
  private var value: UInt64

  init(_ manifest: Manifest?, _ names: [String]) {
    // Ignore numbers near the maximum. They cannot belong to a store, and no unused numbers would be left
    // above them.
    func next(_ numbers: [UInt64]) -> UInt64 { (numbers.filter { $0 < .max / 2 }.max() ?? 0) + 1 }
    let originals = names.map { StoreFile.quarantineParts(of: $0)?.original ?? $0 }
    let logs = originals.compactMap { StoreFile.logNumber(of: $0)?.value }
    nextLog = LogNumber(next(logs + [manifest?.nextLogNumber.value ?? 0]))
    let files = originals.compactMap {
      (StoreFile.segmentNumber(of: $0) ?? StoreFile.checkpointNumber(of: $0))?.value
    }
    value = next(files + [manifest?.nextFileNumber.value ?? 0])
  }

  func next() -> FileNumber {
    defer { value += 1 }
    return FileNumber(value)
  }
}

/// Chooses the checkpoint that a salvage is based on.
///
/// The reach of a checkpoint is the last commit up to which the logs continue from the checkpoint without a
/// gap. An intact checkpoint whose reach covers the last commit of every segment and checkpoint explains
/// everything. Such a checkpoint is preferred, above all if none of its segments is missing. Otherwise the
/// checkpoint that the manifest names is preferred, and then the newest.
enum SalvageBase {
  static func choose(_ sources: SalvageSources) throws(ByteStoreError) -> CheckpointJudge? {
    let judges = try sources.checkpoints.map { source throws(ByteStoreError) in
      try CheckpointJudge(source, sources.manifest)
    }
    let named = sources.manifest?.checkpoint?.fileID
    let present = Set(sources.segments.map(\.header.number.value))
    let best = judges.max { left, right in rank(left) < rank(right) }
    func rank(_ judge: CheckpointJudge) -> Rank {
      let reach = reach(from: judge.position ?? .none, sources)
      return Rank(
        explains: judge.isIntact && reach >= needed(sources),
        isComplete: judge.segmentNumbers.isSubset(of: present),
        isIntact: judge.isIntact, isNamed: judge.source.header.fileID == named,
        position: judge.position ?? .none)
    }
    guard let best, !(rank(best).explains && rank(best).isComplete), logsAreComplete(sources) else {
      return best
    }
    // The logs contain everything, so no checkpoint is needed.
    return nil
  }

  /// The segments to read: the segments that the checkpoint lists, or else those that the manifest lists, or
  /// else all. Empty if there is no checkpoint and the logs contain everything.
  static func segments(_ sources: SalvageSources, _ judge: CheckpointJudge?) -> [SegmentSource] {
    if judge == nil, logsAreComplete(sources) { return [] }
    let numbers = judge?.segmentNumbers ?? []
    let known = numbers.isEmpty ? Set(sources.manifest?.segments.map(\.number.value) ?? []) : numbers
    let chosen = sources.segments.filter { known.contains($0.header.number.value) }
    return chosen.isEmpty ? sources.segments : chosen
  }

  private struct Rank: Comparable {
    var explains: Bool
    var isComplete: Bool
    var isIntact: Bool
    var isNamed: Bool
    var position: SequenceNumber

    static func < (left: Rank, right: Rank) -> Bool {
      left.key.lexicographicallyPrecedes(right.key)
    }

    private var key: [UInt64] {
      [explains && isComplete ? 1 : 0, explains ? 1 : 0, isNamed ? 1 : 0, position.value, isIntact ? 1 : 0]
    }
  }

  /// Whether the logs, from the first commit on, contain everything that segments and checkpoints
  /// contain.
  static func logsAreComplete(_ sources: SalvageSources) -> Bool {
    guard !sources.segments.isEmpty || !sources.checkpoints.isEmpty else { return true }
    // A file without a valid header may contain later commits.
    let isKnown =
      sources.segments.allSatisfy(\.isHeaderSound) && sources.checkpoints.allSatisfy(\.isHeaderSound)
    return isKnown && needed(sources) > .none && reach(from: .none, sources) >= needed(sources)
  }

  /// The last commit that any segment or checkpoint covers.
  private static func needed(_ sources: SalvageSources) -> SequenceNumber {
    let segments = sources.segments.filter(\.isHeaderSound).map(\.header.asOf)
    let checkpoints = sources.checkpoints.filter(\.isHeaderSound).map(\.header.position.sequence)
    return (segments + checkpoints).max() ?? .none
  }

  private static func reach(from position: SequenceNumber, _ sources: SalvageSources) -> SequenceNumber {
    var reach = position.value
    for range in sources.logs.flatMap(\.commits).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if range.lowerBound <= reach + 1 { reach = max(reach, range.upperBound) }
    }
    return SequenceNumber(reach)
  }

  /// The first log to replay. If the checkpoint is the one that the manifest names, it covers all logs before
  /// the manifest's first log.
  static func firstLog(_ sources: SalvageSources, _ judge: CheckpointJudge?) -> LogNumber {
    guard let manifest = sources.manifest, let judge,
      manifest.checkpoint?.fileID == judge.source.header.fileID
    else { return LogNumber(0) }
    return manifest.logs.first?.number ?? manifest.nextLogNumber
  }
}
