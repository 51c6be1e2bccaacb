// A log as it is, damaged or not: every frame that is right, and the gaps between them.
//
//   1. headers   every place where a frame may start is looked at
//   2. walk      as a reader does: right behind the last frame, or on the next page
//   3. gap       where neither holds a frame, though the log is known to go on (docs/reliability.md, C9):
//                on to the next frame whose body is right
//
// A frame's checksums begin with the file's id and its offset, so that every frame found was written here.
// Where the file header is damaged, an id proves itself by them.

import ByteStore

struct LogScan {
  struct Frame {
    var offset: UInt64
    var header: FrameHeader

    var end: UInt64 { offset + UInt64(header.paddedBytes) }

    /// The puts of a watermark's body. Nil for a body that no log writes.
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

  private(set) var frames: [Frame] = []
  /// Bytes that were acknowledged and are not there.
  private(set) var gaps: [Range<UInt64>] = []
  /// Bytes beyond the end that are not zero: a group that a crash cut off.
  private(set) var dropped: UInt64 = 0
  /// Where the last frame ends, or the last gap.
  private(set) var end = UInt64(LogFormat.pageBytes)

  private let fileID: RandomID
  private let broken: Rule?
  private var candidates: [Frame] = []
  /// For each candidate: how far it, or one behind it, knows the log to be durable.
  private var durableFromHere: [UInt64] = []
  /// Bodies may lie within each other if a file was made up; this ends the reading of them.
  private var bytesLeftToRead: Int
  private let limit: UInt64

  /// `recordedEnd` is where the manifest or the next log says that it ends.
  init(
    _ bytes: RawSpan, fileID: RandomID, capacity: UInt64, recordedEnd: UInt64?, after last: SequenceNumber,
    broken: Rule? = nil
  ) {
    self.fileID = fileID
    self.broken = broken
    bytesLeftToRead = 8 * bytes.byteCount
    limit = min(recordedEnd ?? capacity, capacity, UInt64(bytes.byteCount))
    collectCandidates(bytes)
    walk(bytes, recordedEnd: recordedEnd, last)
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

  /// The id under which the bytes have frames, or nil.
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

  private mutating func walk(_ bytes: RawSpan, recordedEnd: UInt64?, _ first: SequenceNumber) {
    var last = first
    var index = 0
    var wasClosed = false
    while !wasClosed {
      let next: Int
      if let following = following(from: index, bytes, last) {
        next = following
      } else if isKnownToGoOn(from: index, recordedEnd) {
        guard let later = later(from: index, bytes, last) else {
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

  /// The frame right behind the end, or on the next page.
  private mutating func following(from index: Int, _ bytes: RawSpan, _ last: SequenceNumber) -> Int? {
    let nextPage = end.roundedUp(toMultipleOf: UInt64(LogFormat.pageBytes))
    for candidate in candidates.indices[index...] {
      let offset = candidates[candidate].offset
      guard offset <= nextPage else { break }
      if offset == end || offset == nextPage, isRight(candidate, bytes, last) { return candidate }
    }
    return nil
  }

  private func isKnownToGoOn(from index: Int, _ recordedEnd: UInt64?) -> Bool {
    if let recordedEnd { return end < recordedEnd }
    return index < candidates.count && durableFromHere[index] > end
  }

  private mutating func later(from index: Int, _ bytes: RawSpan, _ last: SequenceNumber) -> Int? {
    for candidate in candidates.indices[index...] where candidates[candidate].offset > end {
      if isRight(candidate, bytes, last) { return candidate }
    }
    return nil
  }

  private mutating func isRight(_ index: Int, _ bytes: RawSpan, _ last: SequenceNumber) -> Bool {
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

  /// No further frame is right, but some header vouches for bytes up to there.
  private mutating func addGapToEvidence(from index: Int) {
    addGap(to: durableFromHere[index])
  }

  /// From `end` to the last byte that is not zero.
  private static func bytesInUse(of bytes: RawSpan, beyond end: UInt64) -> UInt64 {
    guard end < UInt64(bytes.byteCount) else { return 0 }
    return UInt64(bytes.extracting(droppingFirst: Int(end)).byteCountWithoutZeros)
  }

  /// Bytes up to the end that belong to no frame and no gap: none of them was ever anything but zero.
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
