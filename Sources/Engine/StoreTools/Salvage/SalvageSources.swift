// Finds the sources of a salvage. Files are classified by their headers, not by their names.
//
//   1. heads     the first page of every file gives its kind and its store
//   2. store     choose the store of most files; quarantined files count only if there are no others
//   3. sources   use the files of that store, and the files whose store is unknown
//   4. the rest  report possible commits of the current log that no file proves or rules out
//
// A file with a damaged header is classified by its name.

import ByteStore

struct SalvageSources {
  /// The id of the store to salvage; nil if no file names a store.
  private(set) var storeID: RandomID?
  /// The manifest of the store with the id `storeID`.
  private(set) var manifest: Manifest?
  private(set) var segments: [SegmentSource] = []
  private(set) var checkpoints: [CheckpointSource] = []
  private(set) var logs: [LogSource] = []
  /// The names of files that belong to another store.
  private(set) var foreign: [String] = []
  /// Unreadable parts of the current log that may have held commits. Without a manifest, each log may
  /// have been the current one.
  private(set) var openLogLosses: [LogLoss] = []

  private let directory: any OpenDirectory
  private let platform: Platform
  /// The names of logs that were at least partly readable, including logs of which a better copy exists.
  private var logsRead: Set<String> = []

  /// A file about which the salvage has not decided yet whether to use it.
  private struct Head {
    var name: String
    /// The name that the file had before it was quarantined.
    var original: String
    var isQuarantined: Bool
    var kind: FileKind
    var storeID: RandomID?
    var manifest: Manifest?
  }

  init(
    _ names: [String], _ directory: any OpenDirectory, platform: Platform
  ) throws(ByteStoreError) {
    self.directory = directory
    self.platform = platform
    let heads = try Self.heads(names, directory)
    storeID = try Self.store(of: heads, directory)
    let isLiveWithManifest = heads.contains { !$0.isQuarantined && $0.manifest?.storeID == storeID }
    let used = heads.filter { head in
      guard head.storeID == nil || head.storeID == storeID else { return false }
      // A quarantined file is used only if it certainly belongs to this store and the store has no
      // manifest.
      return !head.isQuarantined || storeID != nil && head.storeID == storeID && !isLiveWithManifest
    }
    foreign = heads.filter { !$0.isQuarantined && $0.storeID != nil && $0.storeID != storeID }.map(\.name)
    manifest = used.compactMap(\.manifest).max { $0.generation < $1.generation }
    try readCheckpoints(used.filter { $0.kind == .checkpoint })
    try readSegments(used.filter { $0.kind == .segment })
    try readLogs(used.filter { $0.kind == .log })
    try findOpenLogLosses(used)
  }

  /// The number of files that were at least partly readable.
  var filesRead: Int { segments.count + checkpoints.count + logs.count + (manifest == nil ? 0 : 1) }

  /// Whether the store never had a checkpoint. The manifest shows this. Without a manifest, it is true if the
  /// logs begin with the first commit.
  var isKnownToHaveNoCheckpoint: Bool {
    manifest.map { $0.checkpoint == nil } ?? (logs.flatMap(\.commits).map(\.lowerBound).min() == 1)
  }

  /// Closes the files of checkpoints. Segment files are closed by their readers.
  func close() {
    for checkpoint in checkpoints { checkpoint.file.close() }
  }

  // MARK: Heads

  private static func heads(
    _ names: [String], _ directory: any OpenDirectory
  ) throws(ByteStoreError) -> [Head] {
    var heads: [Head] = []
    for name in names.sorted() {
      let quarantined = StoreFile.quarantineParts(of: name)
      let original = quarantined?.original ?? name
      guard let named = kind(named: original), let file = try TolerantFile(name, in: directory) else {
        continue
      }
      defer { file.close() }
      let page = try file.read(SegmentFormat.pageBytes, at: 0) ?? []
      // A recycled log file is not used, unless it still has the header of a log.
      guard let kind = kind(ofBytes: page) ?? (original == StoreFile.recycledLog ? nil : named) else {
        continue
      }
      var head = Head(
        name: name, original: original, isQuarantined: quarantined != nil, kind: kind, storeID: nil,
        manifest: nil)
      try read(&head, page, file: file)
      heads.append(head)
    }
    return heads
  }

  private static func read(
    _ head: inout Head, _ page: [UInt8], file: TolerantFile
  ) throws(ByteStoreError) {
    let path = file.path
    switch head.kind {
    case .manifest:
      let bytes = try file.read(Manifest.bytesMax, at: 0) ?? []
      head.manifest = try Manifest.decode(bytes, file: path).header
      head.storeID = head.manifest?.storeID
    case .log:
      head.storeID = try LogHeader.decode(page, file: path).header?.storeID
    case .segment:
      head.storeID = try SegmentHeader.decode(page, file: path).header?.storeID
    case .checkpoint:
      head.storeID = try CheckpointHeader.decode(page, file: path).header?.storeID
    }
  }

  private static func kind(named name: String) -> FileKind? {
    if name == StoreFile.manifest || name == StoreFile.newManifest { return .manifest }
    if name == StoreFile.recycledLog || StoreFile.logNumber(of: name) != nil { return .log }
    if StoreFile.segmentNumber(of: name) != nil { return .segment }
    return StoreFile.isCheckpoint(name) ? .checkpoint : nil
  }

  private static func kind(ofBytes bytes: [UInt8]) -> FileKind? {
    let kinds: [([UInt8], FileKind)] = [
      (Manifest.signature.magic, .manifest), (LogHeader.signature.magic, .log),
      (SegmentHeader.signature.magic, .segment), (CheckpointHeader.signature.magic, .checkpoint),
    ]
    return kinds.first { bytes.starts(with: $0.0) }?.1
  }

  /// Whether a recycled log file still has the header of a log.
  static func isLog(_ name: String, _ directory: any OpenDirectory) throws(ByteStoreError) -> Bool {
    guard let file = try TolerantFile(name, in: directory) else { return false }
    defer { file.close() }
    return kind(ofBytes: try file.read(8, at: 0) ?? []) == .log
  }

  // MARK: The store

  private static func store(
    of heads: [Head], _ directory: any OpenDirectory
  ) throws(ByteStoreError) -> RandomID? {
    if let live = try majority(heads.filter { !$0.isQuarantined }, directory) { return live }
    let last = heads.compactMap { StoreFile.quarantineParts(of: $0.name)?.number }.max()
    return try majority(heads.filter { StoreFile.quarantineParts(of: $0.name)?.number == last }, directory)
  }

  /// The store that most files name. If two stores have the same number of files, throws an error that only a
  /// person can resolve.
  private static func majority(
    _ heads: [Head], _ directory: any OpenDirectory
  ) throws(ByteStoreError) -> RandomID? {
    var votes: [RandomID: Int] = [:]
    for head in heads {
      if let storeID = head.storeID { votes[storeID, default: 0] += 1 }
    }
    guard let most = votes.values.max() else { return nil }
    let winners = votes.filter { $0.value == most }.map(\.key).sorted { $0.description < $1.description }
    guard winners.count > 1 else { return winners[0] }
    let manifest = heads.first { $0.manifest != nil }?.storeID ?? winners[0]
    let other = heads.first { $0.storeID != nil && $0.storeID != manifest }
    throw .foreignFile(
      file: "\(directory.path)/\(other?.name ?? StoreFile.manifest)", expected: manifest,
      found: other?.storeID ?? winners[1])
  }

  // MARK: Sources

  private mutating func readCheckpoints(_ heads: [Head]) throws(ByteStoreError) {
    for head in heads {
      guard let file = try TolerantFile(head.name, in: directory) else { continue }
      let number = StoreFile.checkpointNumber(of: head.original)
      let entry = manifest?.checkpoint.flatMap { $0.number == number ? $0 : nil }
      guard let source = try CheckpointSource.read(file, entry, platform: platform),
        !checkpoints.contains(where: { $0.header.fileID == source.header.fileID && $0.isHeaderSound })
      else {
        file.close()
        continue
      }
      checkpoints.append(source)
    }
  }

  /// Reads segments and sorts them by number, which is the order of their creation. Damaged segments are read
  /// last, because they may need the dictionary of another segment.
  private mutating func readSegments(_ heads: [Head]) throws(ByteStoreError) {
    var dictionaries: [EntryDictionary] = []
    var damaged: [Head] = []
    for head in heads {
      guard let source = try readSegment(head, []) else {
        damaged.append(head)
        continue
      }
      if let dictionary = source.dictionary, source.damages.isEmpty {
        if !dictionaries.contains(where: { $0.bytes == dictionary.bytes }) { dictionaries.append(dictionary) }
        add(source)
      } else {
        source.file.close()
        damaged.append(head)
      }
    }
    for head in damaged {
      if let source = try readSegment(head, dictionaries) { add(source) }
    }
    segments.sort { $0.header.number < $1.header.number }
    var asOf = SequenceNumber.none
    for index in segments.indices {
      // Segments are created in the order of their numbers. So if the commit number of a segment is unknown,
      // use the previous segment's commit number as a lower bound.
      if !segments[index].isHeaderSound { segments[index].assume(asOf: asOf) }
      asOf = max(asOf, segments[index].header.asOf)
    }
  }

  private func readSegment(
    _ head: Head, _ dictionaries: [EntryDictionary]
  ) throws(ByteStoreError) -> SegmentSource? {
    guard let file = try TolerantFile(head.name, in: directory) else { return nil }
    let number = StoreFile.segmentNumber(of: head.original)
    let entry = manifest?.segments.first { $0.number == number }
    let hints = SegmentSource.Hints(entry: entry, number: number, dictionaries: dictionaries)
    let source = try SegmentSource.read(file, hints, platform: platform).source
    if source == nil { file.close() }
    return source
  }

  private mutating func add(_ source: SegmentSource) {
    if segments.contains(where: { $0.fileID == source.fileID }) { return source.file.close() }
    segments.append(source)
  }

  private mutating func readLogs(_ heads: [Head]) throws(ByteStoreError) {
    var found: [LogSource] = []
    for head in heads {
      let number = StoreFile.logNumber(of: head.original)
      let entry = manifest?.logs.first { $0.number == number }
      guard let log = try LogSource(head.name, number, entry: entry, directory: directory, platform: platform)
      else { continue }
      found.append(log)
      logsRead.insert(head.name)
    }
    // A valid copy takes precedence over a damaged one.
    found.sort {
      ($0.number, $0.header == nil ? 1 : 0, $0.name) < ($1.number, $1.header == nil ? 1 : 0, $1.name)
    }
    for log in found where !logs.contains(where: { $0.fileID == log.fileID }) { logs.append(log) }
    var ends: [RandomID: UInt64] = [:]
    for log in manifest?.logs ?? [] { ends[log.fileID] = log.end?.length }
    // Go from the last log to the first. Each log records the end of the previous log, and the log's own
    // commits decide whether this record is trusted.
    for index in logs.indices.reversed() {
      logs[index].recordedEnd = ends[logs[index].fileID]
      try logs[index].findCommits(directory)
      if let previous = logs[index].header?.previous, ends[previous.fileID] == nil,
        isTrustedAboutPreviousLog(logs[index])
      {
        ends[previous.fileID] = previous.length
      }
    }
  }

  /// Whether the end of the previous log that this log's header records can be trusted. After a failed
  /// rotation, the store may have continued to write to the previous log. A crash may then bring back the
  /// file of the failed rotation, which is empty.
  private func isTrustedAboutPreviousLog(_ log: LogSource) -> Bool {
    guard log.header != nil else { return false }
    guard let manifest, !log.hasFrames else { return true }
    return manifest.logs.contains { $0.fileID == log.fileID }
  }

  // MARK: The current log

  struct LogLoss {
    var name: String
    var range: Range<UInt64>
    var reason: String
  }

  /// Finds the parts of the current log that may have held commits. No manifest records the end of the
  /// current log, so missing commits would otherwise go unnoticed.
  private mutating func findOpenLogLosses(_ used: [Head]) throws(ByteStoreError) {
    guard manifest != nil else { return try findUnreadLogs(used) }
    guard let entry = openLog(used), !isEndRecordedElsewhere(of: entry) else { return }
    if let log = logs.first(where: { $0.fileID == entry.fileID }) {
      openLogLosses = log.unknown.map { LogLoss(name: log.name, range: $0.range, reason: $0.reason) }
      return
    }
    let name = StoreFile.log(entry.number)
    let head = used.first { $0.original == name }
    if let head, head.storeID == nil, try isUnusedLog(head.name, entry) { return }
    let reason =
      if let head, head.storeID != nil {
        "another file of this store lies in the place of the log that was in use"
      } else if head != nil {
        "nothing can be read of the log that was in use"
      } else if foreign.contains(name) {
        "a file of another store lies in the place of the log that was in use"
      } else {
        "the log that was in use is not there"
      }
    let start = UInt64(LogFormat.pageBytes)
    openLogLosses = [
      LogLoss(name: head?.name ?? name, range: start..<max(start, entry.capacity), reason: reason)
    ]
  }

  /// Adds every log of which nothing is readable. No file shows whether such a log was closed or current, or
  /// whether its commits exist elsewhere.
  private mutating func findUnreadLogs(_ used: [Head]) throws(ByteStoreError) {
    let start = UInt64(LogFormat.pageBytes)
    for head in used where head.kind == .log && head.original != StoreFile.recycledLog {
      guard !logsRead.contains(head.name), let file = try TolerantFile(head.name, in: directory) else {
        continue
      }
      defer { file.close() }
      openLogLosses.append(
        LogLoss(
          name: head.name, range: start..<max(start, file.size),
          reason: "nothing can be read of the log, and no manifest says what it had"))
    }
  }

  /// The log whose end no manifest records, so that an open would replay it as far as its frames go. A log
  /// that only `MANIFEST.new` names is excluded, because a crash may leave that file without the log. A log
  /// whose end `MANIFEST.new` records is excluded as well.
  private func openLog(_ used: [Head]) -> Manifest.Log? {
    let named = used.filter { $0.original == StoreFile.manifest }.compactMap(\.manifest)
      .max { $0.generation < $1.generation }
    guard let manifest, let log = (named ?? manifest).logs.last, log.end == nil,
      manifest.logs.contains(log)
    else { return nil }
    return log
  }

  /// Whether a later log or a checkpoint records the log's end. An older manifest does not contain this
  /// record.
  private func isEndRecordedElsewhere(of log: Manifest.Log) -> Bool {
    logs.contains { $0.number > log.number && isTrustedAboutPreviousLog($0) }
      || checkpoints.contains { $0.isHeaderSound && $0.header.position.fileID == log.fileID }
  }

  /// Whether a log with a damaged header contains nothing after the header, because the store had rotated to
  /// the log and written nothing yet. The header was on disk before a manifest named the log
  /// (docs/reliability.md, C3). If the header page contains only zeros, more than the header may be lost, so
  /// this is false.
  private func isUnusedLog(_ name: String, _ log: Manifest.Log) throws(ByteStoreError) -> Bool {
    guard log.capacity <= LogFormat.capacityMax, let file = try TolerantFile(name, in: directory) else {
      return false
    }
    defer { file.close() }
    guard let page = try file.read(LogFormat.pageBytes, at: 0), page.contains(where: { $0 != 0 }) else {
      return false
    }
    let partBytes: UInt64 = 64 << 10
    var offset = UInt64(LogFormat.pageBytes)
    while offset < log.capacity {
      let count = Int(min(partBytes, log.capacity - offset))
      guard let part = try file.read(count, at: offset), part.count == count, part.allSatisfy({ $0 == 0 })
      else { return false }
      offset += UInt64(count)
    }
    return true
  }
}

/// A log with readable frames.
struct LogSource {
  let name: String
  let number: LogNumber
  let fileID: RandomID
  /// The header; nil if it is damaged.
  let header: LogHeader?
  /// The end that the manifest or the next log records.
  var recordedEnd: UInt64?
  /// The sequence numbers of the readable commits, in ranges without gaps.
  private(set) var commits: [ClosedRange<UInt64>] = []
  /// Whether the log contains a commit or a close marker.
  private(set) var hasFrames = false
  /// Ranges after the last frame that may have held commits. These ranges are unreadable or beyond the end of
  /// the file, so they cannot be distinguished from unused space.
  private(set) var unknown: [(range: Range<UInt64>, reason: String)] = []
  private let platform: Platform

  /// Reads the log; nil if no frame is readable.
  init?(
    _ name: String, _ number: LogNumber?, entry: Manifest.Log?, directory: any OpenDirectory,
    platform: Platform
  ) throws(ByteStoreError) {
    guard let found = try Self.bytes(name, directory) else { return nil }
    let (file, bytes) = (found.file, found.bytes)
    let (header, _) = try LogHeader.decode(bytes, file: file.path)
    var raw = ByteReader(bytes.rawSpan)
    let claimed = raw.skip(16) ? raw.randomID() : nil
    let ids = header.map { [$0.fileID] } ?? [entry?.fileID, claimed].compactMap(\.self)
    guard let fileID = header?.fileID ?? LogScan.provenID(ids, bytes.rawSpan, broken: platform.brokenRule)
    else { return nil }
    self.name = name
    self.number = header?.number ?? number ?? LogNumber(0)
    self.fileID = fileID
    self.header = header
    self.platform = platform
  }

  private struct Bytes {
    var file: TolerantFile
    var bytes: [UInt8] = []
    /// Unreadable pages; they are treated as zeros.
    var unreadable: [Range<UInt64>] = []

    mutating func add(_ part: [UInt8]?, _ count: Int) {
      let start = UInt64(bytes.count)
      bytes += part ?? []
      bytes.append(zeros: count - (part?.count ?? 0))
      if part == nil { unreadable.append(start..<UInt64(bytes.count)) }
    }
  }

  private static func bytes(
    _ name: String, _ directory: any OpenDirectory
  ) throws(ByteStoreError) -> Bytes? {
    guard let file = try TolerantFile(name, in: directory) else { return nil }
    defer { file.close() }
    var bytes = Bytes(file: file)
    let size = Int(min(file.size, LogFormat.capacityMax))
    let partBytes = 64 << 10
    for offset in stride(from: 0, to: size, by: partBytes) {
      let part = min(partBytes, size - offset)
      if let read = try file.read(part, at: UInt64(offset)) {
        bytes.add(read, part)
        continue
      }
      for page in stride(from: offset, to: offset + part, by: LogFormat.pageBytes) {
        let count = min(LogFormat.pageBytes, offset + part - page)
        bytes.add(try file.read(count, at: UInt64(page)), count)
      }
    }
    return bytes
  }

  mutating func findCommits(_ directory: any OpenDirectory) throws(ByteStoreError) {
    guard let found = try Self.bytes(name, directory) else { return }
    let bytes = found.bytes
    let scan = scan(bytes.rawSpan)
    hasFrames = !scan.frames.isEmpty
    for frame in scan.frames where frame.header.kind == .commit {
      let sequence = frame.header.sequence.value
      if let last = commits.last, last.upperBound + 1 == sequence {
        commits[commits.count - 1] = last.lowerBound...sequence
      } else {
        commits.append(sequence...sequence)
      }
    }
    // No frame follows a close marker.
    guard scan.frames.last?.header.kind != .close else { return }
    unknown = found.unreadable.filter { $0.lowerBound >= scan.end }.map {
      ($0, "the device does not return bytes that may be commits")
    }
    guard let capacity = header?.capacity, found.file.size < capacity else { return }
    unknown.append((found.file.size..<capacity, "the file was cut short, and may have had commits there"))
  }

  /// Passes the body of every readable commit to `body`, in order, and missing ranges to `gap`.
  func forEachCommit(
    _ directory: any OpenDirectory, _ body: (SequenceNumber, CommitBody) throws(ByteStoreError) -> Void,
    gap: (Range<UInt64>, _ reason: String) -> Void
  ) throws(ByteStoreError) {
    guard let bytes = try Self.bytes(name, directory)?.bytes else { return }
    let scan = scan(bytes.rawSpan)
    for frame in scan.frames where frame.header.kind == .commit {
      let start = Int(frame.offset) + LogFormat.frameHeaderBytes
      let commit = CommitBody(decoding: Array(bytes[start..<start + frame.header.bodyBytes]))
      if let commit {
        try body(frame.header.sequence, commit)
      } else {
        gap(frame.offset..<frame.end, "a frame that holds no commit")
      }
    }
    for range in scan.gaps { gap(range, "frames that were acknowledged do not decode") }
    if scan.dropped > 0 {
      gap(scan.end..<scan.end + scan.dropped, "a group of commits was cut off before it was acknowledged")
    }
  }

  /// The readable entries that the log repeats from earlier logs.
  func context(_ directory: any OpenDirectory) throws(ByteStoreError) -> [(key: [UInt8], value: [UInt8])] {
    guard let bytes = try Self.bytes(name, directory)?.bytes else { return [] }
    return scan(bytes.rawSpan).frames.flatMap { $0.context(in: bytes.rawSpan) ?? [] }
  }

  private func scan(_ bytes: RawSpan) -> LogScan {
    let expected = LogScan.Expectation(
      fileID: fileID, capacity: header?.capacity ?? UInt64(bytes.byteCount), recordedEnd: recordedEnd,
      previous: header?.previous.sequence ?? .none)
    return LogScan(bytes, expected, broken: platform.brokenRule)
  }
}
