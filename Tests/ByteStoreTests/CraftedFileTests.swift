// Crafted files with valid checksums: they may contain wrong data, but must never stop the process.

import Foundation
import Harness
import Testing

@testable import ByteStore
@testable import StoreTools

@Suite struct CraftedFileTests {
  /// Regression: a frame claimed a sync up to the largest offset. The open rounded this offset up to a page,
  /// in order to rewrite the bytes after it, and stopped the process.
  @Test(arguments: [8193, UInt64.max])
  func frameClaimingASyncBeyondItselfIsInvalid(durableThrough: UInt64) {
    let file = RandomID(high: 1, low: 2)
    let header = FrameHeader(
      kind: .commit, bodyBytes: 100, sequence: SequenceNumber(3), durableThrough: durableThrough, bodyCRC: 5)
    var bytes: [UInt8] = []
    header.encode(into: &bytes, file: file, offset: 8192)
    #expect(FrameHeader(decoding: bytes.rawSpan, file: file, offset: 8192) == nil)
  }

  /// Regression: a frame had a key or a value that exceeds the limits of a batch. The open accepted it,
  /// and every flush failed, because no segment entry can be that large.
  @Test(arguments: [
    (Batch.keyBytesMax, Batch.valueBytesMax, true), (Batch.keyBytesMax + 1, 0, false),
    (1, Batch.valueBytesMax + 1, false),
  ])
  func commitBeyondBatchLimitsIsInvalid(keyBytes: Int, valueBytes: Int, isOne: Bool) {
    var put = Batch().body
    put[8] = 1
    var removal = put
    put.append(CommitBody.putTag)
    put.append(littleEndian: UInt16(keyBytes))
    put.append(littleEndian: UInt32(valueBytes))
    put.append(zeros: keyBytes + valueBytes)
    #expect((CommitBody(decoding: put) != nil) == isOne)
    removal.append(CommitBody.removeTag)
    removal.append(littleEndian: UInt16(keyBytes))
    removal.append(zeros: keyBytes)
    #expect((CommitBody(decoding: removal) != nil) == (keyBytes <= Batch.keyBytesMax))
  }

  /// Regression: a location named a run of zero pages. A read looked for the checksum before the first byte
  /// of the run and stopped the process.
  @Test func runOfZeroPagesIsRefused() throws {
    let machine = TestStore()
    let store = try machine.open()
    var random = SeededRandom(seed: 1)
    try store.put(random.bytes(20_000), for: "run")
    try store.flush()
    try store.close()
    let opened = try machine.open()
    var table = opened.table.frozen()
    let source = try #require(table.source)
    var words = try source.words(.locations(0))
    let place = try #require(words.firstIndex { Location(bits: $0).slot != nil })
    guard case .run(let slot, let page, let pages) = Location(bits: words[place]).place else {
      Issue.record("no run")
      return
    }
    #expect(pages > 0)
    words[place] = Location(slot: slot, page: page, pages: 0).bits
    let isTaken = table.install(words, at: .locations(0))
    #expect(!isTaken)
    try opened.close()
  }

  /// Regression: the manifest gave two segments the largest possible size. Adding up the sizes for the
  /// statistics stopped the process.
  @Test func impossibleSegmentSizeIsRefused() throws {
    var manifest = Manifest(storeID: RandomID(high: 1, low: 2))
    manifest.nextFileNumber = FileNumber(9)
    manifest.segments = [
      Manifest.Segment(number: FileNumber(1), fileID: .zero, slot: 0, pages: 1, bytes: 7)
    ]
    manifest.checkpoint = Manifest.Checkpoint(number: FileNumber(2), fileID: .zero, bytes: 4096)
    var bytes = manifest.encoded()
    #expect(try Manifest(decoding: bytes.rawSpan, file: "MANIFEST") == manifest)
    // The last eight bytes of the only segment, before the checkpoint and the checksum.
    let end = bytes.count - 4
    for index in end - 40..<end - 32 { bytes[index] = 0xFF }
    bytes.removeLast(4)
    bytes.appendChecksum(Checksum(file: manifest.storeID, offset: 0))
    let error = try storeError { () throws(ByteStoreError) in
      _ = try Manifest(decoding: bytes.rawSpan, file: "MANIFEST")
    }
    guard case .corrupted(let damage) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(damage.file == "MANIFEST")
  }

  /// Tests an impossible size as above, here for the live bytes of a segment in a checkpoint.
  @Test func impossibleLiveByteCountIsRefused() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([1], for: "key")
    try store.flush()
    try store.close()
    let path = try #require(machine.disk.image.paths.first { $0.contains("/checkpoint-") })
    let changed = try machine.changing(path) { bytes in
      let header = try CheckpointHeader(decoding: bytes.rawSpan.extracting(first: 4096), file: path)
      let start = Int(try #require(header.offset(of: .segments)))
      for index in start + 8..<start + 16 { bytes[index] = 0xFF }
      var sealed = Array(bytes[start..<start + 4092])
      sealed.appendPageChecksum(file: header.fileID, offset: UInt64(start), broken: nil)
      bytes.replaceSubrange(start..<start + 4096, with: sealed)
    }
    let error = try storeError { () throws(ByteStoreError) in _ = try changed.open() }
    guard case .corrupted(let damage) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(damage.file == path)
  }

  /// Regression: a checkpoint with one page of slots claimed millions of them, in a sparse file. The key
  /// directory allocated memory for each claimed page.
  @Test func excessSlotPagesInACheckpointAreRefused() throws {
    var header = CheckpointHeader(
      fileID: .zero, storeID: .zero, number: FileNumber(1), hashSeed: .zero,
      position: LogHeader.LogEnd(fileID: .zero, length: 0, sequence: .none), lastStamp: 0, keys: 0,
      ordinals: 0, depth: 0)
    header.regions = [CheckpointRegion.directory, .slots].map {
      CheckpointHeader.Region(region: $0, pages: 1)
    }
    #expect(try CheckpointHeader(decoding: header.encoded().rawSpan, file: "checkpoint") == header)
    header.regions[1].pages = 2
    try expectRefusal(of: header)
  }

  private func expectRefusal(of header: CheckpointHeader) throws {
    let page = header.encoded()
    let error = try storeError { () throws(ByteStoreError) in
      _ = try CheckpointHeader(decoding: page.rawSpan, file: "checkpoint")
    }
    guard case .corrupted(let damage) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(damage.file == "checkpoint")
  }

  /// Regression: the sizes of the overflow and of the free list were limited only by the size of the file.
  /// Each lookup scans the overflow, and the free list was loaded into an array.
  @Test(arguments: [(CheckpointRegion.free, 2), (.overflow, 33)])
  func checkpointWithTooManyOverflowOrFreePagesIsRefused(region: CheckpointRegion, pagesMax: Int) throws {
    var header = CheckpointHeader(
      fileID: .zero, storeID: .zero, number: FileNumber(1), hashSeed: .zero,
      position: LogHeader.LogEnd(fileID: .zero, length: 0, sequence: .none), lastStamp: 0, keys: 100,
      ordinals: 700, depth: 0)
    header.regions = [
      CheckpointHeader.Region(region: .directory, pages: 1), .init(region: .slots, pages: 1),
      .init(region: .locations, pages: 2), .init(region: region, pages: pagesMax),
    ]
    #expect(try CheckpointHeader(decoding: header.encoded().rawSpan, file: "checkpoint") == header)
    header.regions[3].pages += 1
    try expectRefusal(of: header)
  }

  /// Regression: a segment with a damaged header, which no manifest named, was longer than any valid segment.
  /// Salvage and check derived the page count from the file size, and the location of a page beyond the limit
  /// stopped the process.
  @Test func segmentPageCountIsLimited() throws {
    let path = "\(NSTemporaryDirectory())dugout-long-segment-\(UInt64.random(in: 0...(.max)))"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var options = ByteStore.Options()
    options.maintenance = .manual
    let store = try ByteStore.open(path, options: options)
    try store.put([1], for: "key")
    try store.flush()
    try store.close()
    let directory = try PosixFileSystem().openDirectory(path)
    let name = try #require(try directory.names().first { $0.hasPrefix("segment-") })
    // Only the id remains of the header.
    let written = try directory.openFile(name, .readAndWrite)
    let page = try written.readAll(SegmentFormat.pageBytes, at: 0)
    let (start, end) = ([UInt8](repeating: 0, count: 10), [UInt8](repeating: 1, count: 4))
    try written.writeAll(start.rawSpan, at: 0, platform: .real)
    try written.writeAll(end.rawSpan, at: UInt64(SegmentFormat.headerBytes - 4), platform: .real)
    try written.writeAll([UInt8(1)].rawSpan, at: 9 << 30, platform: .real)
    written.close()
    let header = try SegmentHeader(decoding: page.rawSpan, file: name)
    let file = try #require(try TolerantFile(name, in: directory))
    let hints = SegmentSource.Hints(number: header.number, dictionaries: [])
    let source = try #require(try SegmentSource.read(file, hints, platform: .real).source)
    #expect(!source.isHeaderSound && source.fileID == header.fileID)
    #expect(source.pages == Manifest.Segment.pagesMax)
    file.close()
  }

  /// Regression: all restored entries went into one batch. A batch that was too large ended the salvage.
  @Test func salvageRestoresMoreThanOneBatchTakes() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([1], for: "key")
    try store.flush()
    try store.close()
    let changed = try machine.changing("\(TestStore.path)/MANIFEST") { $0[20] ^= 1 }
    let value = [UInt8](repeating: 5, count: 6 << 20)
    let platform = changed.disk.platform(seed: 1)
    let report = try ByteStore.salvage(
      TestStore.path, platform: platform,
      upperLayer: SalvageUpperLayer(restore: { _ in
        // The last entry exceeds the limit of a batch.
        (0..<3).map { (key: Array("restored\($0)".utf8), value: value) }
          + [(key: Array("huge".utf8), value: [UInt8](repeating: 0, count: Batch.valueBytesMax + 1))]
      }))
    #expect(report.keys == 4)
    let opened = try changed.open()
    #expect(try (0..<3).filter { try opened.value(for: "restored\($0)") != value } == [])
    #expect(try opened.value(for: "key") == [1])
    try opened.close()
  }

  /// Regression: the header of a checkpoint claimed millions of pages, but the file had only a few. Salvage
  /// allocated memory for each claimed page, until memory was exhausted.
  @Test func salvageReadsNoMorePagesThanAFileHas() throws {
    let machine = TestStore()
    let store = try machine.open()
    try store.put([1], for: "key")
    try store.flush()
    try store.close()
    let path = try #require(machine.disk.image.paths.first { $0.contains("/checkpoint-") })
    let changed = try machine.changing(path) { bytes in
      var header = try CheckpointHeader(decoding: bytes.rawSpan.extracting(first: 4096), file: path)
      let index = try #require(header.regions.firstIndex { $0.region == .segments })
      header.regions[index].pages = 1 << 20
      bytes.replaceSubrange(0..<4096, with: header.encoded())
    }
    let platform = changed.disk.platform(seed: 1)
    let directory = try platform.fileSystem.openDirectory(TestStore.path)
    let name = String(path.dropFirst(TestStore.path.count + 1))
    let file = try #require(try TolerantFile(name, in: directory))
    let source = try #require(try CheckpointSource.read(file, nil, platform: platform))
    let pages = try source.words(.segments)
    #expect(pages.count < 10)
    #expect(pages.last == .some(nil))
    file.close()
    _ = try ByteStore.salvage(TestStore.path, platform: platform)
    #expect(try changed.open().value(for: "key") == [1])
  }
}
