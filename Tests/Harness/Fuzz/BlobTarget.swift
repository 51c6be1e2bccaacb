// Fuzzes the files that hold the bytes of contents: a pack, and a file with a single content. The checksums
// are either corrected or left wrong.
//
// Whatever the files contain, a read must return the content whose digest is in the record, or throw an error
// that names the file.

internal import ByteStore
internal import StoreTools

struct BlobTarget: FuzzTarget {
  static let name = "blob"
  private static let headBytes = 4096
  private static let frameHeadBytes = 64

  private let image: DiskImage
  private let seed: UInt64
  private let contents: [(id: BlobID, place: BlobLocation, bytes: [UInt8])]
  private let paths: [String]

  init(seed: UInt64) {
    self.seed = seed
    let disk = SimulatedDisk()
    var random = SeededRandom(seed: seed)
    var contents: [(id: BlobID, place: BlobLocation, bytes: [UInt8])] = []
    do throws(ByteStoreError) {
      let store = try ByteStore.open(
        SampleStore.directory, options: Self.options, platform: disk.platform(seed: seed))
      for size in [100, 900, 1500, 6000] {
        let bytes = random.bytes(size / 2) + [UInt8](repeating: 7, count: size - size / 2)
        let writer = store.blobs.writer()
        try writer.append(bytes.rawSpan)
        let finished = try writer.finish()
        contents.append((finished.id, try store.blobs.keep(finished), bytes))
      }
      store.abandon()
    } catch {
      preconditionFailure("a store without faults works: \(error)")
    }
    self.contents = contents
    image = disk.image
    paths = disk.image.paths.filter { $0.contains("/pack-") || $0.contains("/blob-") }.sorted()
    precondition(paths.count == 2, "a pack and a file")
  }

  private static var options: ByteStore.Options {
    var options = SampleStore.options
    options.blobs.packedBytesMax = 2000
    return options
  }

  /// In each input, the first byte selects the file and whether the checksums of the file are corrected.
  var seeds: [[UInt8]] {
    paths.indices.flatMap { index in
      [UInt8(2 * index), UInt8(2 * index + 1)].map { [$0] + (image.contents(of: paths[index])?.bytes ?? []) }
    }
  }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    let choice = Int(input.first ?? 0) % (2 * paths.count)
    let path = paths[choice / 2]
    var bytes = Array(input.dropFirst())
    if choice % 2 == 1 { correctChecksums(&bytes, isPack: path.contains("/pack-")) }
    var damaged = image
    damaged.replace(path, with: PagedBytes(bytes))
    let store: ByteStore
    do throws(ByteStoreError) {
      store = try ByteStore.open(
        SampleStore.directory, options: Self.options, platform: SimulatedDisk(damaged).platform(seed: seed))
    } catch {
      throw FuzzFinding("a store does not open for its contents: \(error)")
    }
    defer { store.abandon() }
    var answers = try walk(store, path)
    for (id, place, bytes) in contents { answers.append(try read(store, id, place, bytes)) }
    return answers.joined(separator: "; ")
  }

  private func walk(_ store: ByteStore, _ path: String) throws(FuzzFinding) -> [String] {
    guard path.contains("/pack-") else { return [] }
    do throws(ByteStoreError) {
      var frames = 0
      for number in try store.blobs.inventory().packs {
        try store.blobs.forEachFrame(ofPack: number) { _, _ in frames += 1 }
      }
      return ["\(frames > 0 ? "some" : "no") frames"]
    } catch {
      return [try refusal(error)]
    }
  }

  private func read(
    _ store: ByteStore, _ id: BlobID, _ place: BlobLocation, _ bytes: [UInt8]
  ) throws(FuzzFinding) -> String {
    do throws(ByteStoreError) {
      try store.blobs.verify(id, at: place)
      let found = try store.blobs.reader(id, at: place).readAll()
      guard found == bytes else { throw ByteStoreError.closed(directory: "other bytes") }
      return "read"
    } catch {
      return try refusal(error)
    }
  }

  private func refusal(_ error: ByteStoreError) throws(FuzzFinding) -> String {
    switch error {
    case .corrupted, .foreignFile, .newerFormat: "\(error)".withoutNumbers
    default: throw FuzzFinding("a file of contents is answered with \(error)")
    }
  }

  // MARK: Checksums

  /// Corrects the checksums of the file header, and of frame headers at all possible positions.
  private func correctChecksums(_ bytes: inout [UInt8], isPack: Bool) {
    let end = isPack ? 40 : 88
    guard bytes.count >= Self.headBytes else { return }
    let id = bytes.id(at: 16)
    bytes.set(bytes.checksum(of: 0..<end, file: id, offset: 0), at: end)
    guard isPack else { return }
    for start in stride(from: Self.headBytes, to: bytes.count - Self.frameHeadBytes, by: Self.frameHeadBytes)
    where bytes.word32(at: start) == 0x4252_4644 {
      bytes.set(bytes.checksum(of: start..<start + 48, file: id, offset: UInt64(start)), at: start + 48)
    }
  }
}

/// Fuzzes `check` and `salvage` with a forged version of any file of a store. Both operations must end with a
/// report or a typed error, and a salvaged store must work.
struct SalvageTarget: FuzzTarget {
  static let name = "salvage"
  private static let bytesMax = 48 << 10
  private let store: SampleStore
  private let paths: [String]

  init(seed: UInt64) {
    store = .flushed(seed: seed)
    paths = [SampleStore.manifest] + store.paths("log") + store.paths("segment") + store.paths("checkpoint")
  }

  /// In each input, the first byte selects the file and, if the file is a manifest, whether its checksum is
  /// corrected.
  var seeds: [[UInt8]] {
    paths.enumerated().map { [UInt8($0.offset)] + store.bytes(of: $0.element).prefix(Self.bytesMax) }
  }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    let choice = Int(input.first ?? 0)
    let path = paths[choice % paths.count]
    var bytes = Array(input.dropFirst())
    bytes += store.bytes(of: path).dropFirst(max(Self.bytesMax, bytes.count))
    if path == SampleStore.manifest, choice >= paths.count {
      bytes = ForgedManifest.withCorrectChecksums(bytes)
    }
    let disk = SimulatedDisk(store.image(with: bytes, in: path))
    let platform = disk.platform(seed: store.seed)
    var answers: [String] = []
    do throws(ByteStoreError) {
      let report = try ByteStore.check(SampleStore.directory, platform: platform)
      answers.append(report.isSound ? "sound" : "damaged")
    } catch {
      answers.append(try refusal(error))
    }
    do throws(ByteStoreError) {
      let report = try ByteStore.salvage(SampleStore.directory, platform: platform)
      answers.append("\(report.outcome.rawValue), checkpoint \(report.checkpoint.rawValue)")
    } catch {
      answers.append(try refusal(error))
      return answers.joined(separator: "; ")
    }
    do throws(ByteStoreError) {
      let salvaged = try ByteStore.open(
        SampleStore.directory, options: SampleStore.options, platform: disk.platform(seed: store.seed &+ 1))
      var batch = Batch()
      try batch.put([1], for: Array("new".utf8))
      try salvaged.commit(batch)
      try salvaged.flush()
      try salvaged.close()
    } catch {
      // A forged manifest may use up all file numbers, so that the store cannot create another file.
      if case .system(let failure) = error, failure.operation.hasPrefix("numbering") {
        return answers.joined(separator: "; ")
      }
      throw FuzzFinding("the salvaged store does not work: \(error)")
    }
    return answers.joined(separator: "; ")
  }

  private func refusal(_ error: ByteStoreError) throws(FuzzFinding) -> String {
    switch error {
    case .corrupted, .foreignFile, .newerFormat, .notAStore, .noStore: "\(error)".withoutNumbers
    case .system(let failure) where failure.operation.hasPrefix("numbering"): "no numbers"
    default: throw FuzzFinding("a store without faults is answered with \(error)")
    }
  }
}
