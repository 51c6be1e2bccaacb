// A file or a pipe, read in chunks: a window of bytes from the first one that is not consumed.

import Foundation

final class InputBytes {
  private static let chunkBytes = 1 << 20

  /// The path; "-" for standard input.
  let path: String
  /// The size of the file; 0 if unknown.
  let total: UInt64
  /// The bytes that were read and not discarded. Those before `start` are consumed.
  private(set) var bytes: [UInt8] = []
  private(set) var start = 0
  /// The offset of `start` in the input.
  private(set) var offset: UInt64 = 0
  /// Whether the window reaches the end of the input.
  private(set) var isAtEnd = false
  /// Nil for a sample.
  private let handle: FileHandle?
  /// The number of newlines consumed, and the offset of the first byte for which they were counted.
  private var newlines = 0
  private var countedFrom: UInt64 = 0

  init(_ path: String) throws {
    self.path = path
    guard path != "-" else {
      handle = .standardInput
      total = 0
      return
    }
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw CommandFailure(
        code: .inputOutput, message: "\(path) cannot be read: \(String(cString: strerror(errno))).")
    }
    self.handle = handle
    total = (try? handle.seekToEnd()) ?? 0
    try? handle.seek(toOffset: 0)
  }

  /// Creates an input of the first bytes of another input. `isAtEnd` is false for both until the end of the
  /// other input is part of the sample.
  private init(sampleOf other: InputBytes) {
    path = other.path
    total = 0
    handle = nil
    bytes = other.bytes
    isAtEnd = other.isAtEnd
  }

  /// Returns an input of at least the first `count` bytes, or of all if there are fewer. Nothing may be
  /// consumed yet.
  func sample(_ count: Int) throws -> InputBytes {
    while bytes.count < count, try more() {}
    return InputBytes(sampleOf: self)
  }

  /// Whether more bytes can be read into the window. A sample has no more.
  var hasMore: Bool { !isAtEnd && handle != nil }

  /// Extends the window by at least one byte. Returns false at the end. A window that holds a long record
  /// doubles, so that the record is examined only a few times.
  func more() throws -> Bool {
    guard hasMore else { return false }
    if start > 0 {
      bytes.removeSubrange(..<start)
      start = 0
    }
    let wanted = max(Self.chunkBytes, bytes.count)
    var added = 0
    while added == 0 || added < min(wanted, bytes.count - added) {
      let piece = try piece(wanted - added)
      guard !piece.isEmpty else {
        isAtEnd = true
        break
      }
      bytes.append(contentsOf: piece)
      added += piece.count
    }
    return added > 0
  }

  private func piece(_ count: Int) throws -> Data {
    do { return try handle?.read(upToCount: count) ?? Data() } catch {
      throw CommandFailure(
        code: .inputOutput, message: "\(path) cannot be read: \(error.localizedDescription)")
    }
  }

  /// Consumes the bytes before `end`, an index of the window.
  func consume(upTo end: Int) {
    newlines += Self.newlines(in: bytes, start..<end)
    offset += UInt64(end - start)
    start = end
  }

  func seek(to offset: UInt64) throws {
    try handle?.seek(toOffset: offset)
    (bytes, start, isAtEnd) = ([], 0, false)
    (newlines, countedFrom) = (0, offset)
    self.offset = offset
  }

  /// The line of the first byte that is not consumed, from 1. Skipped lines are counted only on request,
  /// because few callers need the number.
  var line: Int { 1 + newlines + ((try? LineReader.lines(of: path, upTo: countedFrom)) ?? 0) }

  static func newlines(in bytes: [UInt8], _ range: Range<Int>) -> Int {
    let span = bytes.span
    var count = 0
    for place in range where span[place] == 0x0A { count += 1 }
    return count
  }
}
