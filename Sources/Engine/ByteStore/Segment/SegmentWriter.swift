// Writes a segment and returns the entries' locations. The segment is not read before `finish` has returned.
//
//   1. pages      entry by entry, each page with its checksum
//   2. runs       entries that are larger than a page
//   3. run table, header
//   4. sync
//   5. read back  every page and run is read and verified (docs/reliability.md, C7)

/// Writes one segment file. After a failure the file is invalid; `discard` deletes it.
struct SegmentWriter: ~Copyable {
  private static let bufferBytes = 1 << 20

  let slot: Int
  let name: String
  private(set) var header: SegmentHeader
  let dictionary: EntryDictionary
  private let file: any OpenFile
  private let directory: any OpenDirectory
  private let platform: Platform
  private var compressor: EntryCompressor
  /// Completed pages that are not written to the file yet. The page that is being filled follows in `page`.
  private var buffer: [UInt8] = []
  private var page: [UInt8] = []
  private var entriesInPage: UInt16 = 0
  private var written: UInt64
  private var runTable: [UInt32] = []
  private var stored: [UInt8] = []

  init(
    _ number: FileNumber, slot: Int, asOf: SequenceNumber, storeID: RandomID, dictionary: EntryDictionary,
    in directory: any OpenDirectory, platform: Platform
  ) throws(SystemFailure) {
    self.slot = slot
    self.dictionary = dictionary
    self.directory = directory
    self.platform = platform
    name = StoreFile.segment(number)
    header = SegmentHeader(
      fileID: platform.random.randomID(), storeID: storeID, number: number, asOf: asOf,
      dictionaryBytes: dictionary.bytes.count)
    compressor = EntryCompressor(dictionary)
    written = UInt64(SegmentFormat.pageBytes)
    file = try directory.createFile(name)
    page.reserveCapacity(SegmentFormat.pageBytes)
    buffer.reserveCapacity(Self.bufferBytes + SegmentFormat.pageBytes)
    var checksum = Checksum(file: header.fileID, offset: written, broken: platform.brokenRule)
    let bytes = dictionary.bytes
    checksum.update(bytes.rawSpan)
    header.dictionaryCRC = checksum.value
    buffer.append(contentsOf: bytes)
    buffer.pad(toMultipleOf: SegmentFormat.pageBytes)
  }

  var entries: UInt64 { header.entries }

  /// The size of the pages so far, including the page that is being filled.
  var dataBytes: Int { (header.pages + 1) * SegmentFormat.pageBytes }

  // MARK: Entries

  /// Adds an entry with these plain bytes. Returns nil if the entry is larger than a page. Such entries are
  /// added with `addRun`, after all others.
  mutating func add(_ ordinal: UInt32, plain: RawSpan) throws(SystemFailure) -> Location? {
    // The buffer is swapped out and later back in, so that its memory is reused.
    var stored: [UInt8] = []
    swap(&stored, &self.stored)
    defer { swap(&stored, &self.stored) }
    stored.removeAll(keepingCapacity: true)
    if compressor.compress(plain, into: &stored) {
      return try place(
        ordinal, plainBytes: plain.byteCount, compressedBytes: stored.count, bytes: stored.rawSpan)
    }
    return try place(ordinal, plainBytes: plain.byteCount, compressedBytes: nil, bytes: plain)
  }

  /// Copies an entry, in its stored form, from another segment that has the same dictionary.
  mutating func add(_ entry: StoredEntry, from page: RawSpan) throws(SystemFailure) -> Location? {
    try place(
      entry.ordinal, plainBytes: entry.plainBytes,
      compressedBytes: entry.isCompressed ? entry.stored.count : nil, bytes: page.extracting(entry.stored))
  }

  private mutating func place(
    _ ordinal: UInt32, plainBytes: Int, compressedBytes: Int?, bytes: RawSpan
  ) throws(SystemFailure) -> Location? {
    var head: [UInt8] = []
    StoredEntry.encodeHead(ordinal, plainBytes: plainBytes, storedBytes: compressedBytes, into: &head)
    let size = head.count + bytes.byteCount
    guard size <= SegmentFormat.pagePayloadBytes else { return nil }
    if page.count + size > SegmentFormat.pagePayloadBytes { try endPage() }
    let location = Location(slot: slot, page: header.smallPages, offset: page.count, bytes: size)
    page.append(contentsOf: head)
    page.append(copying: bytes)
    entriesInPage += 1
    header.entries += 1
    return location
  }

  /// Adds an entry that gets its own pages.
  mutating func addRun(_ ordinal: UInt32, plain: RawSpan) throws(SystemFailure) -> Location {
    if !page.isEmpty { try endPage() }
    stored.removeAll(keepingCapacity: true)
    let isCompressed = compressor.compress(plain, into: &stored)
    StoredEntry.encodeHead(
      ordinal, plainBytes: plain.byteCount, storedBytes: isCompressed ? stored.count : nil, into: &page)
    if isCompressed { page.append(contentsOf: stored) } else { page.append(copying: plain) }
    let pages =
      (page.count + SegmentFormat.trailerBytes).roundedUp(toMultipleOf: SegmentFormat.pageBytes)
      / SegmentFormat.pageBytes
    let location = Location(slot: slot, page: header.pages, pages: pages)
    header.entries += 1
    entriesInPage = 1
    seal(pages)
    header.runPages += pages
    header.runs += 1
    runTable.append(UInt32(pages))
    try writeBuffer(ifAbove: Self.bufferBytes)
    return location
  }

  private mutating func endPage() throws(SystemFailure) {
    precondition(header.runs == 0, "runs come after all pages")
    seal(1)
    header.smallPages += 1
    try writeBuffer(ifAbove: Self.bufferBytes)
  }

  /// Appends the trailer to the page or run in `page`, and moves the result to the buffer.
  private mutating func seal(_ pages: Int) {
    let offset = header.offset(ofPage: header.pages)
    let padding = pages * SegmentFormat.pageBytes - SegmentFormat.trailerBytes - page.count
    page.append(zeros: padding)
    page.append(littleEndian: entriesInPage)
    page.append(littleEndian: UInt16(0))
    page.appendPageChecksum(file: header.fileID, offset: offset, broken: platform.brokenRule)
    buffer.append(contentsOf: page)
    page.removeAll(keepingCapacity: true)
    entriesInPage = 0
  }

  private mutating func writeBuffer(ifAbove limit: Int) throws(SystemFailure) {
    guard buffer.count > limit else { return }
    try file.writeAll(buffer.rawSpan, at: written, platform: platform)
    written += UInt64(buffer.count)
    buffer.removeAll(keepingCapacity: true)
  }

  // MARK: The end

  /// Writes the rest of the file, syncs it and verifies it. The caller must still sync the directory.
  mutating func finish() throws(ByteStoreError) -> Segment {
    do throws(SystemFailure) {
      if !page.isEmpty { try endPage() }
      var table: [UInt8] = []
      for pages in runTable { table.append(littleEndian: pages) }
      var checksum = Checksum(
        file: header.fileID, offset: header.offset(ofPage: header.pages), broken: platform.brokenRule)
      checksum.update(table.rawSpan)
      header.runTableCRC = checksum.value
      table.pad(toMultipleOf: SegmentFormat.pageBytes)
      buffer.append(contentsOf: table)
      try writeBuffer(ifAbove: 0)
      try file.writeAll(header.encoded().rawSpan, at: 0, platform: platform)
      if platform.keeps(.syncSegment) { try file.syncOnce(platform) }
    } catch {
      throw .system(error)
    }
    file.close()
    let segment = Segment(
      Manifest.Segment(
        number: header.number, fileID: header.fileID, slot: slot, pages: header.pages,
        bytes: header.fileBytes),
      storeID: header.storeID, in: directory, platform: platform)
    if platform.keeps(.readBack) { try segment.verify() }
    return segment
  }

  func discard() {
    file.close()
    try? directory.remove(name)
  }
}
