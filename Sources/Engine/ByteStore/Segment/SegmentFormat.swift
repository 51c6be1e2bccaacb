// The format of a segment file. docs/format.md describes it as well.
//
//   file    := header-page dictionary padding page{smallPages} run{runs} run-table padding
//   header  := magic[8] version:u16 kind:u8 reserved:u8 pageBytes:u32 fileID[16] storeID[16] number:u64
//              asOf:u64 entries:u64 smallPages:u32 runPages:u32 runs:u32 dictionaryBytes:u32
//              dictionaryCRC:u32 runTableCRC:u32 trailerBytes:u16 reserved[58] crc:u32
//   page    := entry* zeros count:u16 reserved:u16 crc:u32
//   run     := entry zeros count:u16 reserved:u16 crc:u32         in as many pages as it needs
//   entry   := ordinal:u32 size:varint [storedBytes:varint] bytes
//   bytes   := keyBytes:varint key value                          plain, or as LZ4 block
//   run-table := pages:u32{runs}
//
// `size` is twice the number of plain bytes, plus 1 if they are stored as an LZ4 block against the
// dictionary. Only then does `storedBytes` follow. Checksums start with the position: file id, offset.
// An entry that does not fit in a page gets a run of its own. All entries were live at commit `asOf`.
//
// The format has room for encryption. A nonce can be derived from a page's number, and a longer trailer
// could hold the tag. The checksum would then cover the ciphertext.

package enum SegmentFormat {
  package static let pageBytes = 8192
  package static let trailerBytes = 8
  package static let pagePayloadBytes = pageBytes - trailerBytes
  package static let headerBytes = 160
  /// The size of an ordinal and two varints of at most five bytes each.
  package static let entryHeadBytesMax = 4 + 5 + 5
  /// The size of the largest entry: a key, a value and the length of the key.
  package static let entryBytesMax = Batch.keyBytesMax + Batch.valueBytesMax + 3

  /// The size of the longest entry in pages. It limits how much memory can be allocated for reading a crafted
  /// file.
  package static let runPagesMax =
    (entryHeadBytesMax + entryBytesMax + trailerBytes).roundedUp(toMultipleOf: pageBytes) / pageBytes

  package static func dataStart(dictionaryBytes: Int) -> UInt64 {
    UInt64(pageBytes + dictionaryBytes.roundedUp(toMultipleOf: pageBytes))
  }
}

/// The header of a segment, which is its first page.
package struct SegmentHeader: Equatable, VersionedHeader {
  package static let signature = FileSignature(
    magic: Array("DUGOUTSG".utf8), version: 0, kind: FileKind.segment.rawValue)

  package var fileID: RandomID
  package var storeID: RandomID
  package var number: FileNumber
  /// The commit as of which the segment was written. At that commit, every entry held the current value of
  /// its key.
  package var asOf: SequenceNumber
  package var entries: UInt64
  package var smallPages: Int
  package var runPages: Int
  package var runs: Int
  package var dictionaryBytes: Int
  package var dictionaryCRC: UInt32
  package var runTableCRC: UInt32

  package var pages: Int { smallPages + runPages }
  package var dataStart: UInt64 { SegmentFormat.dataStart(dictionaryBytes: dictionaryBytes) }

  package func offset(ofPage page: Int) -> UInt64 { dataStart + UInt64(page * SegmentFormat.pageBytes) }

  /// The file offset of the entry at `location`.
  package func offset(of location: Location) -> UInt64 {
    switch location.place {
    case .entry(_, let page, let offset, _): self.offset(ofPage: page) + UInt64(offset)
    case .run(_, let page, _): offset(ofPage: page)
    case .none, .memtable: preconditionFailure("a location in a segment")
    }
  }

  package var fileBytes: UInt64 {
    offset(ofPage: pages) + UInt64((4 * runs).roundedUp(toMultipleOf: SegmentFormat.pageBytes))
  }

  package func encoded() -> [UInt8] {
    var page = Self.signature.head(word: UInt32(SegmentFormat.pageBytes), id: fileID)
    page.append(storeID)
    page.append(littleEndian: number.value)
    page.append(littleEndian: asOf.value)
    page.append(littleEndian: entries)
    for count in [smallPages, runPages, runs, dictionaryBytes] { page.append(littleEndian: UInt32(count)) }
    page.append(littleEndian: dictionaryCRC)
    page.append(littleEndian: runTableCRC)
    page.append(littleEndian: UInt16(SegmentFormat.trailerBytes))
    page.append(zeros: SegmentFormat.headerBytes - 4 - page.count)
    page.appendChecksum()
    page.pad(toMultipleOf: SegmentFormat.pageBytes)
    return page
  }

  package init(
    fileID: RandomID, storeID: RandomID, number: FileNumber, asOf: SequenceNumber, entries: UInt64 = 0,
    smallPages: Int = 0, runPages: Int = 0, runs: Int = 0, dictionaryBytes: Int = 0,
    dictionaryCRC: UInt32 = 0, runTableCRC: UInt32 = 0
  ) {
    self.fileID = fileID
    self.storeID = storeID
    self.number = number
    self.asOf = asOf
    self.entries = entries
    self.smallPages = smallPages
    self.runPages = runPages
    self.runs = runs
    self.dictionaryBytes = dictionaryBytes
    self.dictionaryCRC = dictionaryCRC
    self.runTableCRC = runTableCRC
  }

  package init(decoding page: RawSpan, file: String) throws(ByteStoreError) {
    var reader = ByteReader(page)
    try reader.expectPage(
      Self.signature, file, expected: "a segment's first bytes", headerBytes: SegmentFormat.headerBytes,
      pageBytes: SegmentFormat.pageBytes)
    guard let head = reader.head(of: Self.signature), head.word == UInt32(SegmentFormat.pageBytes),
      let storeID = reader.randomID(), let number = reader.uint64(), let asOf = reader.uint64(),
      let entries = reader.uint64(), let smallPages = reader.uint32(), let runPages = reader.uint32(),
      let runs = reader.uint32(), let dictionaryBytes = reader.uint32(),
      let dictionaryCRC = reader.uint32(), let runTableCRC = reader.uint32(),
      let trailerBytes = reader.uint16(), trailerBytes == UInt16(SegmentFormat.trailerBytes)
    else { throw .damage(file, at: 8, expected: "a segment's header", found: "another kind of file") }
    let pages = UInt64(smallPages) + UInt64(runPages)
    guard pages <= UInt64(Manifest.Segment.pagesMax), runs <= runPages,
      dictionaryBytes <= UInt32(EntryDictionary.bytesMax)
    else { throw .damage(file, at: 84, expected: "counts that a segment can have", found: "others") }
    self.init(
      fileID: head.id, storeID: storeID, number: FileNumber(number), asOf: SequenceNumber(asOf),
      entries: entries, smallPages: Int(smallPages), runPages: Int(runPages), runs: Int(runs),
      dictionaryBytes: Int(dictionaryBytes), dictionaryCRC: dictionaryCRC, runTableCRC: runTableCRC)
  }
}

/// An entry in a page; the bytes are in their stored form, possibly compressed.
package struct StoredEntry: Equatable {
  package var ordinal: UInt32
  var plainBytes: Int
  package var isCompressed: Bool
  /// The offset of the entry's first byte in the page.
  package var offset: Int
  /// The range in the page that holds the stored bytes.
  var stored: Range<Int>

  package var bytes: Int { stored.upperBound - offset }

  /// The bytes of the ordinal, and of the ordinal and the word in which the two lengths of a usual head are.
  private static let (ordinalBytes, usualHeadBytes) = (4, 12)

  /// Decodes the entry at `offset`; nil if no valid entry fits in `page` there.
  package init?(decoding page: RawSpan, at offset: Int) {
    guard offset >= 0, page.byteCount >= Self.usualHeadBytes,
      offset <= page.byteCount &- Self.usualHeadBytes
    else {
      self.init(decodingAny: page, at: offset)
      return
    }
    var lengths = unsafe UInt64(
      littleEndian: page.unsafeLoadUnaligned(
        fromUncheckedByteOffset: offset &+ Self.ordinalBytes, as: UInt64.self))
    var start = offset &+ Self.ordinalBytes
    guard let size = Self.shortVarint(&lengths, &start) else {
      self.init(decodingAny: page, at: offset)
      return
    }
    let plainBytes = size >> 1
    var storedBytes = plainBytes
    if size & 1 == 1 {
      guard let count = Self.shortVarint(&lengths, &start) else {
        self.init(decodingAny: page, at: offset)
        return
      }
      guard count < plainBytes else { return nil }
      storedBytes = count
    }
    guard storedBytes <= page.byteCount &- start else { return nil }
    let ordinal = unsafe UInt32(
      littleEndian: page.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt32.self))
    self = StoredEntry(
      ordinal: ordinal, plainBytes: plainBytes, isCompressed: size & 1 == 1, offset: offset,
      stored: start..<start &+ storedBytes)
  }

  /// Takes a LEB128 number of one byte or two from the low end of `bytes`; nil if the number is longer.
  @inline(__always)
  private static func shortVarint(_ bytes: inout UInt64, _ start: inout Int) -> Int? {
    let low = bytes & 0x7F
    if bytes & 0x80 == 0 {
      bytes &>>= 8
      start &+= 1
      return Int(truncatingIfNeeded: low)
    }
    guard bytes & 0x8000 == 0 else { return nil }
    let number = low | (bytes &>> 1) & 0x3F80
    bytes &>>= 16
    start &+= 2
    return Int(truncatingIfNeeded: number)
  }

  private init(ordinal: UInt32, plainBytes: Int, isCompressed: Bool, offset: Int, stored: Range<Int>) {
    self.ordinal = ordinal
    self.plainBytes = plainBytes
    self.isCompressed = isCompressed
    self.offset = offset
    self.stored = stored
  }

  private init?(decodingAny page: RawSpan, at offset: Int) {
    var reader = ByteReader(page)
    guard reader.skip(offset), let ordinal = reader.uint32(), let size = reader.varint(),
      size >> 1 <= UInt64(SegmentFormat.entryBytesMax)
    else { return nil }
    self.ordinal = ordinal
    self.offset = offset
    plainBytes = Int(size >> 1)
    isCompressed = size & 1 == 1
    var storedBytes = plainBytes
    if isCompressed {
      guard let count = reader.varint(), count < UInt64(plainBytes) else { return nil }
      storedBytes = Int(count)
    }
    guard let stored = reader.range(storedBytes) else { return nil }
    self.stored = stored
  }

  static func encodeHead(
    _ ordinal: UInt32, plainBytes: Int, storedBytes: Int?, into bytes: inout [UInt8]
  ) {
    bytes.append(littleEndian: ordinal)
    bytes.append(varint: UInt64(plainBytes) << 1 | (storedBytes == nil ? 0 : 1))
    if let storedBytes { bytes.append(varint: UInt64(storedBytes)) }
  }
}

/// The encoding of an entry's plain bytes.
package enum EntryBytes {
  static func encode(_ key: RawSpan, _ value: RawSpan, into bytes: inout [UInt8]) {
    bytes.append(varint: UInt64(key.byteCount))
    bytes.append(copying: key)
    bytes.append(copying: value)
  }

  /// The range of the key and the start of the value; nil if the bytes are not an entry.
  package static func split(_ bytes: RawSpan) -> (key: Range<Int>, valueStart: Int)? {
    // Most keys are shorter than 128 bytes.
    if bytes.byteCount > 0, case let keyBytes = unsafe Int(bytes.unsafeLoad(as: UInt8.self)), keyBytes < 0x80
    {
      return keyBytes < bytes.byteCount ? (1..<1 &+ keyBytes, 1 &+ keyBytes) : nil
    }
    var reader = ByteReader(bytes)
    guard let keyBytes = reader.varint(), keyBytes <= UInt64(Batch.keyBytesMax),
      let key = reader.range(Int(keyBytes))
    else { return nil }
    return (key, key.upperBound)
  }
}
