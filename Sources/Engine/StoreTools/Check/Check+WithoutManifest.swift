// The check without a manifest: the set of files is unknown, so each file is checked by itself.

import ByteStore

extension Check {
  /// Checks each file by its own header.
  mutating func checkWithoutManifest(_ names: [String]) throws(ByteStoreError) {
    hasTable = false
    var noTable: KeyDirectoryCheck?
    for name in names {
      if StoreFile.segmentNumber(of: name) != nil, let file = try open(name, "a segment") {
        defer { file.close() }
        try checkSegment(file, nil, table: &noTable)
      } else if StoreFile.logNumber(of: name) != nil, let file = try open(name, "a log") {
        defer { file.close() }
        try checkStandaloneLog(file)
      } else if StoreFile.isCheckpoint(name), let file = try open(name, "a checkpoint") {
        defer { file.close() }
        try checkStandaloneCheckpoint(file)
      }
    }
  }

  private mutating func checkStandaloneLog(_ file: TolerantFile) throws(ByteStoreError) {
    guard let bytes = try file.read(Int(LogFormat.capacityMax) + 1, at: 0) else {
      return report.add(file.unreadable(at: 0, expected: "a log"))
    }
    advance(UInt64(bytes.count), file.name)
    guard let header = try logHeader(bytes, file) else { return }
    let expected = LogScan.Expectation(
      fileID: header.fileID, capacity: header.capacity, recordedEnd: nil, previous: header.previous.sequence)
    scan(bytes, file, expected: expected)
  }

  private mutating func checkStandaloneCheckpoint(_ file: TolerantFile) throws(ByteStoreError) {
    inspectCheckpointEntries(in: file, nil)
    guard let page = try file.read(CheckpointFormat.pageBytes, at: 0) else {
      return report.add(file.unreadable(at: 0, expected: "a checkpoint's header"))
    }
    let (header, damage) = try CheckpointHeader.decode(page, file: file.path)
    if let damage { report.add(damage) }
    guard let header else { return }
    try file.forEachPage(
      of: CheckpointFormat.pageBytes, at: UInt64(CheckpointFormat.pageBytes),
      count: Int(header.fileBytes / UInt64(CheckpointFormat.pageBytes)) - 1
    ) { page, bytes throws(ByteStoreError) in
      let offset = UInt64((page + 1) * CheckpointFormat.pageBytes)
      advance(UInt64(CheckpointFormat.pageBytes), file.name)
      guard let bytes,
        bytes.hasPageChecksum(file: header.fileID, offset: offset, broken: platform.brokenRule)
      else {
        return report.add(
          file.damage(at: offset, expected: "a page that matches its checksum", found: "bytes that do not"))
      }
    }
  }
}
