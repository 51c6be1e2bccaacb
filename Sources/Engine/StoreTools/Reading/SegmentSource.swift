//  Reads a segment that may be damaged: every valid page can be read, whatever else is wrong.
//
//  A page's checksum starts with the file's id and the page's offset. A valid page therefore proves both its
//  position and the id. If the header is damaged, the id from the manifest and the id in the header are tried
//  on the pages. The length of a run is computed from its entry. Only the dictionary needs the header. If the
//  header or the dictionary is damaged, an equal dictionary of another segment is used.

import ByteStore

struct SegmentSource {
  /// A damaged header is reconstructed as far as possible. In that case only `fileID` is proven, by a
  /// page.
  private(set) var header: SegmentHeader
  private(set) var isHeaderSound = true
  /// The dictionary; nil if it is damaged, in which case compressed entries cannot be read.
  private(set) var dictionary: EntryDictionary?
  /// The page count of each run; nil if runs must be found by their entries.
  private(set) var runs: [Int]?
  /// Damage outside of pages.
  private(set) var damages: [Damage] = []

  let file: TolerantFile
  private let platform: Platform

  /// Information about a segment from other files. It helps to read a damaged segment.
  struct Hints {
    /// The manifest's entry for the segment.
    var entry: Manifest.Segment?
    /// The number in the file name.
    var number: FileNumber?
    /// The dictionaries of other segments.
    var dictionaries: [EntryDictionary]
  }

  /// Reads the segment in `file`. The returned source is nil if nothing is readable.
  static func read(
    _ file: TolerantFile, _ hints: Hints, platform: Platform
  ) throws(ByteStoreError) -> (source: SegmentSource?, damages: [Damage]) {
    let pageBytes = SegmentFormat.pageBytes
    guard let page = try file.read(pageBytes, at: 0) else {
      let damage = file.unreadable(at: 0, expected: "a segment's header")
      let source = try recovered(file, hints, page: [], damage: damage, platform: platform)
      return (source, source?.damages ?? [damage])
    }
    let (header, damage) = try SegmentHeader.decode(page, file: file.path)
    guard let header else {
      let source = try recovered(file, hints, page: page, damage: damage, platform: platform)
      return (source, source?.damages ?? [damage].compactMap(\.self))
    }
    var source = SegmentSource(header, file, platform: platform)
    source.damages = [damage].compactMap(\.self)
    try source.checkFrame()
    try source.readDictionary(hints.dictionaries)
    try source.readRuns()
    return (source, source.damages)
  }

  private init(_ header: SegmentHeader, _ file: TolerantFile, platform: Platform) {
    self.header = header
    self.file = file
    self.platform = platform
  }

  /// Sets the commit number for a damaged header.
  mutating func assume(asOf: SequenceNumber) { header.asOf = asOf }

  var path: String { file.path }
  var fileID: RandomID { header.fileID }
  var pages: Int { header.pages }

  // MARK: The header

  /// Checks the file's size, and the zeros that no checksum covers.
  private mutating func checkFrame() throws(ByteStoreError) {
    if file.size != header.fileBytes {
      damages.append(
        file.damage(
          at: min(file.size, header.fileBytes), expected: "a file of \(header.fileBytes) bytes",
          found: "\(file.size) bytes"
        ))
    }
    let pageBytes = UInt64(SegmentFormat.pageBytes)
    try checkZeros(UInt64(SegmentFormat.headerBytes)..<pageBytes)
    try checkZeros(pageBytes + UInt64(header.dictionaryBytes)..<header.dataStart)
    try checkZeros(
      min(header.offset(ofPage: pages) + UInt64(4 * header.runs), header.fileBytes)..<header.fileBytes)
  }

  private mutating func checkZeros(_ range: Range<UInt64>) throws(ByteStoreError) {
    guard let offset = try file.firstNonZero(in: range) else { return }
    damages.append(
      file.damage(at: offset, expected: "zeros up to byte \(range.upperBound)", found: "something else"))
  }

  private mutating func readDictionary(_ others: [EntryDictionary]) throws(ByteStoreError) {
    let offset = UInt64(SegmentFormat.pageBytes)
    let bytes = try file.read(header.dictionaryBytes, at: offset)
    if let bytes, bytes.count == header.dictionaryBytes,
      checksum(of: bytes, at: offset) == header.dictionaryCRC || platform.brokenRule == .checkPages
    {
      dictionary = EntryDictionary(bytes)
      return
    }
    damages.append(
      file.damage(
        at: offset, expected: "a dictionary with checksum \(header.dictionaryCRC)", found: "something else"))
    dictionary = others.first {
      $0.bytes.count == header.dictionaryBytes && checksum(of: $0.bytes, at: offset) == header.dictionaryCRC
    }
  }

  private mutating func readRuns() throws(ByteStoreError) {
    let offset = header.offset(ofPage: pages)
    let bytes = try file.read(4 * header.runs, at: offset)
    guard let bytes, bytes.count == 4 * header.runs,
      checksum(of: bytes, at: offset) == header.runTableCRC || platform.brokenRule == .checkPages
    else {
      damages.append(
        file.damage(
          at: offset, expected: "a run table with checksum \(header.runTableCRC)", found: "something else"))
      return
    }
    var reader = ByteReader(bytes.rawSpan)
    let runs = (0..<header.runs).map { _ in Int(reader.uint32() ?? 0) }
    guard runs.reduce(0, +) == header.runPages,
      runs.allSatisfy({ (1...SegmentFormat.runPagesMax).contains($0) })
    else {
      damages.append(file.damage(at: offset, expected: "runs of \(header.runPages) pages", found: "others"))
      return
    }
    self.runs = runs
  }

  private func checksum(of bytes: [UInt8], at offset: UInt64) -> UInt32 {
    var checksum = Checksum(file: fileID, offset: offset, broken: platform.brokenRule)
    checksum.update(bytes.rawSpan)
    return checksum.value
  }

  // MARK: Pages

  enum Piece {
    /// A page with entries that each fit in it.
    case page(Int)
    /// An entry that occupies several pages.
    case run(Int, pages: Int)
  }

  /// Passes every valid page and run to `body`. Passes the page numbers of damaged pages and runs to
  /// `damaged`.
  func forEachPiece(
    _ body: (Piece, RawSpan) throws(ByteStoreError) -> Void,
    damaged: (Range<Int>, Damage) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    let start = header.dataStart
    let small = isHeaderSound ? header.smallPages : 0
    try file.forEachPage(of: SegmentFormat.pageBytes, at: start, count: small) {
      page, bytes throws(ByteStoreError) in
      let offset = header.offset(ofPage: page)
      if let bytes, isValid(bytes, at: offset) { return try body(.page(page), bytes) }
      try damaged(
        page..<page + 1, bytes == nil ? file.unreadable(at: offset, expected: "a page") : wrong(at: offset))
    }
    if isHeaderSound, let runs {
      try forEachRun(runs, body, damaged)
    } else {
      try find(small, body, damaged)
    }
  }

  private func forEachRun(
    _ runs: [Int], _ body: (Piece, RawSpan) throws(ByteStoreError) -> Void,
    _ damaged: (Range<Int>, Damage) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    var page = header.smallPages
    for count in runs {
      let offset = header.offset(ofPage: page)
      if let bytes = try run(page, count) {
        try body(.run(page, pages: count), bytes.rawSpan)
      } else {
        try damaged(page..<page + count, wrong(at: offset))
      }
      page += count
    }
  }

  /// Goes through the segment page by page, because there is no run table. Each page is either complete by
  /// itself or the first page of a run.
  private func find(
    _ first: Int, _ body: (Piece, RawSpan) throws(ByteStoreError) -> Void,
    _ damaged: (Range<Int>, Damage) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    var page = first
    while page < pages {
      let offset = header.offset(ofPage: page)
      let bytes = try file.read(SegmentFormat.pageBytes, at: offset) ?? []
      if isValid(bytes.rawSpan, at: offset) {
        try body(isHeaderSound ? .run(page, pages: 1) : .page(page), bytes.rawSpan)
        page += 1
      } else if let count = Self.runPages(bytes.rawSpan), page + count <= pages,
        let run = try run(page, count)
      {
        try body(.run(page, pages: count), run.rawSpan)
        page += count
      } else {
        try damaged(page..<page + 1, wrong(at: offset))
        page += 1
      }
    }
  }

  private func run(_ page: Int, _ count: Int) throws(ByteStoreError) -> [UInt8]? {
    let offset = header.offset(ofPage: page)
    guard let bytes = try file.read(count * SegmentFormat.pageBytes, at: offset),
      bytes.count == count * SegmentFormat.pageBytes, isValid(bytes.rawSpan, at: offset)
    else { return nil }
    return bytes
  }

  /// The number of pages that the first entry of `page` needs; nil if it fits in one.
  private static func runPages(_ page: RawSpan) -> Int? {
    var reader = ByteReader(page)
    guard reader.skip(4), let size = reader.varint(), size >> 1 <= UInt64(SegmentFormat.entryBytesMax)
    else { return nil }
    var stored = size >> 1
    if size & 1 == 1 {
      guard let count = reader.varint(), count < stored else { return nil }
      stored = count
    }
    let bytes = reader.offset + Int(stored) + SegmentFormat.trailerBytes
    let pages = bytes.roundedUp(toMultipleOf: SegmentFormat.pageBytes) / SegmentFormat.pageBytes
    return pages > 1 ? pages : nil
  }

  private func isValid(_ page: RawSpan, at offset: UInt64) -> Bool {
    guard page.byteCount >= SegmentFormat.pageBytes else { return false }
    return page.hasPageChecksum(file: fileID, offset: offset, broken: platform.brokenRule)
  }

  private func wrong(at offset: UInt64) -> Damage {
    file.damage(at: offset, expected: "a page that matches its checksum", found: "bytes that do not")
  }

  // MARK: Entries

  /// Passes every valid entry to `body`, with its location if the segment has `slot`. Passes damaged pages to
  /// `damaged`, and also undecodable entries in valid pages.
  func forEachEntry(
    slot: Int, _ body: (StoredEntry, Location, RawSpan) throws(ByteStoreError) -> Void,
    damaged: (Range<Int>, Damage) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    try forEachPiece(
      { piece, bytes throws(ByteStoreError) in
        switch piece {
        case .page(let page): try entries(ofPage: page, slot, bytes: bytes, body, damaged)
        case .run(let page, let pages):
          guard let entry = StoredEntry(decoding: bytes, at: 0) else {
            return try damaged(page..<page + pages, undecodableEntry(onPage: page, at: 0))
          }
          try body(entry, Location(slot: slot, page: page, pages: pages), bytes)
        }
      }, damaged: damaged)
  }

  private func entries(
    ofPage page: Int, _ slot: Int, bytes: RawSpan,
    _ body: (StoredEntry, Location, RawSpan) throws(ByteStoreError) -> Void,
    _ damaged: (Range<Int>, Damage) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    var trailer = ByteReader(bytes.extracting(droppingFirst: SegmentFormat.pagePayloadBytes))
    let payload = bytes.extracting(first: SegmentFormat.pagePayloadBytes)
    var offset = 0
    for _ in 0..<(trailer.uint16() ?? 0) {
      guard let entry = StoredEntry(decoding: payload, at: offset) else {
        return try damaged(page..<page + 1, undecodableEntry(onPage: page, at: offset))
      }
      try body(entry, Location(slot: slot, page: page, offset: offset, bytes: entry.bytes), payload)
      offset += entry.bytes
    }
  }

  func undecodableEntry(onPage page: Int, at offset: Int) -> Damage {
    file.damage(
      at: header.offset(ofPage: page) + UInt64(offset), expected: "an entry", found: "bytes that are invalid")
  }

  /// Decodes the entry into `buffer`; returns false if that is impossible.
  func decode(_ entry: StoredEntry, from bytes: RawSpan, into buffer: inout ReadBuffer) -> Bool {
    if entry.isCompressed, dictionary == nil { return false }
    return Segment.decode(entry, from: bytes, dictionary: dictionary ?? EntryDictionary([]), into: &buffer)
  }
}

// MARK: - Without a header

extension SegmentSource {
  /// Reconstructs the header from its damaged bytes, the manifest and the pages.
  private static func recovered(
    _ file: TolerantFile, _ hints: Hints, page: [UInt8], damage: Damage?, platform: Platform
  ) throws(ByteStoreError) -> SegmentSource? {
    let raw = SegmentHeader(repairing: page)
    let blocks = Int(clamping: file.size / UInt64(SegmentFormat.pageBytes))
    for fileID in [hints.entry?.fileID, raw?.fileID].compactMap(\.self) {
      let header = SegmentHeader(
        fileID: fileID, storeID: .zero, number: hints.number ?? FileNumber(0), asOf: .none,
        smallPages: min(max(blocks - 1, 0), Manifest.Segment.pagesMax))
      var source = SegmentSource(header, file, platform: platform)
      source.isHeaderSound = false
      source.damages = [damage].compactMap(\.self)
      guard let first = try source.firstValidPage() else { continue }
      try source.place(raw, hints, firstBlock: first + 1, blocks: blocks)
      return source
    }
    return nil
  }

  /// The number of the first valid page, counted from the block after the header.
  private func firstValidPage() throws(ByteStoreError) -> Int? {
    for page in 0..<pages {
      let offset = header.offset(ofPage: page)
      guard let bytes = try file.read(SegmentFormat.pageBytes, at: offset) else { continue }
      if isValid(bytes.rawSpan, at: offset) { return page }
      if let count = Self.runPages(bytes.rawSpan), try run(page, count) != nil { return page }
    }
    return nil
  }

  /// Determines where the pages begin and which bytes before them are the dictionary.
  private mutating func place(
    _ raw: SegmentHeader?, _ hints: Hints, firstBlock: Int, blocks: Int
  ) throws(ByteStoreError) {
    let offset = UInt64(SegmentFormat.pageBytes)
    if let raw, let bytes = try file.read(raw.dictionaryBytes, at: offset),
      bytes.count == raw.dictionaryBytes, checksum(of: bytes, at: offset) == raw.dictionaryCRC,
      SegmentFormat.dataStart(dictionaryBytes: bytes.count) <= UInt64(firstBlock) * offset
    {
      dictionary = EntryDictionary(bytes)
      header.dictionaryBytes = bytes.count
    } else {
      let before = min(firstBlock - 1, max(0, blocks - 1 - (hints.entry?.pages ?? 0)))
      header.dictionaryBytes = min(before * SegmentFormat.pageBytes, EntryDictionary.bytesMax)
      dictionary = before == 0 ? EntryDictionary([]) : try match(hints.dictionaries, blocks: before)
    }
    let left = blocks - Int(header.dataStart / offset)
    header.smallPages = max(0, min(hints.entry?.pages ?? left, left, Manifest.Segment.pagesMax))
  }

  /// Returns the dictionary of another segment that equals the bytes in this segment's dictionary blocks, or
  /// nil.
  private func match(
    _ dictionaries: [EntryDictionary], blocks: Int
  ) throws(ByteStoreError) -> EntryDictionary? {
    let pageBytes = SegmentFormat.pageBytes
    guard blocks * pageBytes <= EntryDictionary.bytesMax.roundedUp(toMultipleOf: pageBytes),
      let found = try file.read(blocks * pageBytes, at: UInt64(pageBytes))
    else { return nil }
    return dictionaries.first { other in
      let count = other.bytes.count
      return count.roundedUp(toMultipleOf: pageBytes) == blocks * pageBytes && found.count >= count
        && found[..<count] == other.bytes[...] && found[count...].allSatisfy { $0 == 0 }
    }
  }
}

extension SegmentHeader {
  /// Decodes a damaged header, with the fixed fields replaced by their only valid values. None of the
  /// result is proven.
  fileprivate init?(repairing page: [UInt8]) {
    guard page.count >= SegmentFormat.pageBytes else { return nil }
    let model = SegmentHeader(fileID: .zero, storeID: .zero, number: FileNumber(0), asOf: .none).encoded()
    var repaired = page
    for range in [0..<16, 96..<98] { repaired.replaceSubrange(range, with: model[range]) }
    var fields = Array(repaired[..<(SegmentFormat.headerBytes - 4)])
    fields.appendChecksum()
    repaired.replaceSubrange(..<SegmentFormat.headerBytes, with: fields)
    guard let header = try? SegmentHeader(decoding: repaired.rawSpan, file: "") else { return nil }
    self = header
  }
}
