// An immutable file of entries. It is read page by page, and every page is verified before it is used.

/// A segment. Its file is opened by the first read and closed when the last reference to the segment is
/// released. A snapshot that references the segment can read it even after the file was deleted.
package final class Segment: Sendable {
  /// The segment's entry in the manifest.
  package let entry: Manifest.Segment
  let path: String
  private let storeID: RandomID
  private let directory: any OpenDirectory
  private let platform: Platform
  private let opened = LazyReference<Opened>()

  /// The parts of the file that the first read loads.
  package final class Opened: Sendable {
    let file: any OpenFile
    let header: SegmentHeader
    let dictionary: EntryDictionary
    let runTable: [UInt32]

    package init(
      _ file: any OpenFile, _ header: SegmentHeader, dictionary: EntryDictionary, runTable: [UInt32]
    ) {
      self.file = file
      self.header = header
      self.dictionary = dictionary
      self.runTable = runTable
    }

    deinit { file.close() }
  }

  package init(
    _ entry: Manifest.Segment, storeID: RandomID, in directory: any OpenDirectory, platform: Platform
  ) {
    self.entry = entry
    path = "\(directory.path)/\(StoreFile.segment(entry.number))"
    self.storeID = storeID
    self.directory = directory
    self.platform = platform
  }

  /// Creates a segment whose file is already open. The file may have been renamed since.
  package init(
    _ entry: Manifest.Segment, storeID: RandomID, opened: Opened, in directory: any OpenDirectory,
    platform: Platform
  ) {
    self.entry = entry
    path = opened.file.path
    self.storeID = storeID
    self.directory = directory
    self.platform = platform
    _ = self.opened.storeIfNil(opened)
  }

  package var number: FileNumber { entry.number }
  package var slot: Int { entry.slot }
  package var pages: Int { entry.pages }
  private var fileID: RandomID { entry.fileID }

  // MARK: Opening

  var isOpen: Bool { opened.isSet }

  /// Opens the file if it is not open yet. In that case it also starts read-ahead for `location`.
  func open(wanting location: Location = .none) throws(ByteStoreError) -> Opened {
    if let opened = opened.load() { return opened }
    return try finishOpening(try startOpening(wanting: [location]))
  }

  private func startOpening(wanting locations: ArraySlice<Location>) throws(ByteStoreError) -> any OpenFile {
    let file: any OpenFile
    do throws(SystemFailure) {
      file = try directory.openFile(StoreFile.segment(number), .read)
    } catch {
      guard error.isMissingOrNotAFile else { throw .system(error) }
      let found = error.obstacleDescription
      throw damage(at: 0, expected: "a segment that the manifest names", found: found)
    }
    let start = estimatedDataStart
    let end = start + UInt64(pages * SegmentFormat.pageBytes)
    file.startReading(0..<start)
    // The run table.
    if end < entry.bytes { file.startReading(end..<entry.bytes) }
    startReading(locations, of: file, dataStart: start)
    return file
  }

  /// The estimated start of the pages. It is needed before the header has been read. If a segment has both
  /// runs and a short dictionary, the estimate is wrong, and read-ahead is less useful.
  private var estimatedDataStart: UInt64 {
    let pageBytes = UInt64(pages * SegmentFormat.pageBytes)
    return min(
      entry.bytes - min(entry.bytes, pageBytes),
      SegmentFormat.dataStart(dictionaryBytes: EntryDictionary.bytesMax))
  }

  private func finishOpening(_ file: any OpenFile) throws(ByteStoreError) -> Opened {
    do throws(ByteStoreError) {
      return opened.storeIfNil(try read(file))
    } catch {
      file.close()
      throw error
    }
  }

  private func read(_ file: any OpenFile) throws(ByteStoreError) -> Opened {
    let size = try system { () throws(SystemFailure) in try file.size() }
    let page = try bytes(SegmentFormat.pageBytes, at: 0, of: file)
    let header = try SegmentHeader.decodeSound(page, file: path)
    guard header.storeID == storeID else {
      throw .foreignFile(file: path, expected: storeID, found: header.storeID)
    }
    guard header.fileID == fileID, header.number == number else {
      throw damage(
        at: 16, expected: "segment \(number.value) with id \(fileID)",
        found: "segment \(header.number.value) with id \(header.fileID)")
    }
    guard header.pages == pages, header.fileBytes == entry.bytes, size == entry.bytes else {
      throw damage(
        at: 72, expected: "\(pages) pages in \(entry.bytes) bytes",
        found: "\(header.pages) pages in \(size) bytes")
    }
    let dictionary = try checked(
      header.dictionaryBytes, at: UInt64(SegmentFormat.pageBytes), expected: header.dictionaryCRC,
      what: "a dictionary", file: file)
    let table = try checked(
      4 * header.runs, at: header.offset(ofPage: header.pages), expected: header.runTableCRC,
      what: "a run table", file: file)
    var reader = ByteReader(table.rawSpan)
    let runs = (0..<header.runs).map { _ in reader.uint32() ?? 0 }
    guard runs.reduce(UInt64(0), { $0 + UInt64($1) }) == UInt64(header.runPages),
      runs.allSatisfy({ (1...SegmentFormat.runPagesMax).contains(Int($0)) })
    else {
      throw damage(
        at: header.offset(ofPage: header.pages), expected: "runs of \(header.runPages) pages", found: "others"
      )
    }
    return Opened(file, header, dictionary: EntryDictionary(dictionary), runTable: runs)
  }

  private func checked(
    _ count: Int, at offset: UInt64, expected: UInt32, what: String, file: any OpenFile
  ) throws(ByteStoreError) -> [UInt8] {
    let bytes = try bytes(count, at: offset, of: file)
    var checksum = Checksum(file: fileID, offset: offset, broken: platform.brokenRule)
    checksum.update(bytes.rawSpan)
    guard bytes.count == count, checksum.value == expected || platform.brokenRule == .checkPages else {
      throw damage(at: offset, expected: "\(what) with checksum \(expected)", found: "\(checksum.value)")
    }
    return bytes
  }

  private func bytes(
    _ count: Int, at offset: UInt64, of file: any OpenFile
  ) throws(ByteStoreError) -> [UInt8] {
    try system { () throws(SystemFailure) in try file.readAll(count, at: offset) }
  }

  // MARK: Entries

  /// The longest time that reading a page takes if it is in the system's page cache.
  private static let nanosecondsFromMemory: UInt64 = 30_000

  /// Reads the plain bytes of an entry of this segment into `buffer`. Returns whether the read waited for the
  /// disk, judging by its duration.
  @discardableResult
  package func read(
    _ location: Location, _ cache: PageCache, into buffer: inout ReadBuffer
  ) throws(ByteStoreError) -> Bool {
    try read(location, try open(wanting: location), cache: cache, into: &buffer)
  }

  /// Does the same as `read(_:_:into:)` for a segment that is open.
  func read(
    _ location: Location, _ opened: Opened, cache: PageCache, into buffer: inout ReadBuffer
  ) throws(ByteStoreError) -> Bool {
    switch location.place {
    case .entry(_, let page, let offset, let bytes):
      let (isWhole, hasWaited) = try cache.withPage(
        PageCache.PageID(file: number.value, page: UInt32(page)),
        load: { (target: inout MutableRawSpan) throws(ByteStoreError) in
          let start = platform.clock.monotonicNanoseconds()
          try self.load(page, opened, into: &target)
          return platform.clock.monotonicNanoseconds() &- start > Self.nanosecondsFromMemory
        }
      ) { page in
        guard let entry = StoredEntry(decoding: page, at: offset), entry.bytes == bytes else { return false }
        return Self.decode(entry, from: page, dictionary: opened.dictionary, into: &buffer)
      }
      guard isWhole else { throw badEntry(location, opened) }
      return hasWaited
    case .run(_, let page, let pages):
      let start = platform.clock.monotonicNanoseconds()
      guard try readRun(page, pages: pages, opened: opened, into: &buffer) else {
        throw badEntry(location, opened)
      }
      return platform.clock.monotonicNanoseconds() &- start > Self.nanosecondsFromMemory
    case .none, .memtable:
      preconditionFailure("a location in a segment")
    }
  }

  /// Starts read-ahead for these locations. All requests to the disk, including those that open segments, are
  /// issued before the first wait. Errors are ignored here; they occur again when the entries are read.
  static func startReading(_ locations: ArraySlice<Location>, of segments: [Segment]) {
    var opening: [(Segment, any OpenFile)] = []
    for segment in segments {
      if let opened = segment.opened.load() {
        segment.startReading(locations, of: opened.file, dataStart: opened.header.dataStart)
      } else if let file = try? segment.startOpening(wanting: locations) {
        opening.append((segment, file))
      }
    }
    for (segment, file) in opening { _ = try? segment.finishOpening(file) }
  }

  /// Starts read-ahead for the locations in this segment and skips all others.
  private func startReading(_ locations: ArraySlice<Location>, of file: any OpenFile, dataStart: UInt64) {
    for location in locations where location.slot == slot {
      let first: Int
      let count: Int
      switch location.place {
      case .entry(_, let page, _, _): (first, count) = (page, 1)
      case .run(_, let page, let pages): (first, count) = (page, pages)
      case .none, .memtable: continue
      }
      let offset = dataStart + UInt64(first * SegmentFormat.pageBytes)
      file.startReading(offset..<offset + UInt64(count * SegmentFormat.pageBytes))
    }
  }

  /// Reads a run into `buffer`; returns false if the run holds no valid entry. The run is read directly into
  /// the output buffer, so an uncompressed entry need not be copied.
  private func readRun(
    _ page: Int, pages: Int, opened: Opened, into buffer: inout ReadBuffer
  ) throws(ByteStoreError) -> Bool {
    let offset = opened.header.offset(ofPage: page)
    guard page + pages <= self.pages, pages <= SegmentFormat.runPagesMax else { return false }
    let count = pages * SegmentFormat.pageBytes
    try buffer.load(count) { (target: inout MutableRawSpan) throws(ByteStoreError) in
      try self.readWhole(opened.file, "a run of \(pages) pages", at: offset, into: &target)
      try self.check(target.bytes, at: offset)
    }
    guard let entry = StoredEntry(decoding: buffer.bytes, at: 0) else { return false }
    guard entry.isCompressed else {
      buffer.restrict(entry.stored)
      return true
    }
    let stored = [UInt8](copying: buffer.bytes.extracting(entry.stored))
    return buffer.decompress(stored.rawSpan, rawBytes: entry.plainBytes, against: opened.dictionary)
  }

  package static func decode(
    _ entry: StoredEntry, from page: RawSpan, dictionary: EntryDictionary, into buffer: inout ReadBuffer
  ) -> Bool {
    let stored = page.extracting(entry.stored)
    guard entry.isCompressed else {
      buffer.fill(with: stored)
      return true
    }
    return buffer.decompress(stored, rawBytes: entry.plainBytes, against: dictionary)
  }

  /// Passes every entry to `body`, in file order, together with the page or run that contains the entry.
  func forEachEntry(
    _ body: (StoredEntry, Location, _ page: RawSpan) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    let opened = try open()
    let pagesAtOnce = 32
    var page = 0
    while page < opened.header.smallPages {
      let count = min(pagesAtOnce, opened.header.smallPages - page)
      let bytes = try pageBytes(page, count: count, opened: opened)
      for index in 0..<count {
        let start = index * SegmentFormat.pageBytes
        let span = bytes.rawSpan.extracting(start..<start + SegmentFormat.pageBytes)
        try forEachEntry(ofPage: page + index, span, opened: opened, body)
      }
      page += count
    }
    for pages in opened.runTable {
      let run = try self.run(page, pages: Int(pages), opened: opened)
      guard let entry = StoredEntry(decoding: run.rawSpan, at: 0) else {
        throw badEntry(at: opened.header.offset(ofPage: page))
      }
      try body(entry, Location(slot: slot, page: page, pages: Int(pages)), run.rawSpan)
      page += Int(pages)
    }
  }

  private func forEachEntry(
    ofPage page: Int, _ span: RawSpan, opened: Opened,
    _ body: (StoredEntry, Location, _ page: RawSpan) throws(ByteStoreError) -> Void
  ) throws(ByteStoreError) {
    var trailer = ByteReader(span.extracting(droppingFirst: SegmentFormat.pagePayloadBytes))
    let payload = span.extracting(first: SegmentFormat.pagePayloadBytes)
    var offset = 0
    for _ in 0..<(trailer.uint16() ?? 0) {
      guard let entry = StoredEntry(decoding: payload, at: offset) else {
        throw badEntry(at: opened.header.offset(ofPage: page) + UInt64(offset))
      }
      try body(entry, Location(slot: slot, page: page, offset: offset, bytes: entry.bytes), payload)
      offset += entry.bytes
    }
  }

  /// Reads and verifies the whole segment file.
  func verify() throws(ByteStoreError) {
    let opened = try open()
    var buffer = ReadBuffer()
    var entries: UInt64 = 0
    try forEachEntry { entry, location, page throws(ByteStoreError) in
      entries += 1
      guard Self.decode(entry, from: page, dictionary: opened.dictionary, into: &buffer),
        EntryBytes.split(buffer.bytes) != nil
      else { throw badEntry(location, opened) }
    }
    guard entries == opened.header.entries else {
      throw damage(at: 64, expected: "\(opened.header.entries) entries", found: "\(entries)")
    }
  }

  // MARK: Pages

  private func load(
    _ page: Int, _ opened: Opened, into target: inout MutableRawSpan
  ) throws(ByteStoreError) {
    let offset = opened.header.offset(ofPage: page)
    try readWhole(opened.file, "a page", at: offset, into: &target)
    try check(target.bytes, at: offset)
  }

  private func readWhole(
    _ file: any OpenFile, _ what: String, at offset: UInt64, into target: inout MutableRawSpan
  ) throws(ByteStoreError) {
    do throws(SystemFailure) {
      let count = target.byteCount
      guard try file.readWhole(at: offset, into: &target) == count else {
        throw SystemFailure(operation: "pread", path: path, code: 0)
      }
    } catch {
      guard error.code == 0 else { throw .system(error) }
      throw damage(at: offset, expected: what, found: "the end of the file")
    }
  }

  private func pageBytes(
    _ page: Int, count: Int, opened: Opened
  ) throws(ByteStoreError) -> [UInt8] {
    let start = opened.header.offset(ofPage: page)
    let bytes = try bytes(count * SegmentFormat.pageBytes, at: start, of: opened.file)
    for index in 0..<count {
      let offset = index * SegmentFormat.pageBytes
      guard offset + SegmentFormat.pageBytes <= bytes.count else {
        throw damage(at: start + UInt64(offset), expected: "a page", found: "the end of the file")
      }
      try check(
        bytes.rawSpan.extracting(offset..<offset + SegmentFormat.pageBytes), at: start + UInt64(offset))
    }
    return bytes
  }

  private func run(_ page: Int, pages: Int, opened: Opened) throws(ByteStoreError) -> [UInt8] {
    let offset = opened.header.offset(ofPage: page)
    let count = pages * SegmentFormat.pageBytes
    guard page + pages <= self.pages, pages <= SegmentFormat.runPagesMax else { throw badEntry(at: offset) }
    let run = try bytes(count, at: offset, of: opened.file)
    guard run.count == count else {
      throw damage(at: offset, expected: "a run of \(pages) pages", found: "the end of the file")
    }
    try check(run.rawSpan, at: offset)
    return run
  }

  /// Verifies the checksum of a page or a run.
  private func check(_ page: RawSpan, at offset: UInt64) throws(ByteStoreError) {
    try page.checkPage(file: fileID, offset: offset, path: path, broken: platform.brokenRule)
  }

  // MARK: Errors

  /// The error for an entry of this segment that cannot be decoded.
  func badEntry(_ location: Location, _ opened: Opened) -> ByteStoreError {
    badEntry(at: opened.header.offset(of: location))
  }

  private func badEntry(at offset: UInt64) -> ByteStoreError {
    damage(at: offset, expected: "an entry", found: "bytes that are invalid")
  }

  private func damage(at offset: UInt64, expected: String, found: String) -> ByteStoreError {
    .corrupted(Damage(file: path, offset: offset, expected: expected, found: found))
  }
}
