// Appends to the WAL: one write and one sync per commit group.
//
// Invariants:
// - A page is written once: each write starts on a new page (docs/reliability.md, C9).
// - `end` is the end of the last frame. `durableThrough` was `end` at the last sync.
// - The first group with puts carries the log's context as its last frame, at no extra write or sync. The
//   first frame of such a log is therefore still a commit. From this an open can recognise that the manifest
//   should list the log.
// - After any failure the writer is not used again (C4), because its file may hold anything beyond
//   `durableThrough`.

/// The reason why a commit was not made durable.
package enum WriteFailure: Error {
  /// Nothing reached the log. The store is unchanged and stays usable.
  case refused(SystemFailure)
  /// A write or a sync failed halfway. The next open decides what survives.
  case unknown(SystemFailure)
}

struct LogWriter {
  /// Buffered commits are durable within 100 ms. The remaining 20 ms are for the sync itself.
  private static let unsyncedNanosecondsMax: UInt64 = 80_000_000

  let header: LogHeader
  let name: String
  private let file: any OpenFile
  private let platform: Platform
  private(set) var end = UInt64(LogFormat.pageBytes)
  private(set) var durableThrough = UInt64(LogFormat.pageBytes)
  private(set) var lastSequence: SequenceNumber
  /// The monotonic time at which the oldest unsynced commit was written; nil if all commits are synced.
  private(set) var unsyncedSince: UInt64?
  /// Entries of earlier logs that are needed to interpret the commits of this log, encoded as a commit body.
  /// Nil once these entries are written, or if none are needed.
  private var context: Batch?
  /// Whether the log has no frame yet that records the last sync.
  private(set) var lacksWatermark = false
  /// The buffer for a group's pages, kept for the next group.
  private var pages: [UInt8] = []
  /// The largest buffer that is kept. A larger one is freed after its group.
  private static let pageBytesKeptMax = 1 << 20

  /// Creates a log file that is durable at its full size, including its header (C3). Reuses a recycled log
  /// file if one is ready.
  static func create(
    _ header: LogHeader, context: Batch?, from recycledLog: RecycledLog?, in directory: any OpenDirectory,
    platform: Platform
  ) throws(WriteFailure) -> LogWriter {
    let name = StoreFile.log(header.number)
    do throws(SystemFailure) {
      let file: any OpenFile
      if let recycledLog {
        file = recycledLog.file
        try directory.rename(StoreFile.recycledLog, to: name)
      } else {
        file = try RecycledLog.fill(name, header.capacity, in: directory, platform: platform)
      }
      try file.writeAll(header.encoded().rawSpan, at: 0, platform: platform)
      if platform.keeps(.syncNewFile) { try file.syncOnce(platform) }
      if platform.keeps(.syncDirectoryAfterCreating) { try directory.sync() }
      return LogWriter(
        header: header, name: name, file: file, platform: platform,
        lastSequence: header.previous.sequence, context: context)
    } catch {
      // A leftover file is harmless, because the next open deletes it. On a full disk, however, its space is
      // needed at once.
      try? directory.remove(name)
      throw error.isSync ? .unknown(error) : .refused(error)
    }
  }

  /// Continues a log that an earlier opening of the store wrote. This is only used by a test that breaks rule
  /// C12.
  static func continuing(
    _ header: LogHeader, at end: LogHeader.LogEnd, file: any OpenFile, platform: Platform
  ) -> LogWriter {
    LogWriter(
      header: header, name: StoreFile.log(header.number), file: file, platform: platform, end: end.length,
      durableThrough: end.length, lastSequence: end.sequence)
  }

  /// The size in the log file of a group with these commit bodies, plus a context of `contextBytes` bytes if
  /// that is not 0.
  static func groupBytes(_ bodies: [Batch], contextBytes: Int = 0) -> Int {
    let context = contextBytes > 0 ? frameBytes(contextBytes) : 0
    let frames = bodies.reduce(context) { $0 + frameBytes($1.bodyBytes) }
    return frames.roundedUp(toMultipleOf: LogFormat.pageBytes)
  }

  private static func frameBytes(_ bodyBytes: Int) -> Int {
    (LogFormat.frameHeaderBytes + bodyBytes).roundedUp(toMultipleOf: LogFormat.frameAlignment)
  }

  /// The context, if it must be written with this group. A group of removals does not need the context, and a
  /// full disk may have no room for it.
  private func contextDue(with group: [Batch]) -> Batch? {
    guard let context, group.contains(where: { !$0.isRemovalOnly }) else { return nil }
    return context
  }

  /// Drops the context if the group then fits; returns whether it did. If the disk is full and has no room
  /// for another log, accepting a put is worth more than keeping the log readable on its own.
  mutating func dropContext(for group: [Batch]) -> Bool {
    guard let context else { return false }
    self.context = nil
    if hasRoom(for: group) { return true }
    self.context = context
    return false
  }

  /// Whether the log has room for this group, for the context if it is due, for a watermark and for the close
  /// marker. The space reserved for removals counts as room only if `usingReserve` is true.
  func hasRoom(for group: [Batch], usingReserve: Bool = false) -> Bool {
    let reserve = usingReserve ? 0 : Self.reserveBytes(ofCapacity: header.capacity)
    let bytes = Self.groupBytes(group, contextBytes: contextDue(with: group)?.bodyBytes ?? 0)
    return nextPage + UInt64(bytes + 2 * LogFormat.pageBytes) + reserve <= header.capacity
  }

  /// The size of the reserved space at the end of a log. Only removals may use this space, and only if the
  /// disk has no room for a new log (C11).
  private static func reserveBytes(ofCapacity capacity: UInt64) -> UInt64 {
    let page = UInt64(LogFormat.pageBytes)
    return min(capacity / 8 / page * page, 64 << 10)
  }

  /// The capacity of the smallest log that holds this group and a context of `contextBytes` bytes.
  static func capacity(for group: [Batch], contextBytes: Int = 0) -> UInt64 {
    let needed = UInt64(groupBytes(group, contextBytes: contextBytes) + 3 * LogFormat.pageBytes)
    var capacity = needed
    while capacity - reserveBytes(ofCapacity: capacity) < needed { capacity += UInt64(LogFormat.pageBytes) }
    return capacity
  }

  /// Whether no commit has been written to the log yet.
  var isEmpty: Bool { end == UInt64(LogFormat.pageBytes) }

  private var nextPage: UInt64 { end.roundedUp(toMultipleOf: UInt64(LogFormat.pageBytes)) }

  /// The end of this log, as the manifest and the next log record it.
  var recordedEnd: LogHeader.LogEnd {
    LogHeader.LogEnd(fileID: header.fileID, length: end, sequence: lastSequence)
  }

  /// Whether everything in the log is synced, including the last watermark.
  var isSyncedThroughout: Bool { durableThrough == end }

  /// Writes the commits to the log file. From then on they survive a crash of the process. They survive a
  /// power loss only once they are synced.
  mutating func append(_ group: [Batch]) throws(SystemFailure) {
    precondition(
      hasRoom(for: group, usingReserve: true), "a group must fit: the caller rotates the log first")
    var pages: [UInt8] = []
    swap(&pages, &self.pages)
    let context = contextDue(with: group)
    pages.reserveCapacity(Self.groupBytes(group, contextBytes: context?.bodyBytes ?? 0))
    var sequence = lastSequence
    for batch in group {
      sequence = sequence.next
      encode(.commit, body: batch.body, sequence: sequence, into: &pages)
    }
    if let context { encode(.watermark, body: context.body, sequence: sequence, into: &pages) }
    try write(&pages)
    if context != nil { self.context = nil }
    pages.removeAll(keepingCapacity: pages.count <= Self.pageBytesKeptMax)
    swap(&pages, &self.pages)
    lastSequence = sequence
    unsyncedSince = unsyncedSince ?? platform.clock.monotonicNanoseconds()
  }

  var hasUnsyncedCommits: Bool { unsyncedSince != nil }

  /// Whether a sync is due, so that buffered commits become durable within the promised time.
  var isSyncDue: Bool {
    guard let unsyncedSince else { return false }
    return platform.clock.monotonicNanoseconds() &- unsyncedSince >= Self.unsyncedNanosecondsMax
  }

  /// Syncs the log. On return, everything written so far is on stable storage.
  mutating func sync() throws(SystemFailure) {
    try file.syncOnce(platform)
    durableThrough = end
    lacksWatermark = hasUnsyncedCommits
    unsyncedSince = nil
  }

  /// Records the last sync in the log. The watermark itself is not synced; no commit depends on it.
  mutating func appendWatermark() throws(SystemFailure) {
    var page: [UInt8] = []
    encode(.watermark, body: [], sequence: lastSequence, into: &page)
    try write(&page)
    lacksWatermark = false
  }

  /// Writes and syncs the last frame of a log.
  mutating func appendCloseMarker() throws(SystemFailure) {
    var page: [UInt8] = []
    encode(.close, body: [], sequence: lastSequence, into: &page)
    try write(&page)
    try sync()
  }

  func closeFile() { file.close() }

  private func encode(
    _ kind: FrameHeader.Kind, body: [UInt8], sequence: SequenceNumber, into pages: inout [UInt8]
  ) {
    let position = nextPage + UInt64(pages.count)
    let header = FrameHeader(
      kind: kind, bodyBytes: body.count, sequence: sequence, durableThrough: durableThrough,
      bodyCRC: FrameHeader.checksum(
        ofBody: body.rawSpan, file: header.fileID, offset: position, broken: platform.brokenRule))
    header.encode(
      into: &pages, file: self.header.fileID, offset: position, broken: platform.brokenRule)
    pages.append(contentsOf: body)
    pages.pad(toMultipleOf: LogFormat.frameAlignment)
  }

  /// Writes whole pages, so that the system need not read any page back first. `end` becomes the end of the
  /// last frame, without the padding after it.
  private mutating func write(_ frames: inout [UInt8]) throws(SystemFailure) {
    let (start, bytes) = (nextPage, frames.count)
    frames.pad(toMultipleOf: LogFormat.pageBytes)
    try file.writeAll(frames.rawSpan, at: start, platform: platform)
    end = start + UInt64(bytes)
  }
}

extension SystemFailure {
  /// Whether a sync failed. After a failed sync, the system may drop the bytes that it could not write
  /// (docs/reliability.md, F4).
  var isSync: Bool { operation.hasSuffix("sync") }
}
