// Scans a log that may be damaged: finds every valid frame, and the gaps between them.
//
//   1. headers   decode a frame header at every possible position
//   2. walk      go from frame to frame like a replay: directly after the last one, or on the next page
//   3. gap       if neither holds a frame, but the log is known to continue (docs/reliability.md, C9),
//                skip to the next frame with a valid body
//
// A frame's checksums start with the file's id and its offset, so every frame found was written at this
// position. If the file header is damaged, the checksums prove the id.

import ByteStore

struct LogScan {
  struct Frame {
    var offset: UInt64
    var header: FrameHeader

    var end: UInt64 { offset + UInt64(header.paddedBytes) }

    /// The put operations in the body of a watermark; empty for other frames. Nil for a body that no writer
    /// produces.
    func context(in bytes: RawSpan) -> [(key: [UInt8], value: [UInt8])]? {
      guard header.kind == .watermark, header.bodyBytes > 0 else { return [] }
      let start = Int(offset) + LogFormat.frameHeaderBytes
      let body = bytes.extracting(start..<start + header.bodyBytes)
      guard let commit = CommitBody(decoding: Array(copying: body)) else { return nil }
      var puts: [(key: [UInt8], value: [UInt8])] = []
      for operation in commit.operations {
        guard case .put(_, let key, let value) = operation else { return nil }
        puts.append((Array(commit.bytes[key]), Array(commit.bytes[value])))
      }
      return puts
    }
  }

  /// The facts about a log that the headers and the manifest state.
  struct Expectation {
    var fileID: RandomID
    var capacity: UInt64
    /// The end that the manifest or the next log records.
    var recordedEnd: UInt64?
    /// The sequence number of the last commit in the previous log.
    var previous: SequenceNumber
  }

  private(set) var frames: [Frame] = []
  /// Ranges of acknowledged bytes that are missing.
  private(set) var gaps: [Range<UInt64>] = []
  /// The size of the nonzero bytes beyond the end: a torn tail.
  private(set) var dropped: UInt64 = 0
  /// The end of the last frame or gap.
  private(set) var end = UInt64(LogFormat.pageBytes)

  private let fileID: RandomID
  private let broken: Rule?
  private var candidates: [Frame] = []
  /// For each candidate, the largest `durableThrough` of that candidate and all later candidates.
  private var durableFromHere: [UInt64] = []
  /// The number of body bytes that the scan may still read. It limits the work for a crafted file whose frame
  /// bodies overlap.
  private var bytesLeftToRead: Int
  private let limit: UInt64

  init(_ bytes: RawSpan, _ expected: Expectation, broken: Rule? = nil) {
    fileID = expected.fileID
    self.broken = broken
    bytesLeftToRead = 8 * bytes.byteCount
    let (capacity, recordedEnd) = (expected.capacity, expected.recordedEnd)
    limit = min(recordedEnd ?? capacity, capacity, UInt64(bytes.byteCount))
    collectCandidates(bytes)
    walk(bytes, recordedEnd: recordedEnd, first: expected.previous)
    if recordedEnd == nil { dropped = Self.bytesInUse(of: bytes, beyond: end) }
  }

  private mutating func collectCandidates(_ bytes: RawSpan) {
    let step = LogFormat.frameAlignment
    for offset in stride(from: LogFormat.pageBytes, to: Int(limit), by: step) {
      guard offset + LogFormat.frameHeaderBytes <= Int(limit) else { break }
      let span = bytes.extracting(offset..<offset + LogFormat.frameHeaderBytes)
      guard let header = FrameHeader(decoding: span, file: fileID, offset: UInt64(offset), broken: broken)
      else { continue }
      candidates.append(Frame(offset: UInt64(offset), header: header))
    }
    durableFromHere = candidates.map(\.header.durableThrough)
    for index in candidates.indices.dropLast().reversed() {
      durableFromHere[index] = max(durableFromHere[index], durableFromHere[index + 1])
    }
  }

  /// The first of `ids` for which the bytes contain a valid frame header, or nil.
  static func provenID(_ ids: [RandomID], _ bytes: RawSpan, broken: Rule?) -> RandomID? {
    ids.first { id in
      stride(from: LogFormat.pageBytes, to: bytes.byteCount, by: LogFormat.frameAlignment).contains {
        offset in
        guard offset + LogFormat.frameHeaderBytes <= bytes.byteCount else { return false }
        let span = bytes.extracting(offset..<offset + LogFormat.frameHeaderBytes)
        return FrameHeader(decoding: span, file: id, offset: UInt64(offset), broken: broken) != nil
      }
    }
  }

  // MARK: Walking

  private mutating func walk(_ bytes: RawSpan, recordedEnd: UInt64?, first: SequenceNumber) {
    var last = first
    var index = 0
    var wasClosed = false
    while !wasClosed {
      let next: Int
      if let following = following(from: index, bytes, last: last) {
        next = following
      } else if isKnownToContinue(from: index, recordedEnd) {
        guard let later = later(from: index, bytes, last: last) else {
          if let recordedEnd { addGap(to: recordedEnd) } else { addGapToEvidence(from: index) }
          return
        }
        addGap(to: candidates[later].offset)
        next = later
      } else {
        return
      }
      let frame = candidates[next]
      frames.append(frame)
      if frame.header.kind == .commit { last = frame.header.sequence }
      wasClosed = frame.header.kind == .close
      end = frame.end
      index = next + 1
      while index < candidates.count, candidates[index].offset < end { index += 1 }
    }
    if let recordedEnd, end < recordedEnd { addGap(to: recordedEnd) }
  }

  /// The index of the valid candidate that starts at `end` or on the next page, or nil.
  private mutating func following(from index: Int, _ bytes: RawSpan, last: SequenceNumber) -> Int? {
    let nextPage = end.roundedUp(toMultipleOf: UInt64(LogFormat.pageBytes))
    for candidate in candidates.indices[index...] {
      let offset = candidates[candidate].offset
      guard offset <= nextPage else { break }
      if offset == end || offset == nextPage, isValid(candidate, bytes, last: last) { return candidate }
    }
    return nil
  }

  private func isKnownToContinue(from index: Int, _ recordedEnd: UInt64?) -> Bool {
    if let recordedEnd { return end < recordedEnd }
    return index < candidates.count && durableFromHere[index] > end
  }

  private mutating func later(from index: Int, _ bytes: RawSpan, last: SequenceNumber) -> Int? {
    for candidate in candidates.indices[index...] where candidates[candidate].offset > end {
      if isValid(candidate, bytes, last: last) { return candidate }
    }
    return nil
  }

  private mutating func isValid(_ index: Int, _ bytes: RawSpan, last: SequenceNumber) -> Bool {
    let frame = candidates[index]
    let start = Int(frame.offset) + LogFormat.frameHeaderBytes
    guard frame.header.kind != .commit || frame.header.sequence > last,
      frame.end <= limit, frame.header.bodyBytes <= bytesLeftToRead
    else { return false }
    bytesLeftToRead -= frame.header.bodyBytes
    let checksum = FrameHeader.checksum(
      ofBody: bytes.extracting(start..<start + frame.header.bodyBytes), file: fileID, offset: frame.offset,
      broken: broken)
    return checksum == frame.header.bodyCRC
  }

  // MARK: Gaps

  private mutating func addGap(to offset: UInt64) {
    gaps.append(end..<max(end, offset))
    end = max(end, offset)
  }

  /// Adds a gap up to the last offset that a frame header records as synced. Used when no later frame is
  /// valid.
  private mutating func addGapToEvidence(from index: Int) {
    addGap(to: durableFromHere[index])
  }

  /// The size from `end` up to and including the last nonzero byte.
  private static func bytesInUse(of bytes: RawSpan, beyond end: UInt64) -> UInt64 {
    guard end < UInt64(bytes.byteCount) else { return 0 }
    return UInt64(bytes.extracting(droppingFirst: Int(end)).byteCountWithoutZeros)
  }

  /// Ranges up to the end that belong to no frame and no gap. They must contain only zeros.
  func unused(_ bytes: RawSpan) -> [Range<UInt64>] {
    var unused: [Range<UInt64>] = []
    var start = UInt64(LogFormat.pageBytes)
    for frame in frames {
      unused.append(start..<max(start, frame.offset))
      let body = frame.offset + UInt64(LogFormat.frameHeaderBytes + frame.header.bodyBytes)
      unused.append(body..<frame.end)
      start = frame.end
    }
    return unused.filter { range in !range.isEmpty && !gaps.contains { $0.overlaps(range) } }
  }
}
