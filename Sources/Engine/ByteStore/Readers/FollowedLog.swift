// A log that a reader reads while the writer appends to it.
//
// Every frame proves itself: its checksums include the id of the log file and its offset. Bytes of a later
// use of the file do not decode. So a read that meets a frame which is not yet complete, or a file that was
// recycled, finds fewer frames, and never others.

/// A position in a log, from which a reader takes the commits that the writer appends.
struct FollowedLog {
  let header: LogHeader
  /// The file of the log, or an image of it at the time of a capture.
  var file: any OpenFile
  private let broken: Rule?
  /// The end of the last frame that was taken.
  private(set) var end = UInt64(LogFormat.pageBytes)
  private(set) var lastSequence: SequenceNumber
  /// The largest offset that a frame records as synced.
  private var durableThrough = UInt64(LogFormat.pageBytes)
  /// The size of the log up to the last commit that was read, from the last one that is known to be durable.
  private(set) var bytesNotDurable: UInt64 = 0
  /// Whether the last read met a frame that records a sync beyond the first bytes that do not decode
  /// (docs/reliability.md, C9).
  private(set) var hasGap = false

  init(header: LogHeader, file: any OpenFile, broken: Rule?) {
    self.header = header
    self.file = file
    self.broken = broken
    lastSequence = header.previous.sequence
  }

  /// Opens a log that the manifest names.
  static func open(
    _ log: Manifest.Log, in directory: any OpenDirectory, platform: Platform
  ) throws(ByteStoreError) -> FollowedLog? {
    let file: any OpenFile
    let page: [UInt8]
    do throws(SystemFailure) {
      file = try directory.openFile(StoreFile.log(log.number), .read)
      page = try file.readAll(LogFormat.pageBytes, at: 0)
    } catch {
      guard error.isMissingOrNotAFile else { throw .system(error) }
      return nil
    }
    guard let header = try? LogHeader(decoding: page.rawSpan, file: file.path), header.fileID == log.fileID
    else { return nil }
    return FollowedLog(header: header, file: file, broken: platform.brokenRule)
  }

  fileprivate struct Frame {
    var header: FrameHeader
    var end: UInt64
    var body: [UInt8]
  }

  /// The frames that one read found after the position.
  struct Reading {
    fileprivate var frames: [Frame] = []
    /// The largest offset that a frame records as synced.
    fileprivate var durableThrough: UInt64
    fileprivate var lastCommitEnd: UInt64?
    fileprivate var hasGap = false

    /// Whether a commit is not known to be on stable storage.
    var needsSync: Bool { lastCommitEnd.map { $0 > durableThrough } ?? false }
  }

  /// Reads the frames after the position. The position stays.
  func read() throws(ByteStoreError) -> Reading {
    var reading = Reading(durableThrough: durableThrough)
    var window = FileWindow(file: file, limit: header.capacity)
    // An idle log has zeros there, and no more than this page is read.
    guard try !window.hasOnlyZeros(LogFormat.pageBytes, at: end) else { return reading }
    reading.frames = try frames(in: &window)
    // Damage may come before frames beyond the page that was read.
    if reading.frames.isEmpty { try window.load(at: end) }
    let last = reading.frames.last
    reading.hasGap = last?.header.kind != .close && recordsSync(window, beyond: last?.end ?? end)
    for frame in reading.frames {
      reading.durableThrough = max(reading.durableThrough, frame.header.durableThrough)
      if frame.header.kind == .commit { reading.lastCommitEnd = frame.end }
    }
    return reading
  }

  /// Takes the commits of the last reading that are known to be on stable storage. If the file was synced
  /// after the reading, these are all its commits.
  mutating func take(_ reading: Reading, isSynced: Bool) throws(ByteStoreError) -> [CommitBody] {
    hasGap = reading.hasGap
    durableThrough = max(reading.durableThrough, isSynced ? reading.frames.last?.end ?? 0 : 0)
    // Other frames than commits show nothing, so it does not matter whether they are durable.
    let durable = reading.frames.prefix { $0.end <= durableThrough || $0.header.kind != .commit }
    let durableEnd = durable.last?.end ?? end
    bytesNotDurable = max(reading.lastCommitEnd ?? 0, durableEnd) - durableEnd
    return try take(durable)
  }

  /// Takes all commits up to the end that another file records. Returns nil if the log does not reach that
  /// end, as when its file was recycled.
  mutating func takeAll(
    through recordedEnd: (length: UInt64, sequence: SequenceNumber)
  ) throws(ByteStoreError) -> [CommitBody]? {
    guard end < recordedEnd.length || lastSequence != recordedEnd.sequence else { return [] }
    var window = FileWindow(file: file, limit: recordedEnd.length)
    let frames = try frames(in: &window)
    guard let last = frames.last, last.end == recordedEnd.length,
      last.header.sequence == recordedEnd.sequence
    else { return nil }
    return try take(frames[...])
  }

  private mutating func take(_ frames: ArraySlice<Frame>) throws(ByteStoreError) -> [CommitBody] {
    var commits: [CommitBody] = []
    for frame in frames {
      end = frame.end
      guard frame.header.kind == .commit else { continue }
      guard let commit = CommitBody(decoding: frame.body) else {
        throw .damage(
          file.path, at: frame.end - UInt64(frame.header.paddedBytes), expected: "a commit's operations",
          found: "bytes that are invalid")
      }
      commits.append(commit)
      lastSequence = frame.header.sequence
    }
    return commits
  }

  private func frames(in window: inout FileWindow) throws(ByteStoreError) -> [Frame] {
    var frames: [Frame] = []
    var (offset, sequence) = (end, lastSequence)
    while offset < window.limit, let frame = try frame(after: offset, following: sequence, in: &window) {
      frames.append(frame)
      (offset, sequence) = (frame.end, frame.header.sequence)
      if frame.header.kind == .close { break }
    }
    return frames
  }

  /// Whether a frame in the bytes that were read last records a sync beyond `end`. The read began at `end` or
  /// before it.
  private func recordsSync(_ window: FileWindow, beyond end: UInt64) -> Bool {
    guard broken != .laterDurableFrameIsDamage else { return false }
    let alignment = LogFormat.frameAlignment
    for offset in stride(from: end, to: window.end, by: alignment) {
      guard let head = window.loaded(LogFormat.frameHeaderBytes, at: offset) else { continue }
      let later = FrameHeader(decoding: head, file: header.fileID, offset: offset, broken: broken)
      if let later, later.durableThrough > end { return true }
    }
    return false
  }

  /// Returns the frame that follows at `offset`. The first frame of a group starts on a new page.
  private func frame(
    after offset: UInt64, following last: SequenceNumber, in window: inout FileWindow
  ) throws(ByteStoreError) -> Frame? {
    if let frame = try frame(at: offset, following: last, in: &window) { return frame }
    let nextPage = offset.roundedUp(toMultipleOf: UInt64(LogFormat.pageBytes))
    return nextPage == offset ? nil : try frame(at: nextPage, following: last, in: &window)
  }

  private func frame(
    at offset: UInt64, following last: SequenceNumber, in window: inout FileWindow
  ) throws(ByteStoreError) -> Frame? {
    guard let head = try window.bytes(LogFormat.frameHeaderBytes, at: offset),
      let header = FrameHeader(
        decoding: head.rawSpan, file: self.header.fileID, offset: offset, broken: broken),
      header.sequence == (header.kind == .commit ? last.next : last),
      let body = try window.bytes(header.bodyBytes, at: offset + UInt64(LogFormat.frameHeaderBytes)),
      UInt64(header.paddedBytes) <= window.limit - offset
    else { return nil }
    let checksum = FrameHeader.checksum(
      ofBody: body.rawSpan, file: self.header.fileID, offset: offset, broken: broken)
    guard checksum == header.bodyCRC else { return nil }
    return Frame(header: header, end: offset + UInt64(header.paddedBytes), body: body)
  }
}

/// Reads ranges of a file, most of which follow each other.
private struct FileWindow {
  private static let bytesMin = 256 << 10

  let file: any OpenFile
  let limit: UInt64
  private var start: UInt64 = 0
  private var content: [UInt8] = []

  init(file: any OpenFile, limit: UInt64) {
    self.file = file
    self.limit = limit
  }

  /// The end of the bytes that were read last.
  var end: UInt64 { start + UInt64(content.count) }

  /// Bytes of the last read; nil if it did not include all of them.
  @_lifetime(borrow self)
  func loaded(_ count: Int, at offset: UInt64) -> RawSpan? {
    guard offset >= start, offset <= end, UInt64(count) <= end - offset else { return nil }
    let place = Int(offset - start)
    return content.rawSpan.extracting(place..<place + count)
  }

  /// Reads only these bytes, and returns whether all of them are zero.
  mutating func hasOnlyZeros(_ count: Int, at offset: UInt64) throws(ByteStoreError) -> Bool {
    try load(count, at: offset)
    return content.rawSpan.byteCountWithoutZeros == 0
  }

  /// Reads a large range from `offset` on.
  mutating func load(at offset: UInt64) throws(ByteStoreError) { try load(Self.bytesMin, at: offset) }

  private mutating func load(_ count: Int, at offset: UInt64) throws(ByteStoreError) {
    let wanted = Int(min(UInt64(count), limit - min(limit, offset)))
    content = try system { () throws(SystemFailure) in try file.readAll(wanted, at: offset) }
    start = offset
  }

  /// The bytes of a range; nil if the file or the limit ends before them.
  mutating func bytes(_ count: Int, at offset: UInt64) throws(ByteStoreError) -> [UInt8]? {
    guard offset <= limit, UInt64(count) <= limit - offset else { return nil }
    if offset < start || offset + UInt64(count) > end { try load(max(count, Self.bytesMin), at: offset) }
    let place = Int(offset - start)
    guard content.count - place >= count else { return nil }
    return Array(content[place..<place + count])
  }
}
