// Fuzzes the files of a store: an open must throw a typed error or return a working store.

internal import ByteStore

extension SampleStore {
  /// Opens the store with other bytes in one file. If the open succeeds, the store must accept a commit, and
  /// a second open must show that commit and all other contents.
  func open(with bytes: [UInt8], in path: String) throws(FuzzFinding) -> String {
    let platform = SimulatedDisk(image(with: bytes, in: path)).platform(seed: seed)
    let store: ByteStore
    do throws(ByteStoreError) {
      store = try ByteStore.open(Self.directory, options: Self.options, platform: platform)
    } catch {
      return "\(error)".withoutNumbers
    }
    let report = store.recoveryReport
    do throws(ByteStoreError) {
      try store.checkInvariants()
      let before = store.count
      var batch = Batch(stamp: store.lastStamp &+ 1)
      try batch.put([1, 2, 3], for: Array("a new key".utf8))
      let sequence = try store.commit(batch)
      try store.close()
      let again = try ByteStore.open(Self.directory, options: Self.options, platform: platform)
      guard again.lastCommit == sequence, again.count == before + 1,
        try again.value(for: Array("a new key".utf8)) == [1, 2, 3]
      else { throw ByteStoreError.closed(directory: "the second open shows another store") }
      try again.close()
    } catch {
      // A forged manifest may use up all file numbers, so that the store cannot create another log. Reads
      // still work.
      if case .system(let failure) = error, failure.operation == "numbering a log" {
        return "opened, without a number for a log"
      }
      throw FuzzFinding("a store that opened does not work: \(error)")
    }
    return "opened, \(report.losses.count) losses, \(report.commitsReplayed) commits"
  }
}

/// Fuzzes the manifest of a store that has only a log, and that of a store with segments and a checkpoint.
/// The checksum of each forged manifest is corrected.
struct ManifestTarget: FuzzTarget {
  static let name = "manifest"
  private let store: SampleStore
  private let flushed: SampleStore

  init(seed: UInt64) {
    store = SampleStore(seed: seed)
    flushed = .flushed(seed: SeededRandom.seed(seed, 1))
  }

  var seeds: [[UInt8]] { [store, flushed].map { $0.bytes(of: SampleStore.manifest) } }

  /// The store id in the input selects which of the two stores gets the manifest.
  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    let manifest = ForgedManifest.withCorrectChecksums(input)
    let id = Array(flushed.bytes(of: SampleStore.manifest)[16..<32])
    guard input.count >= 32, Array(input[16..<32]) == id else {
      return try store.open(with: manifest, in: SampleStore.manifest)
    }
    return try StoreExercise.run(
      on: flushed.image(with: manifest, in: SampleStore.manifest), of: flushed, .nothing)
  }
}

/// Fuzzes the frames of a log. The checksums of the first two frames are corrected.
struct FrameTarget: FuzzTarget {
  static let name = "frame"
  private static let frameBytesMax = 1024
  private let store: SampleStore
  private let log: [UInt8]
  private let fileID: RandomID

  init(seed: UInt64) {
    store = SampleStore(seed: seed)
    log = store.bytes(of: SampleStore.log)
    fileID = log.id(at: 16)
  }

  /// The starts of the first pages with frames. Each input replaces the first frame.
  var seeds: [[UInt8]] {
    stride(from: 4096, to: 4 * 4096, by: 4096).map { Array(log[$0..<$0 + Self.frameBytesMax]) }
  }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    var bytes = log
    let frame = withCorrectChecksums(Array(input.prefix(8192)))
    bytes.replaceSubrange(4096..<4096 + frame.count, with: frame)
    return try store.open(with: bytes, in: SampleStore.log)
  }

  private func withCorrectChecksums(_ input: [UInt8]) -> [UInt8] {
    guard input.count >= 32 else { return input }
    var frame = input
    let end = min(input.count, 32 + Int(input.word32(at: 4)))
    frame.set(frame.checksum(of: 32..<end, file: fileID, offset: 4096 + 32), at: 24)
    frame.set(frame.checksum(of: 0..<28, file: fileID, offset: 4096), at: 28)
    return frame
  }
}

/// Fuzzes any file of a store without corrected checksums. The first byte of an input selects the file.
struct DirectoryTarget: FuzzTarget {
  static let name = "directory"
  private static let bytesMax = 48 << 10
  private let store: SampleStore
  private let flushed: SampleStore
  private let paths = [SampleStore.manifest, SampleStore.log]
  private let flushedPaths: [String]

  init(seed: UInt64) {
    store = SampleStore(seed: seed)
    flushed = .flushed(seed: SeededRandom.seed(seed, 1))
    flushedPaths =
      [SampleStore.manifest] + flushed.paths("log") + flushed.paths("segment") + flushed.paths("checkpoint")
  }

  var seeds: [[UInt8]] {
    let small = paths.map { store.bytes(of: $0).prefix(20 << 10) }
    let large = flushedPaths.map { flushed.bytes(of: $0).prefix(Self.bytesMax) }
    return (small + large).enumerated().map { [UInt8($0.offset)] + $0.element }
  }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    let file = Int(input.first ?? 0) % (paths.count + flushedPaths.count)
    let bytes = Array(input.dropFirst())
    guard file >= paths.count else { return try store.open(with: bytes, in: paths[file]) }
    let path = flushedPaths[file - paths.count]
    // Bytes beyond the maximum seed length stay unchanged.
    let rest = flushed.bytes(of: path).dropFirst(max(Self.bytesMax, bytes.count))
    return try StoreExercise.run(
      on: flushed.image(with: bytes + rest, in: path), of: flushed,
      path.contains("/segment-") || path.contains("/checkpoint-") ? .checksums : .nothing)
  }
}
