// The checkpoint format (see docs/format.md): the key directory and the upper layer's pages.
//
//   file   := header-page page*
//   header := magic[8] version:u16 kind:u8 reserved:u8 regions:u32 fileID[16] storeID[16] number:u64
//             hashSeed[16] logID[16] logLength:u64 sequence:u64 lastStamp:u64 keys:u64 ordinals:u64
//             depth:u32 reserved[4] region{regions} crc:u32, at the end of the page
//   region := kind:u32 reserved[4] pages:u64
//   page   := payload[4088] region:u32 crc:u32
//
// All pages show the state at one commit. The pages of the regions are stored in the order of the
// header. A page's checksum starts with the position: file id, offset. `logID`, `logLength` and
// `sequence` describe the end of the last log that the checkpoint covers. The payload of a kind below
// 256 consists of 511 words:
//
//   1 directory, 2 slots   SlotPages.swift
//   3 locations            a Location for each ordinal
//   4 free ordinals        the ordinal plus one; 0 ends the list
//   5 segments             number, live bytes, live entries for each slot; a free slot has number 0
//   6 overflow             slots without a page
//
// Kinds from 256 on belong to the upper layer.

package enum CheckpointFormat {
  package static let pageBytes = 4096
  package static let payloadBytes = 4088
  package static let regionsMax = 200
  /// 16 TiB: larger than any key directory. Arithmetic on this size does not overflow.
  package static let pagesMax: UInt64 = 1 << 32

  /// Larger than the number of commits of any store, and small enough to leave numbers for later
  /// commits.
  package static let sequenceMax = UInt64.max / 2
}

/// The kind of a checkpoint region.
package struct CheckpointRegion: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The first kind that belongs to the upper layer.
  package static let firstOfUpperLayer = CheckpointRegion(rawValue: 256)

  package static let directory = CheckpointRegion(rawValue: 1)
  package static let slots = CheckpointRegion(rawValue: 2)
  package static let locations = CheckpointRegion(rawValue: 3)
  package static let free = CheckpointRegion(rawValue: 4)
  package static let segments = CheckpointRegion(rawValue: 5)
  package static let overflow = CheckpointRegion(rawValue: 6)
}

/// The first page of a checkpoint.
package struct CheckpointHeader: Equatable, VersionedHeader {
  package static let signature = FileSignature(
    magic: Array("DUGOUTCP".utf8), version: 0, kind: FileKind.checkpoint.rawValue)

  package var fileID: RandomID
  package var storeID: RandomID
  package var number: FileNumber
  package var hashSeed: RandomID
  /// The end of the last log that the checkpoint covers.
  package var position: LogHeader.LogEnd
  package var lastStamp: UInt64
  package var keys: Int
  package var ordinals: Int
  package var depth: Int
  package var regions: [Region] = []

  package struct Region: Equatable {
    package var region: CheckpointRegion
    package var pages: Int

    package init(region: CheckpointRegion, pages: Int) {
      self.region = region
      self.pages = pages
    }
  }

  package func pages(of region: CheckpointRegion) -> Int {
    regions.first { $0.region == region }?.pages ?? 0
  }

  /// The offset of a region's first page; nil if there is no such region.
  package func offset(of region: CheckpointRegion) -> UInt64? {
    guard let index = regions.firstIndex(where: { $0.region == region }) else { return nil }
    return UInt64(1 + regions[..<index].reduce(0) { $0 + $1.pages }) * UInt64(CheckpointFormat.pageBytes)
  }

  package var fileBytes: UInt64 {
    UInt64(1 + regions.reduce(0) { $0 + $1.pages }) * UInt64(CheckpointFormat.pageBytes)
  }

  package func encoded() -> [UInt8] {
    precondition(regions.count <= CheckpointFormat.regionsMax, "a checkpoint has up to 200 regions")
    var page = Self.signature.head(word: UInt32(regions.count), id: fileID)
    page.append(storeID)
    page.append(littleEndian: number.value)
    page.append(hashSeed)
    page.append(position.fileID)
    page.append(littleEndian: position.length)
    page.append(littleEndian: position.sequence.value)
    page.append(littleEndian: lastStamp)
    page.append(littleEndian: UInt64(keys))
    page.append(littleEndian: UInt64(ordinals))
    page.append(littleEndian: UInt32(depth))
    page.append(littleEndian: UInt32(0))
    for region in regions {
      page.append(littleEndian: region.region.rawValue)
      page.append(littleEndian: UInt32(0))
      page.append(littleEndian: UInt64(region.pages))
    }
    page.append(zeros: CheckpointFormat.pageBytes - 4 - page.count)
    page.appendChecksum()
    return page
  }

  package init(decoding page: RawSpan, file: String) throws(ByteStoreError) {
    var reader = ByteReader(page)
    try reader.expectPage(
      Self.signature, file, expected: "a checkpoint's first bytes", headerBytes: CheckpointFormat.pageBytes,
      pageBytes: CheckpointFormat.pageBytes)
    guard let head = reader.head(of: Self.signature), head.word <= UInt32(CheckpointFormat.regionsMax),
      let storeID = reader.randomID(), let number = reader.uint64(), let hashSeed = reader.randomID(),
      let logID = reader.randomID(), let logLength = reader.uint64(), let sequence = reader.uint64(),
      let lastStamp = reader.uint64(), let keys = reader.uint64(), let ordinals = reader.uint64(),
      let depth = reader.uint32(), reader.skip(4)
    else { throw .damage(file, at: 8, expected: "a checkpoint's header", found: "another kind of file") }
    fileID = head.id
    self.storeID = storeID
    self.number = FileNumber(number)
    self.hashSeed = hashSeed
    position = LogHeader.LogEnd(fileID: logID, length: logLength, sequence: SequenceNumber(sequence))
    self.lastStamp = lastStamp
    var total: UInt64 = 0
    for _ in 0..<head.word {
      guard let kind = reader.uint32(), reader.skip(4), let pages = reader.uint64(),
        pages <= CheckpointFormat.pagesMax
      else { throw .damage(file, at: UInt64(reader.offset), expected: "a region", found: "something else") }
      total += pages
      regions.append(Region(region: CheckpointRegion(rawValue: kind), pages: Int(pages)))
    }
    guard logLength <= LogFormat.capacityMax, position.sequence < .max else {
      throw .damage(file, at: 88, expected: "the end of a log", found: "an end that no log can have")
    }
    guard ordinals <= UInt64(SlotPages.keysMax), keys <= ordinals, depth <= UInt32(SlotPages.depthMax),
      total <= CheckpointFormat.pagesMax
    else { throw .damage(file, at: 128, expected: "counts that a table can have", found: "others") }
    self.keys = Int(keys)
    self.ordinals = Int(ordinals)
    self.depth = Int(depth)
    guard Set(regions.map(\.region)).count == regions.count, pageCountsMatch else {
      throw .damage(file, at: 160, expected: "regions for \(keys) keys", found: "others")
    }
  }

  private var pageCountsMatch: Bool {
    func pagesFor(_ words: Int) -> Int {
      words.roundedUp(toMultipleOf: PagedWords.wordsPerPage) / PagedWords.wordsPerPage
    }
    // Each slot page has at least one directory entry of its own.
    return pages(of: .directory) == SlotPages.directoryPages(depth: depth)
      && (1...1 << depth).contains(pages(of: .slots)) && pages(of: .locations) == pagesFor(ordinals)
      && pages(of: .free) <= pagesFor(ordinals - keys)
      && pages(of: .overflow) <= pagesFor(SlotPages.overflowMax)
  }

  package init(
    fileID: RandomID, storeID: RandomID, number: FileNumber, hashSeed: RandomID,
    position: LogHeader.LogEnd, lastStamp: UInt64, keys: Int, ordinals: Int, depth: Int
  ) {
    self.fileID = fileID
    self.storeID = storeID
    self.number = number
    self.hashSeed = hashSeed
    self.position = position
    self.lastStamp = lastStamp
    self.keys = keys
    self.ordinals = ordinals
    self.depth = depth
  }
}
