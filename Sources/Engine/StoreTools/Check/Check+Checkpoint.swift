// The check of the checkpoint: every page, and the key directory that the pages form.

import ByteStore

extension Check {
  /// Checks the header and every page.
  mutating func checkPages(_ entry: Manifest.Checkpoint) throws(ByteStoreError) {
    _ = try skippingIfRemoved(StoreFile.checkpoint(entry.number)) { check throws(ByteStoreError) in
      try check.checkPagesOfFile(entry)
    }
  }

  private mutating func checkPagesOfFile(_ entry: Manifest.Checkpoint) throws(ByteStoreError) {
    let name = StoreFile.checkpoint(entry.number)
    guard let file = try open(name, "a checkpoint that the manifest names") else {
      hasTable = false
      return
    }
    defer { file.close() }
    inspectCheckpointEntries(in: file, entry)
    let source = try recordingDamage { check throws(ByteStoreError) in
      try check.openCheckpoint(entry, file)
    }
    guard let source = source ?? nil else {
      hasTable = false
      return
    }
    advance(UInt64(CheckpointFormat.pageBytes), name)
    var offset = UInt64(CheckpointFormat.pageBytes)
    for region in source.header.regions {
      let isTable = region.region.rawValue < CheckpointRegion.firstOfUpperLayer.rawValue
      for page in 0..<region.pages {
        try checkStopped()
        let payload = try recordingDamage(at: offset) { _ throws(ByteStoreError) in
          try source.payload(region.region, page)
        }
        if payload == nil, isTable { hasTable = false }
        offset += UInt64(CheckpointFormat.pageBytes)
        advance(UInt64(CheckpointFormat.pageBytes), name)
      }
    }
    opened.checkpoint = source
    opened.last = source.header.position
  }

  /// Inspects the entries that the upper layer keeps in the checkpoint, as far as they can be read. Damaged
  /// pages are reported elsewhere.
  func inspectCheckpointEntries(in file: TolerantFile, _ entry: Manifest.Checkpoint?) {
    guard let inspect = upperLayer.inspect,
      let source = try? CheckpointSource.read(file, entry, platform: platform)
    else { return }
    for (key, value) in upperLayer.restore({ region in (try? source.payloads(region)) ?? [nil] }) {
      _ = inspect(key.rawSpan, value.rawSpan)
    }
  }

  /// Opens the checkpoint. If only the version number is wrong, reports the version number as damage and
  /// returns nil.
  private mutating func openCheckpoint(
    _ entry: Manifest.Checkpoint, _ file: TolerantFile
  ) throws(ByteStoreError) -> CheckpointFile? {
    let page = try file.read(CheckpointFormat.pageBytes, at: 0) ?? []
    let (_, damage) = try CheckpointHeader.decode(page, file: file.path)
    if let damage {
      report.add(damage)
      return nil
    }
    return try CheckpointFile(entry, storeID: opened.manifest.storeID, in: directory, platform: platform)
  }

  /// Checks the pages, and the key directory that they form.
  mutating func checkTable(_ entry: Manifest.Checkpoint) throws(ByteStoreError) {
    try checkPages(entry)
    guard hasTable, let source = opened.checkpoint else { return }
    let segments = opened.manifest.segments.map {
      Segment($0, storeID: opened.manifest.storeID, in: directory, platform: platform)
    }
    let table = try recordingDamage { _ throws(ByteStoreError) in
      try Self.loadedTable(
        KeyDirectory(
          source, segments: try ByteStore.uses(of: segments, source),
          overflow: try ByteStore.overflow(of: source)), source)
    }
    hasTable = table != nil
    guard let table else { return }
    checkFreeList(table, source)
    opened.table = SharedKeyDirectory(table, opened.table.cache, path: directory.path)
  }

  private static func loadedTable(
    _ table: KeyDirectory, _ source: CheckpointFile
  ) throws(ByteStoreError) -> KeyDirectory {
    var table = table
    for pages in table.pageAddresses {
      for index in 0..<pages.count {
        let address = pages.address(index)
        guard !table.isLoaded(address) else { continue }
        guard table.install(try source.words(address), at: address) else { throw source.invalidPage(address) }
      }
    }
    return table
  }

  /// Loads the checkpoint pages that the open store has not read yet.
  mutating func loadTable(ofOpenStore table: KeyDirectory) throws(ByteStoreError) {
    guard let source = table.source else { return }
    let loaded = try recordingDamage { _ throws(ByteStoreError) in try Self.loadedTable(table, source) }
    hasTable = loaded != nil
    if let loaded { opened.table = SharedKeyDirectory(loaded, opened.table.cache, path: directory.path) }
  }

  /// Checks that the free list contains each free ordinal once, and no other ordinals.
  private mutating func checkFreeList(_ table: KeyDirectory, _ source: CheckpointFile) {
    let free = table.freeOrdinals
    let isValid =
      free.count == table.ordinals - table.keys && Set(free).count == free.count
      && free.allSatisfy { table.location(of: $0) == .none }
    guard !isValid else { return }
    report.add(
      Damage(
        file: source.path, offset: source.header.offset(of: .free) ?? 0,
        expected: "the \(table.ordinals - table.keys) ordinals that are not in use", found: "others"))
    hasTable = false
  }

  mutating func checkInvariants(_ table: KeyDirectory) {
    report.keys = table.keys
    guard let broken = table.invariantBroken() else { return }
    hasTable = false
    report.add(
      Damage(
        file: opened.checkpoint?.path ?? directory.path, offset: 0,
        expected: "a table that keeps its invariants",
        found: "one in which \(broken)"))
  }
}
