// The check of the WAL: every frame, the end of each log, and the key directory after the commits.

import ByteStore

extension Check {
  mutating func checkLogs(appliesCommits: Bool) throws(ByteStoreError) {
    // After damage, the end of the previous log is unknown. In that case, the end that the next log's own
    // header records is trusted.
    var followsDamage = opened.manifest.checkpoint != nil && opened.checkpoint == nil
    for log in opened.manifest.logs {
      try checkStopped()
      var isIntact = false
      let isThere = try skippingIfRemoved(StoreFile.log(log.number)) { check throws(ByteStoreError) in
        isIntact = try check.checkLog(log, followsDamage, applies: appliesCommits)
      }
      guard isThere else {
        followsDamage = true
        continue
      }
      followsDamage = !isIntact && log.end == nil
      if !isIntact {
        hasTable = false
        if let end = log.end {
          opened.last = LogHeader.LogEnd(fileID: log.fileID, length: end.length, sequence: end.sequence)
        }
      }
    }
  }

  /// Returns false if the log is damaged.
  private mutating func checkLog(
    _ log: Manifest.Log, _ followsDamage: Bool, applies: Bool
  ) throws(ByteStoreError) -> Bool {
    guard let file = try open(StoreFile.log(log.number), "a log that the manifest names") else {
      return false
    }
    defer { file.close() }
    defer { advance(min(file.size, LogFormat.capacityMax), file.name) }
    guard let bytes = try file.read(Int(LogFormat.capacityMax) + 1, at: 0) else {
      report.add(file.unreadable(at: 0, expected: "a log"))
      return false
    }
    guard let header = try logHeader(bytes, file) else {
      let expected = LogScan.Expectation(
        fileID: log.fileID, capacity: UInt64(bytes.count), recordedEnd: log.end?.length, previous: .none)
      scan(bytes, file, expected: expected)
      return false
    }
    if followsDamage { opened.last = header.previous }
    let isOurs: Void? = try recordingDamage { check throws(ByteStoreError) in
      try ByteStore.check(header, against: log, file: file.file, opened: check.opened)
    }
    let expected = LogScan.Expectation(
      fileID: header.fileID, capacity: header.capacity, recordedEnd: log.end?.length,
      previous: header.previous.sequence)
    scan(bytes, file, expected: expected)
    guard isOurs != nil else { return false }
    return try replay(bytes, file, header: header, log: log, applies: applies && hasTable)
  }

  mutating func logHeader(_ bytes: [UInt8], _ file: TolerantFile) throws(ByteStoreError) -> LogHeader? {
    let (header, damage) = try LogHeader.decode(bytes, file: file.path)
    if let damage { report.add(damage) }
    return damage == nil ? header : nil
  }

  /// Reports what a replay skips: gaps, and nonzero bytes between frames.
  mutating func scan(_ bytes: [UInt8], _ file: TolerantFile, expected: LogScan.Expectation) {
    let scan = LogScan(bytes.rawSpan, expected, broken: platform.brokenRule)
    for gap in scan.gaps {
      report.add(
        file.damage(
          at: gap.lowerBound, expected: "a frame, as the log continues",
          found: "none up to byte \(gap.upperBound)")
      )
    }
    for frame in scan.frames where frame.context(in: bytes.rawSpan) == nil {
      report.add(
        file.damage(at: frame.offset, expected: "the context of a log", found: "bytes that are invalid"))
    }
    let header = UInt64(LogFormat.headerBytes)..<UInt64(LogFormat.pageBytes)
    for range in [header] + scan.unused(bytes.rawSpan) {
      let range = range.clamped(to: 0..<UInt64(bytes.count))
      guard let index = bytes[Int(range.lowerBound)..<Int(range.upperBound)].firstIndex(where: { $0 != 0 })
      else { continue }
      report.add(
        file.damage(
          at: UInt64(index), expected: "zeros up to byte \(range.upperBound)", found: "something else"))
    }
  }

  private mutating func replay(
    _ bytes: [UInt8], _ file: TolerantFile, header: LogHeader, log: Manifest.Log, applies: Bool
  ) throws(ByteStoreError) -> Bool {
    let table = opened.table
    var isDamaged = false
    let ending = try recordingDamage { check throws(ByteStoreError) in
      try LogReader(
        header: header, bytes: bytes.rawSpan, fileBytes: UInt64(bytes.count), path: file.path,
        broken: check.platform.brokenRule
      )
      .replay(recordedEnd: log.end) { commit throws(ByteStoreError) in
        guard applies, !isDamaged else { return }
        let applied: Void? = try check.recordingDamage { _ throws(ByteStoreError) in
          var newKeys = 0
          table.apply([AppliedCommit(body: commit, targets: try table.prepare(commit, newKeys: &newKeys))])
        }
        isDamaged = applied == nil
      }
    }
    guard let ending else { return false }
    opened.last = LogHeader.LogEnd(
      fileID: header.fileID, length: ending.length, sequence: ending.lastSequence)
    if ending.dropped > 0 {
      report.losses.append(
        RecoveryReport.Loss(
          file: file.path, offset: ending.length, length: ending.dropped,
          reason: "a group of commits was cut off before it was acknowledged"))
    }
    return !isDamaged
  }

  /// Returns the hashes for `keysInLogs`, or nil if a log is damaged. `checkLogs` reports that damage.
  func findKeysInLogs() throws(ByteStoreError) -> Set<UInt64>? {
    var keys: Set<UInt64> = []
    for log in opened.manifest.logs {
      guard let file = try TolerantFile(StoreFile.log(log.number), in: directory) else { return nil }
      defer { file.close() }
      guard let bytes = try file.read(Int(LogFormat.capacityMax) + 1, at: 0) else { return nil }
      let expected = LogScan.Expectation(
        fileID: log.fileID, capacity: UInt64(bytes.count), recordedEnd: log.end?.length, previous: .none)
      let scan = LogScan(bytes.rawSpan, expected, broken: platform.brokenRule)
      guard scan.gaps.isEmpty else { return nil }
      for frame in scan.frames where frame.header.kind == .commit {
        let start = Int(frame.offset) + LogFormat.frameHeaderBytes
        guard let commit = CommitBody(decoding: Array(bytes[start..<start + frame.header.bodyBytes])) else {
          return nil
        }
        for operation in commit.operations {
          keys.insert(hash(of: commit.bytes.rawSpan.extracting(operation.key)))
        }
      }
    }
    return keys
  }

  func hash(of key: RawSpan) -> UInt64 { KeyHash(seed: opened.manifest.storeID).hash(key) }

  /// Checks the entries that the key directory holds for the commits after the checkpoint.
  mutating func checkMemtable() throws(ByteStoreError) {
    let table = opened.table.frozen()
    checkInvariants(table)
    guard upperLayer.inspect != nil else { return }
    try table.forEachMemtableEntry { _, commit, key, value throws(ByteStoreError) in
      let bytes = commit.bytes.rawSpan
      inspectEntry(
        bytes.extracting(key), bytes.extracting(value), file: "\(directory.path)/the logs",
        offset: UInt64(key.lowerBound))
    }
  }
}
