// The records of one file of an export.
//
//   file   := block*                  each of 32 KiB; the last one may be shorter
//   block  := part* zeros             fewer than 7 bytes are never a part
//   part   := checksum:4 length:2 type:1 bytes       little-endian
//   record := whole | first middle* last
//
// The checksum is CRC32C over the type and the bytes, rotated right by 15 bits, plus a constant.

import ByteStore
import Foundation

final class RecordLog {
  static let blockBytes = 32 << 10
  static let headerBytes = 7
  /// No document is longer, so longer records are not buffered.
  private static let recordBytesMax = 32 << 20

  enum Part: UInt8 {
    case whole = 1
    case first, middle, last
  }

  private let file: FileHandle
  private let bytes: Int
  /// The offset after the last record that was returned.
  private(set) var offset = 0
  private var block: (start: Int, bytes: [UInt8]) = (0, [])

  init(_ path: String) throws {
    guard let file = FileHandle(forReadingAtPath: path) else {
      throw CommandFailure(
        code: .inputOutput, message: "\(path) cannot be read: \(String(cString: strerror(errno))).")
    }
    self.file = file
    bytes = Int(clamping: (try? file.seekToEnd()) ?? 0)
  }

  func skip(to offset: Int) { self.offset = min(max(0, offset), bytes) }

  func next() throws(ProtobufProblem) -> [UInt8]? {
    var place = offset
    var record: [UInt8] = []
    var isOpen = false
    while let (part, bytes) = try part(at: &place) {
      switch (part, isOpen) {
      case (.whole, false), (.last, true):
        offset = place
        return record + bytes
      case (.first, false), (.middle, true):
        isOpen = true
        record += bytes
      default: throw ProtobufProblem("the parts of a record are out of order")
      }
      guard record.count <= Self.recordBytesMax else { throw ProtobufProblem("a record has no end") }
    }
    guard !isOpen else { throw Self.cutOff }
    offset = bytes
    return nil
  }

  private func part(at place: inout Int) throws(ProtobufProblem) -> (Part, [UInt8])? {
    while true {
      let left = Self.blockBytes - place % Self.blockBytes
      guard bytes > place else { return nil }
      guard left >= Self.headerBytes else {
        place += left
        continue
      }
      guard bytes - place >= Self.headerBytes else {
        // Only zeros can follow the last record.
        guard try block(with: place).allSatisfy({ $0 == 0 }) else { throw Self.cutOff }
        return nil
      }
      let block = try block(with: place)
      guard block.count >= Self.headerBytes else { throw Self.cutOff }
      let header = Array(block.prefix(Self.headerBytes))
      let length = Int(header[4]) | Int(header[5]) << 8
      guard header[6] != 0 || length != 0 else {
        // The rest of the block was not written.
        place += left
        continue
      }
      guard let part = Part(rawValue: header[6]) else {
        throw ProtobufProblem("this is not an export file")
      }
      guard length <= block.count - Self.headerBytes else { throw Self.cutOff }
      let content = Array(block.dropFirst(Self.headerBytes).prefix(length))
      let stored = (0..<4).reduce(UInt32(0)) { $0 | UInt32(header[$1]) << (8 * UInt32($1)) }
      guard stored == Self.checksum(header[6], content) else {
        throw ProtobufProblem("the checksum does not match the bytes: the file is damaged")
      }
      place += Self.headerBytes + length
      return (part, content)
    }
  }

  /// Returns the bytes from `place` to the end of its block.
  private func block(with place: Int) throws(ProtobufProblem) -> ArraySlice<UInt8> {
    let start = place - place % Self.blockBytes
    if block.start != start || block.bytes.isEmpty {
      do {
        try file.seek(toOffset: UInt64(start))
        block = (start, [UInt8](try file.read(upToCount: Self.blockBytes) ?? Data()))
      } catch {
        throw ProtobufProblem("the file cannot be read: \(error.localizedDescription)")
      }
    }
    return block.bytes.dropFirst(place - start)
  }

  private static let cutOff = ProtobufProblem("the file ends within a record; it was cut off")

  static func checksum(_ type: UInt8, _ bytes: [UInt8]) -> UInt32 {
    var checksum = Checksum()
    checksum.update(([type] + bytes).span.bytes)
    let value = checksum.value
    return ((value >> 15) | (value << 17)) &+ 0xA282_EAD8
  }
}
