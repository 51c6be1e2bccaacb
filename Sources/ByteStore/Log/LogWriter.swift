// Appending to the log: one group of commits, one write, one sync.
//
// Invariants:
//   - A page is written once; a group starts on a fresh page (docs/reliability.md, C9).
//   - `durableThrough` is the end of the last group whose sync returned.
//   - After any failure the writer is not used again (C4): its file may hold anything beyond
//     `durableThrough`.

/// Why a commit was not made durable.
enum WriteFailure: Error {
  /// Nothing of it reached the log; the store is as before and goes on.
  case refused(SystemFailure)
  /// A write or a sync failed on the way: only the next open can tell what is there.
  case unknown(SystemFailure)
}

struct LogWriter {
  let header: LogHeader
  let name: String
  private let file: any OpenFile
  private(set) var offset = UInt64(LogFormat.pageBytes)
  private(set) var durableThrough = UInt64(LogFormat.pageBytes)
  private(set) var lastSequence: SequenceNumber

  /// Makes the file at its full size, with its header, on stable storage (C3). The bytes are really
  /// written: a sync of merely reserved space would have to write the file system's metadata as well.
  static func create(
    _ header: LogHeader, in directory: any OpenDirectory
  ) throws(WriteFailure) -> LogWriter {
    let name = StoreFile.log(header.number)
    do throws(SystemFailure) {
      let file = try directory.createFile(name)
      try file.writeAll(header.encoded().rawSpan, at: 0)
      try fill(file, from: UInt64(LogFormat.pageBytes), to: header.capacity)
      try sync(file, in: directory)
      return LogWriter(header: header, name: name, file: file, lastSequence: header.previous.sequence)
    } catch {
      // A leftover is harmless, the next open removes it; but a full disk wants its space back.
      try? directory.remove(name)
      throw error.isSync ? .unknown(error) : .refused(error)
    }
  }

  private static func fill(
    _ file: any OpenFile, from start: UInt64, to end: UInt64
  ) throws(SystemFailure) {
    let zeros = [UInt8](repeating: 0, count: 256 << 10)
    var offset = start
    while offset < end {
      let count = Int(min(UInt64(zeros.count), end - offset))
      try file.writeAll(zeros.rawSpan.extracting(first: count), at: offset)
      offset += UInt64(count)
    }
  }

  private static func sync(
    _ file: any OpenFile, in directory: any OpenDirectory
  ) throws(SystemFailure) {
    try file.sync()
    try directory.sync()
  }

  /// What a group of these bodies takes in the file.
  static func groupBytes(_ bodies: [Batch]) -> Int {
    let frames = bodies.reduce(0) { sum, batch in
      sum
        + (LogFormat.frameHeaderBytes + batch.body.count)
        .roundedUp(toMultipleOf: LogFormat.frameAlignment)
    }
    return frames.roundedUp(toMultipleOf: LogFormat.pageBytes)
  }

  /// Room for this group, and for the close marker after it.
  func hasRoom(for group: [Batch]) -> Bool {
    offset + UInt64(Self.groupBytes(group) + LogFormat.pageBytes) <= header.capacity
  }

  /// Writes and syncs; when it returns, the commits are durable.
  mutating func append(_ group: [Batch]) throws(SystemFailure) {
    precondition(hasRoom(for: group), "a group must fit: the caller turns to a new log first")
    var pages: [UInt8] = []
    pages.reserveCapacity(Self.groupBytes(group))
    var sequence = lastSequence
    for batch in group {
      sequence = sequence.next
      encode(.commit, body: batch.body, sequence: sequence, into: &pages)
    }
    try write(pages)
    lastSequence = sequence
  }

  /// The last frame of a log.
  mutating func appendCloseMarker() throws(SystemFailure) {
    var page: [UInt8] = []
    encode(.close, body: [], sequence: lastSequence, into: &page)
    // The close marker's frame, not its page, is the end that gets recorded.
    let end = offset + UInt64(page.count)
    try write(page)
    offset = end
  }

  func closeFile() { file.close() }

  private func encode(
    _ kind: FrameHeader.Kind, body: [UInt8], sequence: SequenceNumber, into pages: inout [UInt8]
  ) {
    let position = offset + UInt64(pages.count)
    let header = FrameHeader(
      kind: kind, bodyBytes: body.count, sequence: sequence, durableThrough: durableThrough,
      bodyCRC: FrameHeader.checksum(ofBody: body.rawSpan, file: header.fileID, offset: position))
    header.encode(into: &pages, file: self.header.fileID, offset: position)
    pages.append(contentsOf: body)
    pages.pad(toMultipleOf: LogFormat.frameAlignment)
  }

  private mutating func write(_ frames: [UInt8]) throws(SystemFailure) {
    var pages = frames
    pages.pad(toMultipleOf: LogFormat.pageBytes)
    try file.writeAll(pages.rawSpan, at: offset)
    try file.sync()
    offset += UInt64(pages.count)
    durableThrough = offset
  }
}

extension SystemFailure {
  /// After a failed sync the system may forget what it could not write (docs/reliability.md, F4).
  var isSync: Bool { operation.hasSuffix("sync") }
}
