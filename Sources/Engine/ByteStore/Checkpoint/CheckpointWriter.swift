// Writes a checkpoint.
//
//   1. pages      region by region
//   2. header
//   3. sync
//   4. read back  every page is read and verified

/// The upper layer's pages for a checkpoint, frozen at one commit.
package protocol CheckpointPages: Sendable {
  /// The upper layer's regions with their page counts. Region kinds start at
  /// `CheckpointRegion.firstOfUpperLayer`, and each kind occurs once. An open starts read-ahead of the first
  /// kind's pages up to a limit, and of the first page of each other kind.
  func regions() throws(ByteStoreError) -> [(region: CheckpointRegion, pages: Int)]
  /// The bytes of a page, at most 4088.
  func payload(_ region: CheckpointRegion, _ page: Int) throws(ByteStoreError) -> [UInt8]
  /// Only the pages that cannot be rebuilt from keys and values. They form a checkpoint that needs little
  /// space.
  var least: any CheckpointPages { get }
}

extension CheckpointPages {
  package var least: any CheckpointPages { self }
}

/// Writes one checkpoint file. If a step fails, the file is invalid and `discard` deletes it.
struct CheckpointWriter {
  private static let bufferBytes = 1 << 20

  let name: String
  private(set) var header: CheckpointHeader
  private let file: any OpenFile
  private let directory: any OpenDirectory
  private let platform: Platform
  private var buffer: [UInt8] = []
  private var written = UInt64(CheckpointFormat.pageBytes)

  init(
    _ header: CheckpointHeader, in directory: any OpenDirectory, platform: Platform
  ) throws(SystemFailure) {
    self.header = header
    self.directory = directory
    self.platform = platform
    name = StoreFile.checkpoint(header.number)
    file = try directory.createFile(name)
  }

  /// Appends pages of words. The last page may be shorter.
  mutating func append(_ region: CheckpointRegion, _ words: PagedWords) throws(SystemFailure) {
    begin(region)
    for page in 0..<words.pageCount { try appendPage(region, words.words(ofPage: page)) }
  }

  mutating func append(_ region: CheckpointRegion, _ words: [UInt64]) throws(SystemFailure) {
    begin(region)
    var rest = words[...]
    while !rest.isEmpty {
      try appendPage(region, Array(rest.prefix(PagedWords.wordsPerPage)))
      rest = rest.dropFirst(PagedWords.wordsPerPage)
    }
  }

  private mutating func appendPage(
    _ region: CheckpointRegion, _ words: [UInt64]
  ) throws(SystemFailure) {
    var payload: [UInt8] = []
    payload.reserveCapacity(CheckpointFormat.pageBytes)
    for word in words { payload.append(littleEndian: word) }
    try append(region, payload: payload)
  }

  /// Appends all pages of the upper layer.
  mutating func append(_ pages: any CheckpointPages) throws(ByteStoreError) {
    for (region, count) in try pages.regions() {
      precondition(region.rawValue >= CheckpointRegion.firstOfUpperLayer.rawValue, "a region of the store's")
      begin(region)
      for page in 0..<count {
        let payload = try pages.payload(region, page)
        do throws(SystemFailure) { try append(region, payload: payload) } catch { throw .system(error) }
      }
    }
  }

  private mutating func begin(_ region: CheckpointRegion) {
    header.regions.append(CheckpointHeader.Region(region: region, pages: 0))
  }

  private mutating func append(
    _ region: CheckpointRegion, payload: [UInt8]
  ) throws(SystemFailure) {
    precondition(payload.count <= CheckpointFormat.payloadBytes, "a page holds 4088 bytes")
    var page = payload
    page.append(zeros: CheckpointFormat.payloadBytes - payload.count)
    page.append(littleEndian: region.rawValue)
    page.appendPageChecksum(
      file: header.fileID, offset: written + UInt64(buffer.count), broken: platform.brokenRule)
    buffer.append(contentsOf: page)
    header.regions[header.regions.count - 1].pages += 1
    if buffer.count >= Self.bufferBytes { try writeBuffer() }
  }

  private mutating func writeBuffer() throws(SystemFailure) {
    try file.writeAll(buffer.rawSpan, at: written, platform: platform)
    written += UInt64(buffer.count)
    buffer.removeAll(keepingCapacity: true)
  }

  /// Completes, syncs and verifies the file. The caller must still sync the directory.
  mutating func finish() throws(ByteStoreError) -> Manifest.Checkpoint {
    do throws(SystemFailure) {
      try writeBuffer()
      try file.writeAll(header.encoded().rawSpan, at: 0, platform: platform)
      if platform.keeps(.syncCheckpoint) { try file.syncOnce(platform) }
    } catch {
      throw .system(error)
    }
    file.close()
    let entry = Manifest.Checkpoint(number: header.number, fileID: header.fileID, bytes: header.fileBytes)
    if platform.keeps(.readBack) {
      try CheckpointFile(entry, storeID: header.storeID, in: directory, platform: platform).verify()
    }
    return entry
  }

  func discard() {
    file.close()
    try? directory.remove(name)
  }
}
