// Reads a log: replays its commits, finds its end, and distinguishes a torn tail from damage.
//
// The rule is as follows (docs/reliability.md, C9). Let X be the first position that does not decode.
//   1. If another file records the end of this log and X lies before that end, the log is damaged.
//   2. If a frame beyond X records a sync beyond X, the log is damaged.
//   3. Otherwise the log ends at X. The bytes beyond X were never acknowledged; their size is reported.
//
// Step 2 relies on frame headers alone, because a header has its own checksum.

/// The end of a log, as found by replay.
package struct LogEnding: Equatable {
  /// X: the end of the valid bytes.
  package var length: UInt64
  /// The offset up to which the last frame records the log as synced.
  var durableThrough: UInt64
  package var lastSequence: SequenceNumber
  /// The largest stamp of all commits; 0 without commits.
  var lastStamp: UInt64
  var commits: Int
  /// Whether the log ends with a close marker.
  var wasClosed: Bool
  /// The size of the nonzero bytes beyond the end: a torn tail.
  package var dropped: UInt64
}

package struct LogReader: ~Escapable {
  private let header: LogHeader
  private let bytes: RawSpan
  private let fileBytes: UInt64
  private let path: String
  private let broken: Rule?

  /// Creates a reader of a log. `header` is the first page of a file of `fileBytes` bytes. `bytes` is the
  /// whole file, or at least the part before a recorded end.
  @_lifetime(copy bytes)
  package init(header: LogHeader, bytes: RawSpan, fileBytes: UInt64, path: String, broken: Rule? = nil) {
    self.header = header
    self.bytes = bytes
    self.fileBytes = fileBytes
    self.path = path
    self.broken = broken
  }

  /// Passes every commit to `apply`, in order. `recordedEnd` is the end that the manifest or the next
  /// log records.
  package func replay(
    recordedEnd: (length: UInt64, sequence: SequenceNumber)?,
    _ apply: (CommitBody) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) -> LogEnding {
    try checkSize(recordedEnd: recordedEnd?.length)
    let limit = recordedEnd?.length ?? header.capacity
    var ending = LogEnding(
      length: UInt64(LogFormat.pageBytes), durableThrough: UInt64(LogFormat.pageBytes),
      lastSequence: header.previous.sequence, lastStamp: 0, commits: 0, wasClosed: false, dropped: 0)
    while !ending.wasClosed, ending.length < limit,
      let frame = frame(after: ending.length, following: ending.lastSequence, limit: limit)
    {
      switch frame.header.kind {
      case .commit:
        guard let commit = CommitBody(decoding: Array(copying: body(of: frame))) else {
          throw damage(at: frame.offset, expected: "a commit's operations", found: "bytes that are invalid")
        }
        try apply(commit)
        ending.lastStamp = max(ending.lastStamp, commit.stamp)
        ending.lastSequence = frame.header.sequence
        ending.commits += 1
      case .watermark:
        break
      case .close:
        ending.wasClosed = true
      }
      ending.durableThrough = frame.header.durableThrough
      ending.length = frame.offset + UInt64(frame.header.paddedBytes)
    }
    if let recordedEnd {
      try compare(ending, with: recordedEnd)
    } else {
      try checkNothingAcknowledged(beyond: ending.length)
      ending.dropped = bytesInUse(beyond: ending.length)
    }
    return ending
  }

  // MARK: Frames

  private struct Frame {
    var offset: UInt64
    var header: FrameHeader
  }

  /// Returns the frame that follows at `offset`. A frame of the same group starts directly at `offset`, and
  /// the first frame of the next group starts on the next page.
  private func frame(after offset: UInt64, following last: SequenceNumber, limit: UInt64) -> Frame? {
    if let frame = frame(at: offset, following: last, limit: limit) { return frame }
    let nextPage = offset.roundedUp(toMultipleOf: UInt64(LogFormat.pageBytes))
    return nextPage == offset ? nil : frame(at: nextPage, following: last, limit: limit)
  }

  private func frame(at offset: UInt64, following last: SequenceNumber, limit: UInt64) -> Frame? {
    // A recorded end may lie before the next page.
    guard offset <= limit, let header = frameHeader(at: offset),
      UInt64(header.paddedBytes) <= limit - offset
    else {
      return nil
    }
    guard header.sequence == (header.kind == .commit ? last.next : last) else { return nil }
    let frame = Frame(offset: offset, header: header)
    let checksum = FrameHeader.checksum(
      ofBody: body(of: frame), file: self.header.fileID, offset: offset, broken: broken)
    return checksum == header.bodyCRC ? frame : nil
  }

  private func frameHeader(at offset: UInt64) -> FrameHeader? {
    let count = UInt64(LogFormat.frameHeaderBytes)
    guard offset <= UInt64(bytes.byteCount), UInt64(bytes.byteCount) - offset >= count else { return nil }
    let start = Int(offset)
    return FrameHeader(
      decoding: bytes.extracting(start..<start + Int(count)), file: header.fileID, offset: offset,
      broken: broken)
  }

  @_lifetime(copy self)
  private func body(of frame: Frame) -> RawSpan {
    let start = Int(frame.offset) + LogFormat.frameHeaderBytes
    return bytes.extracting(start..<start + frame.header.bodyBytes)
  }

  // MARK: The end

  /// A log gets its full size before any other file refers to it, so a shorter file was truncated.
  private func checkSize(recordedEnd: UInt64?) throws(ByteStoreError) {
    guard fileBytes == header.capacity else {
      throw damage(at: fileBytes, expected: "a file of \(header.capacity) bytes", found: "\(fileBytes) bytes")
    }
    if let recordedEnd, recordedEnd > header.capacity || recordedEnd < UInt64(LogFormat.pageBytes) {
      throw damage(at: header.capacity, expected: "room for the recorded end \(recordedEnd)", found: "none")
    }
    let bytesNeeded = recordedEnd ?? header.capacity
    guard UInt64(bytes.byteCount) >= bytesNeeded else {
      throw damage(at: UInt64(bytes.byteCount), expected: "\(bytesNeeded) bytes", found: "fewer")
    }
  }

  private func compare(
    _ ending: LogEnding, with recorded: (length: UInt64, sequence: SequenceNumber)
  ) throws(ByteStoreError) {
    guard ending.length == recorded.length else {
      throw damage(
        at: ending.length, expected: "a frame, as the log is recorded to end at \(recorded.length)",
        found: "none")
    }
    guard ending.lastSequence == recorded.sequence else {
      throw damage(
        at: ending.length, expected: "commits up to \(recorded.sequence.value)",
        found: "commits up to \(ending.lastSequence.value)")
    }
  }

  private func checkNothingAcknowledged(beyond end: UInt64) throws(ByteStoreError) {
    let alignment = UInt64(LogFormat.frameAlignment)
    for offset in stride(from: end, to: header.capacity, by: Int(alignment)) {
      guard let later = frameHeader(at: offset), isEvidence(later, beyond: end) else { continue }
      throw damage(
        at: end,
        expected: "a frame, as the one at \(offset) follows a sync up to \(later.durableThrough)",
        found: "bytes that do not decode")
    }
  }

  private func isEvidence(_ later: FrameHeader, beyond end: UInt64) -> Bool {
    if broken == .laterFrameIsNoDamage { return true }
    return later.durableThrough > end && broken != .laterDurableFrameIsDamage
  }

  /// Returns the number of bytes from `end` up to and including the last nonzero byte.
  private func bytesInUse(beyond end: UInt64) -> UInt64 {
    UInt64(bytes.extracting(droppingFirst: Int(end)).byteCountWithoutZeros)
  }

  private func damage(at offset: UInt64, expected: String, found: String) -> ByteStoreError {
    .corrupted(Damage(file: path, offset: offset, expected: expected, found: found))
  }
}
