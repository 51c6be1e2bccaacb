// The format of a log file of the WAL. docs/format.md describes it with a worked example.
//
//   file    := header-page frame* unused
//   header  := magic[8] version:u16 kind:u8 reserved:u8 pageBytes:u32 fileID[16] storeID[16] number:u64
//              capacity:u64 previousID[16] previousLength:u64 previousSequence:u64 reserved[28] crc:u32
//              (128 bytes, the rest of the page is zero)
//   frame   := frame-header body padding-to-64
//   frame-header := "DGF" kind:u8 bodyBytes:u32 sequence:u64 durableThrough:u64 bodyCRC:u32 headerCRC:u32
//   body    := depends on the kind: a commit's operations, a log's context, or empty
//
// The context is a watermark's body, with the grammar of a commit's body. It repeats puts of earlier
// commits that are needed to interpret the commits of this log. An open skips it. A salvage uses it for
// entries that it finds nowhere else.
//
// All integers are little-endian. Each checksum is a CRC32C that starts with the position: file id,
// offset. `headerCRC` covers the header fields before it, including `bodyCRC`, which ties the body to
// its header. A commit group starts at a page boundary. No page is ever rewritten with other bytes.

/// Sizes fixed by the format.
package enum LogFormat {
  package static let pageBytes = 4096
  package static let headerBytes = 128
  package static let frameAlignment = 64
  package static let frameHeaderBytes = 32
  package static let frameBodyBytesMax = 16 << 20
  package static let capacityMax: UInt64 = 64 << 20
}

/// The first page of a log file: its identity, and the end of the log before it.
package struct LogHeader: Equatable, VersionedHeader {
  package static let signature = FileSignature(
    magic: Array("DUGOUTLG".utf8), version: 0, kind: FileKind.log.rawValue)

  package var fileID: RandomID
  package var storeID: RandomID
  package var number: LogNumber
  /// The file's size. No frame extends beyond it, and the search for later frames stops there.
  package var capacity: UInt64
  /// The end of the log before this one. In the first log of a store, the file id is `.zero` and the numbers
  /// are zero.
  package var previous: LogEnd

  package struct LogEnd: Equatable {
    package var fileID: RandomID
    package var length: UInt64
    package var sequence: SequenceNumber

    package init(fileID: RandomID, length: UInt64, sequence: SequenceNumber) {
      self.fileID = fileID
      self.length = length
      self.sequence = sequence
    }
  }

  package func encoded() -> [UInt8] {
    var page = Self.signature.head(word: UInt32(LogFormat.pageBytes), id: fileID)
    page.append(storeID)
    page.append(littleEndian: number.value)
    page.append(littleEndian: capacity)
    page.append(previous.fileID)
    page.append(littleEndian: previous.length)
    page.append(littleEndian: previous.sequence.value)
    page.append(zeros: LogFormat.headerBytes - 4 - page.count)
    page.appendChecksum()
    page.pad(toMultipleOf: LogFormat.pageBytes)
    return page
  }

  package init(
    fileID: RandomID, storeID: RandomID, number: LogNumber, capacity: UInt64, previous: LogEnd
  ) {
    self.fileID = fileID
    self.storeID = storeID
    self.number = number
    self.capacity = capacity
    self.previous = previous
  }

  package init(decoding page: RawSpan, file: String) throws(ByteStoreError) {
    var reader = ByteReader(page)
    try reader.expectPage(
      Self.signature, file, expected: "a log's first bytes", headerBytes: LogFormat.headerBytes,
      pageBytes: LogFormat.pageBytes)
    guard let head = reader.head(of: Self.signature), head.word == UInt32(LogFormat.pageBytes),
      let storeID = reader.randomID(), let number = reader.uint64(), let capacity = reader.uint64(),
      let previousID = reader.randomID(), let previousLength = reader.uint64(),
      let previousSequence = reader.uint64()
    else { throw .damage(file, at: 8, expected: "a log's header", found: "another kind of file") }
    guard capacity % UInt64(LogFormat.pageBytes) == 0, capacity <= LogFormat.capacityMax else {
      throw .damage(
        file, at: 56, expected: "a capacity of whole pages up to \(LogFormat.capacityMax)",
        found: "\(capacity)")
    }
    guard previousLength <= LogFormat.capacityMax, previousSequence < SequenceNumber.max.value else {
      throw .damage(file, at: 80, expected: "the end of a log", found: "an end that no log can have")
    }
    self.init(
      fileID: head.id, storeID: storeID, number: LogNumber(number), capacity: capacity,
      previous: LogEnd(
        fileID: previousID, length: previousLength, sequence: SequenceNumber(previousSequence)))
  }
}

/// The 32 bytes before every frame's body.
package struct FrameHeader: Equatable {
  package enum Kind: UInt8 {
    /// All operations of one commit.
    case commit = 1
    /// Records that the log was synced up to here. It is not a commit. Its body is empty or the log's
    /// context.
    case watermark = 2
    /// The log was closed cleanly here.
    case close = 3
  }

  package var kind: Kind
  package var bodyBytes: Int
  /// The commit's own number; for a watermark or close marker, the number of the last commit before it.
  package var sequence: SequenceNumber
  /// The offset up to which the log was known to be synced when this frame was encoded.
  package var durableThrough: UInt64
  package var bodyCRC: UInt32

  /// The frame's size in the file.
  package var paddedBytes: Int {
    (LogFormat.frameHeaderBytes + bodyBytes).roundedUp(toMultipleOf: LogFormat.frameAlignment)
  }

  package func encode(into bytes: inout [UInt8], file id: RandomID, offset: UInt64, broken: Rule? = nil) {
    let magic = Self.magic | UInt64(kind.rawValue) << 24
    var words = (
      (magic | UInt64(UInt32(bodyBytes)) << 32).littleEndian, sequence.value.littleEndian,
      durableThrough.littleEndian, UInt64(bodyCRC).littleEndian
    )
    // The last word has the checksum of all bytes before it as its second half.
    let checked = LogFormat.frameHeaderBytes - 4
    unsafe withUnsafeMutableBytes(of: &words) { words in
      var checksum = Checksum(file: id, offset: offset, broken: broken)
      unsafe checksum.update(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: words[..<checked])))
      unsafe words.storeBytes(of: checksum.value.littleEndian, toByteOffset: checked, as: UInt32.self)
      unsafe bytes.append(contentsOf: words)
    }
  }

  /// "DGF".
  private static let magic: UInt64 = 0x0046_4744

  /// Decodes the header at the start of `bytes`; nil if these bytes were not written for this position.
  package init?(decoding bytes: RawSpan, file id: RandomID, offset: UInt64, broken: Rule? = nil) {
    var reader = ByteReader(bytes)
    // The magic is compared first, because the search for later frames visits millions of offsets.
    guard let word = reader.uint32(), UInt64(word & 0x00FF_FFFF) == Self.magic,
      let kind = Kind(rawValue: UInt8(word >> 24)),
      let bodyBytes = reader.uint32(), bodyBytes <= UInt32(LogFormat.frameBodyBytesMax),
      let sequence = reader.uint64(), let durableThrough = reader.uint64(),
      let bodyCRC = reader.uint32(), let headerCRC = reader.uint32()
    else { return nil }
    var checksum = Checksum(file: id, offset: offset, broken: broken)
    checksum.update(bytes.extracting(first: LogFormat.frameHeaderBytes - 4))
    // A frame cannot record a sync beyond its own offset. Such a value can only come from a crafted file.
    guard checksum.value == headerCRC, durableThrough <= offset else { return nil }
    self.init(
      kind: kind, bodyBytes: Int(bodyBytes), sequence: SequenceNumber(sequence),
      durableThrough: durableThrough, bodyCRC: bodyCRC)
  }

  package init(
    kind: Kind, bodyBytes: Int, sequence: SequenceNumber, durableThrough: UInt64, bodyCRC: UInt32
  ) {
    self.kind = kind
    self.bodyBytes = bodyBytes
    self.sequence = sequence
    self.durableThrough = durableThrough
    self.bodyCRC = bodyCRC
  }

  /// The checksum of the body that follows the header at `offset`.
  package static func checksum(
    ofBody body: RawSpan, file id: RandomID, offset: UInt64, broken: Rule? = nil
  ) -> UInt32 {
    guard broken != .checkBodies else { return 0 }
    var checksum = Checksum(
      file: id, offset: offset + UInt64(LogFormat.frameHeaderBytes), broken: broken)
    checksum.update(body)
    return checksum.value
  }
}
