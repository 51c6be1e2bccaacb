// The check of segments: every page and every entry, compared with the key directory.

import ByteStore

extension Check {
  mutating func checkSegments() throws(ByteStoreError) {
    var table = hasTable ? KeyDirectoryCheck(opened.table.frozen()) : nil
    for entry in opened.manifest.segments {
      let name = StoreFile.segment(entry.number)
      let isThere = try skippingIfRemoved(name) { check throws(ByteStoreError) in
        guard let file = try check.open(name, "a segment that the manifest names") else {
          table?.skip(0..<entry.pages, slot: entry.slot)
          return
        }
        defer { file.close() }
        try check.checkSegment(file, entry, table: &table)
      }
      if !isThere { table?.skip(0..<entry.pages, slot: entry.slot) }
    }
    guard let table else { return }
    table.forEachMissing { ordinal, location in
      guard let entry = opened.manifest.segments.first(where: { $0.slot == location.slot }) else { return }
      report.add(
        Damage(
          file: "\(directory.path)/\(StoreFile.segment(entry.number))",
          offset: table.offset(of: location), expected: "the entry of ordinal \(ordinal)", found: "none"))
    }
  }

  mutating func checkSegment(
    _ file: TolerantFile, _ entry: Manifest.Segment?, table: inout KeyDirectoryCheck?
  ) throws(ByteStoreError) {
    let hints = SegmentSource.Hints(
      entry: entry, number: StoreFile.segmentNumber(of: file.name), dictionaries: dictionaries)
    let (found, damages) = try SegmentSource.read(file, hints, platform: platform)
    for damage in damages { report.add(damage) }
    guard let source = found else {
      if let entry { table?.skip(0..<entry.pages, slot: entry.slot) }
      return
    }
    if let dictionary = source.dictionary { dictionaries = [dictionary] }
    if let entry { table?.dataStarts[entry.slot] = source.header.dataStart }
    advance(source.header.dataStart, file.name)
    guard let entry, !matchesManifestEntry(entry, source, file: file) else {
      return try checkEntries(source, entry, table: &table)
    }
    // The file with this segment's name is a different file, so its entries are unrelated to the key
    // directory.
    table?.skip(0..<entry.pages, slot: entry.slot)
    var noTable: KeyDirectoryCheck?
    try checkEntries(source, nil, table: &noTable)
  }

  private mutating func matchesManifestEntry(
    _ entry: Manifest.Segment, _ source: SegmentSource, file: TolerantFile
  ) -> Bool {
    guard source.isHeaderSound else { return true }
    let header = source.header
    let storeID = opened.manifest.storeID
    guard header.storeID == storeID else {
      report.add(file.damage(at: 32, expected: "store \(storeID)", found: "store \(header.storeID)"))
      return false
    }
    guard header.fileID == entry.fileID, header.number == entry.number else {
      report.add(
        file.damage(
          at: 16, expected: "segment \(entry.number.value) with id \(entry.fileID)",
          found: "segment \(header.number.value) with id \(header.fileID)"))
      return false
    }
    guard header.pages == entry.pages, header.fileBytes == entry.bytes else {
      report.add(
        file.damage(
          at: 72, expected: "\(entry.pages) pages in \(entry.bytes) bytes",
          found: "\(header.pages) in \(header.fileBytes)")
      )
      return false
    }
    if let position = opened.checkpoint?.header.position.sequence, header.asOf > position {
      report.add(
        file.damage(
          at: 56, expected: "entries as of commit \(position.value) or before", found: "\(header.asOf.value)")
      )
    }
    return true
  }

  /// A pass over the entries of a segment.
  private struct SegmentPass {
    let source: SegmentSource
    /// The key directory to compare the entries with; nil if there is none.
    var table: KeyDirectoryCheck?
    /// Whether the header and all pages are intact, so that the totals cover the whole segment.
    var isIntact: Bool
    var entries: UInt64 = 0
    var liveBytes: UInt64 = 0

    /// Moves `table` out of the caller's variable, so that no change copies it.
    init(_ source: SegmentSource, _ table: inout KeyDirectoryCheck?) {
      self.source = source
      self.table = table
      table = nil
      isIntact = source.isHeaderSound
    }
  }

  private mutating func checkEntries(
    _ source: SegmentSource, _ entry: Manifest.Segment?, table: inout KeyDirectoryCheck?
  ) throws(ByteStoreError) {
    var buffer = ReadBuffer()
    var pass = SegmentPass(source, &table)
    defer { table = pass.table }
    let slot = entry?.slot ?? 0
    try source.forEachEntry(slot: slot) { stored, location, bytes throws(ByteStoreError) in
      if stored.offset == 0 { try checkStopped() }
      checkEntry(stored, location, bytes: bytes, pass: &pass, buffer: &buffer)
    } damaged: { pages, damage throws(ByteStoreError) in
      try checkStopped()
      pass.isIntact = false
      report.add(damage)
      pass.table?.skip(pages, slot: slot)
      advance(UInt64(pages.count * SegmentFormat.pageBytes), source.file.name)
    }
    report.entries += pass.entries
    if pass.table != nil {
      report.deadBytes += UInt64(source.pages * SegmentFormat.pageBytes) - pass.liveBytes
    }
    guard pass.isIntact, pass.entries != source.header.entries else { return }
    report.add(
      source.file.damage(at: 64, expected: "\(source.header.entries) entries", found: "\(pass.entries)"))
  }

  private mutating func checkEntry(
    _ entry: StoredEntry, _ location: Location, bytes: RawSpan, pass: inout SegmentPass,
    buffer: inout ReadBuffer
  ) {
    let source = pass.source
    pass.entries += 1
    let page = location.page ?? 0
    let offset = source.header.offset(of: location)
    if entry.offset == 0 { advance(UInt64(pages(of: location) * SegmentFormat.pageBytes), source.file.name) }
    guard source.decode(entry, from: bytes, into: &buffer), let parts = EntryBytes.split(buffer.bytes) else {
      pass.table?.skip(page..<page + 1, slot: location.slot ?? 0)
      // Without the dictionary, no compressed entry can be decoded. The missing dictionary has been reported
      // already.
      if !entry.isCompressed || source.dictionary != nil {
        report.add(source.undecodableEntry(onPage: page, at: entry.offset))
      }
      return
    }
    let key = buffer.bytes.extracting(parts.key)
    if pass.table != nil {
      guard pass.table?.isLive(entry, location) == true else { return }
      pass.liveBytes += UInt64(bytesUsed(entry, location))
      guard pass.table?.isExpectedKey(key, of: entry) == true else {
        let expected = "the key of ordinal \(entry.ordinal)"
        return report.add(source.file.damage(at: offset, expected: expected, found: "another"))
      }
    }
    guard keysInLogs.isEmpty || !keysInLogs.contains(hash(of: key)) else { return }
    inspectEntry(
      key, buffer.bytes.extracting(droppingFirst: parts.valueStart), file: source.path, offset: offset)
  }

  private func pages(of location: Location) -> Int {
    if case .run(_, _, let pages) = location.place { pages } else { 1 }
  }

  private func bytesUsed(_ entry: StoredEntry, _ location: Location) -> Int {
    if case .run(_, _, let pages) = location.place { pages * SegmentFormat.pageBytes } else { entry.bytes }
  }

  mutating func inspectEntry(_ key: RawSpan, _ value: RawSpan, file: String, offset: UInt64) {
    guard let wrong = upperLayer.inspect?(key, value) else { return }
    report.addEntry(Damage(file: file, offset: offset, expected: "a record", found: wrong))
  }
}
