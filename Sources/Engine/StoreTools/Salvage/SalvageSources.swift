// What a salvage finds in a directory: files by what they say of themselves, not by their names.
//
//   1. heads     the first page of every file says what it is and to which store it belongs
//   2. store     the one that most files belong to; files that salvage set aside count only without others
//   3. sources   the files of that store, and those of which nobody knows
//   4. the rest  what the log in use may have had, where neither it nor another file tells
//
// A file with a header that is damaged is what its name says.

import ByteStore

struct SalvageSources {
  /// Nil if no file says it.
  private(set) var storeID: RandomID?
  /// Of that store.
  private(set) var manifest: Manifest?
  private(set) var segments: [SegmentSource] = []
  private(set) var checkpoints: [CheckpointSource] = []
  private(set) var logs: [LogSource] = []
  /// Names of files that belong to another store.
  private(set) var foreign: [String] = []
  /// Of the log that was in use, what may have held commits and cannot be read. Without a manifest each log may be that.
  private(set) var openLogLosses: [LogLoss] = []

  private let directory: any OpenDirectory
  private let platform: Platform
  /// Names of logs of which something could be read, those included of which there is a better copy.
  private var logsRead: Set<String> = []

  /// A file before it is known whether it counts.
  private struct Head {
    var name: String
    /// The name that it had before it was set aside.
    var original: String
    var isSetAside: Bool
    var kind: FileKind
    var storeID: RandomID?
    var manifest: Manifest?
  }

  init(
    _ names: [String], _ directory: any OpenDirectory, _ platform: Platform
  ) throws(ByteStoreError) {
    self.directory = directory
    self.platform = platform
    let heads = try Self.heads(names, directory)
    storeID = try Self.store(of: heads, directory)
    let isLiveWithManifest = heads.contains { !$0.isSetAside && $0.manifest?.storeID == storeID }
    let used = heads.filter { head in
      guard head.storeID == nil || head.storeID == storeID else { return false }
      // Of what is set aside, only what surely belongs here, and only where the store is not whole.
      return !head.isSetAside || storeID != nil && head.storeID == storeID && !isLiveWithManifest
    }
    foreign = heads.filter { !$0.isSetAside && $0.storeID != nil && $0.storeID != storeID }.map(\.name)
    manifest = used.compactMap(\.manifest).max { $0.generation < $1.generation }
    try readCheckpoints(used.filter { $0.kind == .checkpoint })
    try readSegments(used.filter { $0.kind == .segment })
    try readLogs(used.filter { $0.kind == .log })
    try findOpenLogLosses(used)
  }

  /// How many files something could be read of.
  var filesRead: Int { segments.count + checkpoints.count + logs.count + (manifest == nil ? 0 : 1) }

  /// The manifest says so; or, without one, the logs begin with the first commit.
  var isKnownToHaveNoCheckpoint: Bool {
    manifest.map { $0.checkpoint == nil } ?? (logs.flatMap(\.commits).map(\.lowerBound).min() == 1)
  }

  /// Gives back the files; segments are held by whoever reads them.
  func close() {
    for checkpoint in checkpoints { checkpoint.file.close() }
  }

  // MARK: Heads

  private static func heads(
    _ names: [String], _ directory: any OpenDirectory
  ) throws(ByteStoreError) -> [Head] {
    var heads: [Head] = []
    for name in names.sorted() {
      let setAside = StoreFile.setAsideParts(of: name)
      let original = setAside?.original ?? name
      guard let named = kind(named: original), let file = try TolerantFile(name, in: directory) else {
        continue
      }
      defer { file.close() }
      let page = try file.read(SegmentFormat.pageBytes, at: 0) ?? []
      // The spare is a log to be, unless it has been one.
      guard let kind = kind(ofBytes: page) ?? (original == StoreFile.spare ? nil : named) else { continue }
      var head = Head(
        name: name, original: original, isSetAside: setAside != nil, kind: kind, storeID: nil, manifest: nil)
      try read(&head, page, file)
      heads.append(head)
    }
    return heads
  }

  private static func read(
    _ head: inout Head, _ page: [UInt8], _ file: TolerantFile
  ) throws(ByteStoreError) {
    let path = file.path
    switch head.kind {
    case .manifest:
      let bytes = try file.read(Manifest.bytesMax, at: 0) ?? []
      head.manifest = try VersionedHeader.decode(bytes, path, supported: Manifest.version) {
        bytes throws(ByteStoreError) in try Manifest(decoding: bytes, file: path)
      }.header
      head.storeID = head.manifest?.storeID
    case .log:
      head.storeID = try VersionedHeader.decode(page, path, supported: LogFormat.version) {
        page throws(ByteStoreError) in try LogHeader(decoding: page, file: path)
      }.header?.storeID
    case .segment:
      head.storeID = try VersionedHeader.decode(page, path, supported: SegmentFormat.version) {
        page throws(ByteStoreError) in try SegmentHeader(decoding: page, file: path)
      }.header?.storeID
    case .checkpoint:
      let page = Array(page.prefix(CheckpointFormat.pageBytes))
      head.storeID = try VersionedHeader.decode(page, path, supported: CheckpointFormat.version) {
        page throws(ByteStoreError) in try CheckpointHeader(decoding: page, file: path)
      }.header?.storeID
    }
  }

  private static func kind(named name: String) -> FileKind? {
    if name == StoreFile.manifest || name == StoreFile.newManifest { return .manifest }
    if name == StoreFile.spare || StoreFile.logNumber(of: name) != nil { return .log }
    if StoreFile.segmentNumber(of: name) != nil { return .segment }
    return StoreFile.isCheckpoint(name) ? .checkpoint : nil
  }

  private static func kind(ofBytes bytes: [UInt8]) -> FileKind? {
    let kinds: [([UInt8], FileKind)] = [
      (Manifest.magic, .manifest), (LogFormat.magic, .log), (SegmentFormat.magic, .segment),
      (CheckpointFormat.magic, .checkpoint),
    ]
    return kinds.first { bytes.starts(with: $0.0) }?.1
  }

  /// Whether a file that is to be the next log was one before.
  static func isLog(_ name: String, _ directory: any OpenDirectory) throws(ByteStoreError) -> Bool {
    guard let file = try TolerantFile(name, in: directory) else { return false }
    defer { file.close() }
    return kind(ofBytes: try file.read(8, at: 0) ?? []) == .log
  }

  // MARK: The store

  private static func store(
    of heads: [Head], _ directory: any OpenDirectory
  ) throws(ByteStoreError) -> RandomID? {
    if let live = try majority(heads.filter { !$0.isSetAside }, directory) { return live }
    let last = heads.compactMap { StoreFile.setAsideParts(of: $0.name)?.number }.max()
    return try majority(heads.filter { StoreFile.setAsideParts(of: $0.name)?.number == last }, directory)
  }

  /// The store that most files say they belong to. Where two are even, only a person can tell.
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
      guard let source = try CheckpointSource.read(file, entry, platform),
        !checkpoints.contains(where: { $0.header.fileID == source.header.fileID && $0.isHeaderSound })
      else {
        file.close()
        continue
      }
      checkpoints.append(source)
    }
  }

  /// In the order of their numbers, which is that of their making. Those with damage come last at first: they
  /// may need the dictionary of another one.
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
      // Segments are made in the order of their numbers: what is not known is at least what came before.
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
    let source = try SegmentSource.read(file, entry, number, dictionaries: dictionaries, platform).source
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
      guard let log = try LogSource(head.name, number, entry, directory, platform) else { continue }
      found.append(log)
      logsRead.insert(head.name)
    }
    // A copy that is sound hides one that is not.
    found.sort {
      ($0.number, $0.header == nil ? 1 : 0, $0.name) < ($1.number, $1.header == nil ? 1 : 0, $1.name)
    }
    for log in found where !logs.contains(where: { $0.fileID == log.fileID }) { logs.append(log) }
    var ends: [RandomID: UInt64] = [:]
    for log in manifest?.logs ?? [] { ends[log.fileID] = log.end?.length }
    // The last one first: whether it is believed about the end of the one before depends on what it holds.
    for index in logs.indices.reversed() {
      logs[index].recordedEnd = ends[logs[index].fileID]
      try logs[index].findCommits(directory)
      if let previous = logs[index].header?.previous, ends[previous.fileID] == nil,
        tellsWhatCameBefore(logs[index])
      {
        ends[previous.fileID] = previous.length
      }
    }
  }

  /// Whether its header is right about the log before it. A store that failed to name a log may have gone on in the one
  /// before; a crash may then bring back the other, which holds nothing.
  private func tellsWhatCameBefore(_ log: LogSource) -> Bool {
    guard log.header != nil else { return false }
    guard let manifest, !log.hasFrames else { return true }
    return manifest.logs.contains { $0.fileID == log.fileID }
  }

  // MARK: The log in use

  struct LogLoss {
    var name: String
    var range: Range<UInt64>
    var reason: String
  }

  /// Where a log ends that was in use, no manifest says. So nobody else would miss its commits.
  private mutating func findOpenLogLosses(_ used: [Head]) throws(ByteStoreError) {
    guard manifest != nil else { return try findUnreadLogs(used) }
    guard let entry = openLog(used), !isEndTold(of: entry) else { return }
    if let log = logs.first(where: { $0.fileID == entry.fileID }) {
      openLogLosses = log.unknown.map { LogLoss(name: log.name, range: $0.range, reason: $0.reason) }
      return
    }
    let name = StoreFile.log(entry.number)
    let head = used.first { $0.original == name }
    if let head, head.storeID == nil, try isUnwritten(head.name, entry) { return }
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

  /// Nothing tells whether they were closed, or in use, or held what is nowhere else.
  private mutating func findUnreadLogs(_ used: [Head]) throws(ByteStoreError) {
    let start = UInt64(LogFormat.pageBytes)
    for head in used where head.kind == .log && head.original != StoreFile.spare {
      guard !logsRead.contains(head.name), let file = try TolerantFile(head.name, in: directory) else {
        continue
      }
      defer { file.close() }
      openLogLosses.append(
        LogLoss(
          name: head.name, range: start..<max(start, file.size),
          reason: "nothing can be read of the log, and no manifest tells what it had"))
    }
  }

  /// The one that an open would read to its own end. Not one that only `MANIFEST.new` names, which a crash may leave
  /// without its log; and none of which that one has the end.
  private func openLog(_ used: [Head]) -> Manifest.Log? {
    let named = used.filter { $0.original == StoreFile.manifest }.compactMap(\.manifest)
      .max { $0.generation < $1.generation }
    guard let manifest, let log = (named ?? manifest).logs.last, log.end == nil,
      manifest.logs.contains(log)
    else { return nil }
    return log
  }

  /// A later log, or a checkpoint of all of it, says which commit was its last: an older manifest does not know.
  private func isEndTold(of log: Manifest.Log) -> Bool {
    logs.contains { $0.number > log.number && tellsWhatCameBefore($0) }
      || checkpoints.contains { $0.isHeaderSound && $0.header.position.fileID == log.fileID }
  }

  /// Whether a log whose header is damaged has nothing behind it: the store had turned to it, and no more. The header
  /// was on disk before a manifest named the log (docs/reliability.md, C3): without a trace of it, more may be gone.
  private func isUnwritten(_ name: String, _ log: Manifest.Log) throws(ByteStoreError) -> Bool {
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

/// A log of which frames can be read.
struct LogSource {
  let name: String
  let number: LogNumber
  let fileID: RandomID
  /// Nil if it is damaged.
  let header: LogHeader?
  /// Where the manifest or the next log says that it ends.
  var recordedEnd: UInt64?
  /// The numbers of the commits that can be read, without gaps within each range.
  private(set) var commits: [ClosedRange<UInt64>] = []
  /// A commit, or the marker of a close.
  private(set) var hasFrames = false
  /// What may have been commits behind the last frame, and can be told from space that was never used by nothing else:
  /// bytes that the device does not give, or that the file does not have.
  private(set) var unknown: [(range: Range<UInt64>, reason: String)] = []
  private let platform: Platform

  /// Nil if no frame can be read.
  init?(
    _ name: String, _ number: LogNumber?, _ entry: Manifest.Log?, _ directory: any OpenDirectory,
    _ platform: Platform
  ) throws(ByteStoreError) {
    guard let found = try Self.bytes(name, directory) else { return nil }
    let (file, bytes) = (found.file, found.bytes)
    let (header, _) = try VersionedHeader.decode(bytes, file.path, supported: LogFormat.version) {
      bytes throws(ByteStoreError) in try LogHeader(decoding: bytes, file: file.path)
    }
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
    /// Pages that the device does not give; they count as zeros.
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
    // Behind a close marker there is nothing.
    guard scan.frames.last?.header.kind != .close else { return }
    unknown = found.unreadable.filter { $0.lowerBound >= scan.end }.map {
      ($0, "the device does not give what may be commits")
    }
    guard let capacity = header?.capacity, found.file.size < capacity else { return }
    unknown.append((found.file.size..<capacity, "the file was cut short, and may have had commits there"))
  }

  /// The body of every commit that can be read, in order, and what is missing.
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

  /// Entries that the log repeats of earlier ones, as far as they can be read.
  func context(_ directory: any OpenDirectory) throws(ByteStoreError) -> [(key: [UInt8], value: [UInt8])] {
    guard let bytes = try Self.bytes(name, directory)?.bytes else { return [] }
    return scan(bytes.rawSpan).frames.flatMap { $0.context(in: bytes.rawSpan) ?? [] }
  }

  private func scan(_ bytes: RawSpan) -> LogScan {
    LogScan(
      bytes, fileID: fileID, capacity: header?.capacity ?? UInt64(bytes.byteCount), recordedEnd: recordedEnd,
      after: header?.previous.sequence ?? .none, broken: platform.brokenRule)
  }
}
