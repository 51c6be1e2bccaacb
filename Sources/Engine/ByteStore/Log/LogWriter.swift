// Appending to the log: one group of commits, one write, one sync.
//
// Invariants:
//   - A page is written once; whatever is written starts on a fresh page (docs/reliability.md, C9).
//   - `end` is where the last frame ends, `durableThrough` where it did when the last sync returned.
//   - The first group with puts takes the log's context along, as its last frame: no extra write, no extra sync. Its
//     first frame stays a commit, by which an open recognises a log that a manifest should have named.
//   - After any failure the writer is not used again (C4): its file may hold anything beyond
//     `durableThrough`.

/// Why a commit was not made durable.
package enum WriteFailure: Error {
  /// Nothing of it reached the log; the store is as before and goes on.
  case refused(SystemFailure)
  /// A write or a sync failed on the way: only the next open can tell what is there.
  case unknown(SystemFailure)
}

struct LogWriter {
  /// Of the 100 ms that are promised, the sync itself takes the rest.
  private static let unsyncedNanosecondsMax: UInt64 = 80_000_000

  let header: LogHeader
  let name: String
  private let file: any OpenFile
  private let platform: Platform
  private(set) var end = UInt64(LogFormat.pageBytes)
  private(set) var durableThrough = UInt64(LogFormat.pageBytes)
  private(set) var lastSequence: SequenceNumber
  /// When the oldest commit was written that no sync has covered yet, on the monotonic clock; nil if there is none.
  private(set) var unsyncedSince: UInt64?
  /// Entries of earlier logs without which the commits of this one cannot be understood, as the body of a commit. Nil
  /// once it is written, or if there are none.
  private var context: Batch?
  /// No frame says yet that the last group was synced.
  private(set) var lacksWatermark = false
  /// Room for the pages of a group, as large as those before it were.
  private var pages: [UInt8] = []
  /// More is not kept between groups.
  private static let pageBytesKeptMax = 1 << 20

  /// Makes a log file, on stable storage at its full size with its header (C3), out of a spare if there
  /// is one.
  static func create(
    _ header: LogHeader, context: Batch?, from spare: SpareLog?, in directory: any OpenDirectory,
    _ platform: Platform
  ) throws(WriteFailure) -> LogWriter {
    let name = StoreFile.log(header.number)
    do throws(SystemFailure) {
      let file: any OpenFile
      if let spare {
        file = spare.file
        try directory.rename(StoreFile.spare, to: name)
      } else {
        file = try SpareLog.fill(name, header.capacity, in: directory, platform)
      }
      try file.writeAll(header.encoded().rawSpan, at: 0, platform)
      if platform.keeps(.syncNewFile) { try file.syncOnce(platform) }
      if platform.keeps(.syncDirectoryAfterCreating) { try directory.sync() }
      return LogWriter(
        header: header, name: name, file: file, platform: platform,
        lastSequence: header.previous.sequence, context: context)
    } catch {
      // A leftover is harmless, the next open removes it; but a full disk wants its space back.
      try? directory.remove(name)
      throw error.isSync ? .unknown(error) : .refused(error)
    }
  }

  /// Appends where an earlier opening stopped: nobody does who keeps the rules (C12).
  static func goingOn(
    _ header: LogHeader, at end: LogHeader.LogEnd, _ file: any OpenFile, _ platform: Platform
  ) -> LogWriter {
    LogWriter(
      header: header, name: StoreFile.log(header.number), file: file, platform: platform, end: end.length,
      durableThrough: end.length, lastSequence: end.sequence)
  }

  /// The size of a group of these bodies in the file, with a context of so many bytes, if any.
  static func groupBytes(_ bodies: [Batch], contextBytes: Int = 0) -> Int {
    let context = contextBytes > 0 ? frameBytes(contextBytes) : 0
    let frames = bodies.reduce(context) { $0 + frameBytes($1.body.count) }
    return frames.roundedUp(toMultipleOf: LogFormat.pageBytes)
  }

  private static func frameBytes(_ bodyBytes: Int) -> Int {
    (LogFormat.frameHeaderBytes + bodyBytes).roundedUp(toMultipleOf: LogFormat.frameAlignment)
  }

  /// The context, if this group is to take it along. Removals need none, and a full disk may have no room for it.
  private func contextDue(with group: [Batch]) -> Batch? {
    guard let context, group.contains(where: { !$0.isRemovalOnly }) else { return nil }
    return context
  }

  /// Gives up the context if there is room for the group then. Where the disk has no space for another log, a put that
  /// is taken is worth more than a log that can be read without others.
  mutating func giveUpContext(for group: [Batch]) -> Bool {
    guard let context else { return false }
    self.context = nil
    if hasRoom(for: group) { return true }
    self.context = context
    return false
  }

  /// Room for this group, for the context if it is due, for a watermark and for the close marker. What is kept for
  /// removals counts only if `usingReserve`.
  func hasRoom(for group: [Batch], usingReserve: Bool = false) -> Bool {
    let reserve = usingReserve ? 0 : Self.reserveBytes(ofCapacity: header.capacity)
    let bytes = Self.groupBytes(group, contextBytes: contextDue(with: group)?.body.count ?? 0)
    return nextPage + UInt64(bytes + 2 * LogFormat.pageBytes) + reserve <= header.capacity
  }

  /// The end of a log, which only removals may use, and only if there is no space for a new log (C11).
  private static func reserveBytes(ofCapacity capacity: UInt64) -> UInt64 {
    let page = UInt64(LogFormat.pageBytes)
    return min(capacity / 8 / page * page, 64 << 10)
  }

  /// The smallest log that has room for this group, and for a context of so many bytes.
  static func capacity(for group: [Batch], contextBytes: Int = 0) -> UInt64 {
    let needed = UInt64(groupBytes(group, contextBytes: contextBytes) + 3 * LogFormat.pageBytes)
    var capacity = needed
    while capacity - reserveBytes(ofCapacity: capacity) < needed { capacity += UInt64(LogFormat.pageBytes) }
    return capacity
  }

  /// No commit has gone there yet.
  var isEmpty: Bool { end == UInt64(LogFormat.pageBytes) }

  private var nextPage: UInt64 { end.roundedUp(toMultipleOf: UInt64(LogFormat.pageBytes)) }

  /// What the manifest and the next log say about this one.
  var recordedEnd: LogHeader.LogEnd {
    LogHeader.LogEnd(fileID: header.fileID, length: end, sequence: lastSequence)
  }

  /// Even the watermark at the end is on stable storage.
  var isSyncedThroughout: Bool { durableThrough == end }

  /// Writes the commits; they survive the process, and once synced also a power loss.
  mutating func append(_ group: [Batch]) throws(SystemFailure) {
    precondition(
      hasRoom(for: group, usingReserve: true), "a group must fit: the caller turns to a new log first")
    var pages: [UInt8] = []
    swap(&pages, &self.pages)
    let context = contextDue(with: group)
    pages.reserveCapacity(Self.groupBytes(group, contextBytes: context?.body.count ?? 0))
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

  /// Someone has to sync now, so that what was promised of buffered commits holds.
  var isSyncDue: Bool {
    guard let unsyncedSince else { return false }
    return platform.clock.monotonicNanoseconds() &- unsyncedSince >= Self.unsyncedNanosecondsMax
  }

  /// When it returns, everything written is on stable storage.
  mutating func sync() throws(SystemFailure) {
    try file.syncOnce(platform)
    durableThrough = end
    lacksWatermark = hasUnsyncedCommits
    unsyncedSince = nil
  }

  /// Vouches for the last sync. Not synced itself: if it is lost, so is nothing else.
  mutating func appendWatermark() throws(SystemFailure) {
    var page: [UInt8] = []
    encode(.watermark, body: [], sequence: lastSequence, into: &page)
    try write(&page)
    lacksWatermark = false
  }

  /// The last frame of a log.
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

  /// Whole pages, so that the system has none to read back first; the last frame ends before the zeros.
  private mutating func write(_ frames: inout [UInt8]) throws(SystemFailure) {
    let (start, bytes) = (nextPage, frames.count)
    frames.pad(toMultipleOf: LogFormat.pageBytes)
    try file.writeAll(frames.rawSpan, at: start, platform)
    end = start + UInt64(bytes)
  }
}

extension SystemFailure {
  /// After a failed sync the system may forget what it could not write (docs/reliability.md, F4).
  var isSync: Bool { operation.hasSuffix("sync") }
}
