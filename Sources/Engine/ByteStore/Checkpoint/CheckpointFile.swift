// Reads a checkpoint page by page on first access, and verifies each page.
//
// Verified pages are kept in the process's own memory.

/// An open checkpoint file. It stays open while a key directory has pages that are not loaded yet.
package final class CheckpointFile: Sendable {
  package let header: CheckpointHeader
  package let path: String
  private let file: any OpenFile
  private let brokenRule: Rule?

  /// Opens the checkpoint that the manifest names.
  package init(
    _ entry: Manifest.Checkpoint, storeID: RandomID, in directory: any OpenDirectory, platform: Platform
  ) throws(ByteStoreError) {
    let name = StoreFile.checkpoint(entry.number)
    path = "\(directory.path)/\(name)"
    brokenRule = platform.brokenRule
    do throws(SystemFailure) {
      file = try directory.openFile(name, .read)
    } catch {
      guard error.isMissingOrNotAFile else { throw .system(error) }
      throw .corrupted(
        Damage(
          file: path, offset: 0, expected: "a checkpoint that the manifest names",
          found: error.obstacleDescription))
    }
    do throws(ByteStoreError) {
      header = try Self.header(of: file)
      try Self.check(header, entry, storeID: storeID, file: file)
    } catch {
      file.close()
      throw error
    }
  }

  deinit { file.close() }

  private static func header(of file: any OpenFile) throws(ByteStoreError) -> CheckpointHeader {
    let page: [UInt8]
    do throws(SystemFailure) {
      page = try file.readAll(CheckpointFormat.pageBytes, at: 0)
    } catch {
      throw .system(error)
    }
    return try CheckpointHeader.decodeSound(page, file: file.path)
  }

  private static func check(
    _ header: CheckpointHeader, _ entry: Manifest.Checkpoint, storeID: RandomID, file: any OpenFile
  ) throws(ByteStoreError) {
    guard header.storeID == storeID else {
      throw .foreignFile(file: file.path, expected: storeID, found: header.storeID)
    }
    func damage(at offset: UInt64, expected: String, found: String) -> ByteStoreError {
      .corrupted(Damage(file: file.path, offset: offset, expected: expected, found: found))
    }
    guard header.fileID == entry.fileID, header.number == entry.number else {
      throw damage(
        at: 16, expected: "checkpoint \(entry.number.value) with id \(entry.fileID)",
        found: "checkpoint \(header.number.value) with id \(header.fileID)")
    }
    let size: UInt64
    do throws(SystemFailure) { size = try file.size() } catch { throw .system(error) }
    guard header.fileBytes == entry.bytes, size == entry.bytes else {
      throw damage(at: 0, expected: "a file of \(entry.bytes) bytes", found: "\(size) bytes")
    }
  }

  // MARK: Pages

  package func pages(of region: CheckpointRegion) -> Int { header.pages(of: region) }

  /// The verified 4088 payload bytes of a page.
  package func payload(_ region: CheckpointRegion, _ page: Int) throws(ByteStoreError) -> [UInt8] {
    guard let start = header.offset(of: region), page >= 0, page < header.pages(of: region) else {
      throw .corrupted(
        Damage(
          file: path, offset: 0, expected: "page \(page) of region \(region.rawValue)", found: "no such page")
      )
    }
    let offset = start + UInt64(page * CheckpointFormat.pageBytes)
    var bytes: [UInt8]
    do throws(SystemFailure) {
      bytes = try file.readAll(CheckpointFormat.pageBytes, at: offset)
    } catch {
      throw .system(error)
    }
    try check(bytes, region, at: offset)
    bytes.removeLast(CheckpointFormat.pageBytes - CheckpointFormat.payloadBytes)
    return bytes
  }

  private func check(
    _ bytes: [UInt8], _ region: CheckpointRegion, at offset: UInt64
  ) throws(ByteStoreError) {
    func damage(expected: String, found: String) -> ByteStoreError {
      .corrupted(Damage(file: path, offset: offset, expected: expected, found: found))
    }
    guard bytes.count == CheckpointFormat.pageBytes else {
      throw damage(expected: "a page of \(CheckpointFormat.pageBytes) bytes", found: "\(bytes.count) bytes")
    }
    try bytes.rawSpan.checkPage(file: header.fileID, offset: offset, path: path, broken: brokenRule)
    var trailer = ByteReader(bytes.rawSpan.extracting(droppingFirst: CheckpointFormat.payloadBytes))
    let kind = trailer.uint32()
    guard kind == region.rawValue else {
      throw damage(expected: "a page of region \(region.rawValue)", found: "one of region \(kind ?? 0)")
    }
  }

  /// Starts read-ahead of these pages.
  func startReading(_ pages: some Sequence<PageAddress>) {
    for address in pages { startReading(address.region, address.page) }
  }

  package func startReading(_ region: CheckpointRegion, _ page: Int) {
    if page < header.pages(of: region) { startReading(region, page..<page + 1) }
  }

  /// Starts read-ahead of the pages that an open uses: the hash directory, segment list and overflow slots of
  /// the key directory, the first region of the upper layer, and the first page of each other upper-layer
  /// region.
  func prefetchOpenPages() {
    for region in header.regions {
      let pages =
        switch region.region {
        // If the hash directory is larger than this limit, an open reads only a few of its pages.
        case .directory: region.pages <= Self.prefetchedPagesMax ? region.pages : 0
        case .segments, .overflow, .firstOfUpperLayer: min(region.pages, Self.prefetchedPagesMax)
        case .slots, .locations, .free: 0
        default: min(1, region.pages)
        }
      startReading(region.region, 0..<pages)
    }
  }

  private static let prefetchedPagesMax = 64

  private func startReading(_ region: CheckpointRegion, _ pages: Range<Int>) {
    guard !pages.isEmpty, let start = header.offset(of: region) else { return }
    let bytes = UInt64(CheckpointFormat.pageBytes)
    file.startReading(start + UInt64(pages.lowerBound) * bytes..<start + UInt64(pages.upperBound) * bytes)
  }

  /// The words of a key directory page.
  package func words(_ address: PageAddress) throws(ByteStoreError) -> [UInt64] {
    try words(address.region, address.page)
  }

  package func words(_ region: CheckpointRegion, _ page: Int) throws(ByteStoreError) -> [UInt64] {
    let payload = try payload(region, page)
    var reader = ByteReader(payload.rawSpan)
    return (0..<PagedWords.wordsPerPage).map { _ in reader.uint64() ?? 0 }
  }

  /// The error for a page that has a valid checksum but whose content no checkpoint writer can have produced.
  package func invalidPage(_ address: PageAddress) -> ByteStoreError {
    let start = header.offset(of: address.region) ?? 0
    return .corrupted(
      Damage(
        file: path, offset: start + UInt64(address.page * CheckpointFormat.pageBytes),
        expected: "words of a table", found: "others"))
  }

  /// The error for a file whose checksums are valid but whose content is not as expected.
  package func damage(expected: String, found: String) -> ByteStoreError {
    .corrupted(Damage(file: path, offset: 0, expected: expected, found: found))
  }

  /// Reads and verifies every page.
  func verify() throws(ByteStoreError) {
    for region in header.regions {
      for page in 0..<region.pages { _ = try payload(region.region, page) }
    }
  }
}

extension PageAddress {
  var region: CheckpointRegion {
    switch self {
    case .directory: .directory
    case .slots: .slots
    case .locations: .locations
    case .free: .free
    }
  }

  var page: Int {
    switch self {
    case .directory(let page), .slots(let page), .locations(let page), .free(let page): page
    }
  }
}
