// Reads a checkpoint that may be damaged: every valid page can be read.
//
// A page's checksum starts with the file's id and the page's offset, and its trailer names the region. If the
// header is damaged, the layout can therefore be determined from the pages.

import ByteStore

struct CheckpointSource {
  let file: TolerantFile
  /// If the header is damaged, only `fileID` and `regions` are proven.
  private(set) var header: CheckpointHeader
  private(set) var isHeaderSound = true
  private let broken: Rule?

  /// Reads the checkpoint in `file`, or returns nil if nothing is readable. `entry` is the manifest's entry
  /// for the checkpoint.
  static func read(
    _ file: TolerantFile, _ entry: Manifest.Checkpoint?, platform: Platform
  ) throws(ByteStoreError) -> CheckpointSource? {
    let page = try file.read(CheckpointFormat.pageBytes, at: 0) ?? []
    let (header, _) = try CheckpointHeader.decode(page, file: file.path)
    if let header { return CheckpointSource(file: file, header: header, broken: platform.brokenRule) }
    let raw = page.count == CheckpointFormat.pageBytes ? RandomID(page[16..<32]) : nil
    for fileID in [entry?.fileID, raw].compactMap(\.self) {
      let header = CheckpointHeader(
        fileID: fileID, storeID: .zero, number: entry?.number ?? FileNumber(0), hashSeed: .zero,
        position: LogHeader.LogEnd(fileID: .zero, length: 0, sequence: .none), lastStamp: 0, keys: 0,
        ordinals: 0, depth: 0)
      var source = CheckpointSource(file: file, header: header, broken: platform.brokenRule)
      source.isHeaderSound = false
      if try source.findRegions() { return source }
    }
    return nil
  }

  private init(file: TolerantFile, header: CheckpointHeader, broken: Rule?) {
    self.file = file
    self.header = header
    self.broken = broken
  }

  /// Determines the regions from the pages. A damaged page between two pages of a region belongs to that
  /// region. Returns false in ambiguous cases, because a wrong guess would shift all later pages.
  private mutating func findRegions() throws(ByteStoreError) -> Bool {
    let count = Int(clamping: file.size / UInt64(CheckpointFormat.pageBytes)) - 1
    var regions: [CheckpointHeader.Region] = []
    var unknown = 0
    var isUnambiguous = true
    try file.forEachPage(
      of: CheckpointFormat.pageBytes, at: UInt64(CheckpointFormat.pageBytes), count: max(0, count)
    ) { page, bytes throws(ByteStoreError) in
      guard let bytes, let region = self.region(of: bytes, page + 1) else { return unknown += 1 }
      if regions.last?.region != region {
        isUnambiguous = isUnambiguous && (unknown == 0 || regions.isEmpty && region == .directory)
        regions.append(CheckpointHeader.Region(region: region, pages: 0))
      }
      regions[regions.count - 1].pages += 1 + unknown
      unknown = 0
    }
    header.regions = regions
    return isUnambiguous && !regions.isEmpty && Set(regions.map(\.region)).count == regions.count
  }

  private func region(of page: RawSpan, _ index: Int) -> CheckpointRegion? {
    let offset = UInt64(index * CheckpointFormat.pageBytes)
    guard page.hasPageChecksum(file: header.fileID, offset: offset, broken: broken) else { return nil }
    var trailer = ByteReader(page.extracting(droppingFirst: CheckpointFormat.payloadBytes))
    return trailer.uint32().map { CheckpointRegion(rawValue: $0) }
  }

  /// The words of each page of a region, with nil for a damaged page. A single nil stands for all pages
  /// beyond the end of the file.
  func words(_ region: CheckpointRegion) throws(ByteStoreError) -> [[UInt64]?] {
    try payloads(region).map { payload in
      payload.map { payload in
        var reader = ByteReader(payload.rawSpan)
        return (0..<PagedWords.wordsPerPage).map { _ in reader.uint64() ?? 0 }
      }
    }
  }

  /// The payload of one page of a region; nil if the page is damaged.
  func payload(_ region: CheckpointRegion, page: Int) throws(ByteStoreError) -> [UInt8]? {
    guard let start = header.offset(of: region), page >= 0, page < header.pages(of: region) else {
      return nil
    }
    let pageBytes = UInt64(CheckpointFormat.pageBytes)
    let (offset, isTooLarge) = start.addingReportingOverflow(UInt64(page) * pageBytes)
    guard !isTooLarge, let bytes = try file.read(CheckpointFormat.pageBytes, at: offset),
      bytes.count == CheckpointFormat.pageBytes,
      self.region(of: bytes.rawSpan, Int(offset / pageBytes)) == region
    else { return nil }
    return Array(bytes[..<CheckpointFormat.payloadBytes])
  }

  /// The payload of each page of a region; nil for a damaged page.
  func payloads(_ region: CheckpointRegion) throws(ByteStoreError) -> [[UInt8]?] {
    guard let start = header.offset(of: region) else { return [] }
    let total = header.pages(of: region)
    let bytesLeft = start < file.size ? file.size - start : 0
    let present = min(total, Int(clamping: bytesLeft / UInt64(CheckpointFormat.pageBytes)))
    var pages: [[UInt8]?] = []
    try file.forEachPage(of: CheckpointFormat.pageBytes, at: start, count: present) {
      _, bytes throws(ByteStoreError) in
      let index = Int(start) / CheckpointFormat.pageBytes + pages.count
      guard let bytes, self.region(of: bytes, index) == region else { return pages.append(nil) }
      pages.append([UInt8](copying: bytes.extracting(0..<CheckpointFormat.payloadBytes)))
    }
    // A header may claim any number of pages, so one nil stands for all missing ones.
    if present < total { pages.append(nil) }
    return pages
  }
}

extension RandomID {
  fileprivate init?(_ bytes: ArraySlice<UInt8>) {
    let copy = Array(bytes)
    var reader = ByteReader(copy.rawSpan)
    guard let id = reader.randomID() else { return nil }
    self = id
  }
}
