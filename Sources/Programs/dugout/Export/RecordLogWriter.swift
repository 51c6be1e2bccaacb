// Writes the records of one file of an export. `RecordLog` describes the format.

import DocumentStore
import Foundation

final class RecordLogWriter {
  private static let bufferBytes = 1 << 20

  private let path: String
  private let file: FileHandle
  private var buffer: [UInt8] = []
  /// The number of bytes, written or buffered.
  private(set) var byteCount = 0

  init(_ path: String) throws(DocumentStoreError) {
    self.path = path
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw ExportFile.failure(path) }
    file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  func append(_ record: [UInt8]) throws(DocumentStoreError) {
    var rest = record[...]
    var isFirst = true
    repeat {
      var left = RecordLog.blockBytes - byteCount % RecordLog.blockBytes
      if left < RecordLog.headerBytes {
        add([UInt8](repeating: 0, count: left))
        left = RecordLog.blockBytes
      }
      let part = Array(rest.prefix(left - RecordLog.headerBytes))
      rest = rest.dropFirst(part.count)
      add(part, of: Self.part(isFirst: isFirst, isLast: rest.isEmpty))
      isFirst = false
    } while !rest.isEmpty
    if buffer.count > Self.bufferBytes { try flush() }
  }

  private static func part(isFirst: Bool, isLast: Bool) -> RecordLog.Part {
    switch (isFirst, isLast) {
    case (true, true): .whole
    case (true, false): .first
    case (false, false): .middle
    case (false, true): .last
    }
  }

  private func add(_ part: [UInt8], of type: RecordLog.Part) {
    let checksum = RecordLog.checksum(type.rawValue, part)
    var header = stride(from: UInt32(0), to: 32, by: 8).map { UInt8(truncatingIfNeeded: checksum >> $0) }
    header += [UInt8(part.count & 0xFF), UInt8(part.count >> 8), type.rawValue]
    add(header)
    add(part)
  }

  private func add(_ bytes: [UInt8]) {
    buffer += bytes
    byteCount += bytes.count
  }

  private func flush() throws(DocumentStoreError) {
    do { try file.write(contentsOf: Data(buffer)) } catch {
      var evidence = StorageEvidence(message: "\(path) could not be written: \(error.localizedDescription)")
      evidence.file = path
      throw .failed(evidence)
    }
    buffer.removeAll(keepingCapacity: true)
  }

  /// Writes all records to the disk.
  func finish() throws(DocumentStoreError) {
    try flush()
    guard fsync(file.fileDescriptor) == 0 else { throw ExportFile.failure(path) }
  }
}
