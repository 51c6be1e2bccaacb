// A closed store that is too large to be read in full after each damage, with a map of the blocks that reads
// examine.
//
//   1. Fill the store by commits with flushes in between, until the segments have the requested size.
//   2. Change some keys and remove some, with flushes, so that the segments have dead entries.
//   3. Commit once more and close the store, so that the log is not empty.
//   4. For each key, record the blocks of each file that the first read of the key after an open examines.

internal import ByteStore

struct LargeSpecimen: Sendable {
  /// The size of the blocks of the map.
  static let blockBytes = 4096
  /// The maximum number of keys recorded for each block.
  static let readersMax = 4

  let image: DiskImage
  let paths: [String]
  let sizes: [Int]
  /// The blocks that an open examines.
  private let ofOpen: [String: Set<Int>]
  /// For each block of each file, some of the keys whose first read examines the block.
  private let readers: [String: [[Int32]]]
  /// For each key, the number of the last commit that put it; 0 if the key was removed.
  private let versions: [UInt32]
  private let seed: UInt64

  static var options: ByteStore.Options {
    var options = ByteStore.Options()
    options.maintenance = .manual
    // The log is small, because a flipped bit in unused space of a log has no effect.
    options.logBytesMax = 1 << 20
    options.segmentBytesMax = 8 << 20
    options.cacheBytesMax = 1 << 20
    return options
  }

  init(bytes: Int, seed: UInt64) throws(ByteStoreError) {
    var builder = StoreBuilder(seed: seed)
    try builder.fill(bytes)
    self.seed = seed
    let image = builder.image
    let versions = builder.versions
    let others = ["LOCK", "SPARE", "RESERVE"]
    let paths = image.paths.filter { path in !others.contains { path.hasSuffix("/\($0)") } }
    let sizes = paths.map { image.contents(of: $0)?.size ?? 0 }
    self.image = image
    self.versions = versions
    self.paths = paths
    self.sizes = sizes
    ofOpen = try Self.blocks(in: image, key: nil)
    var readers = [String: [[Int32]]](
      uniqueKeysWithValues: zip(paths, sizes).map { path, size in
        (path, [[Int32]](repeating: [], count: (size + Self.blockBytes - 1) / Self.blockBytes))
      })
    for number in versions.indices {
      for (path, blocks) in try Self.blocks(in: image, key: Self.key(number)) {
        for block in blocks where readers[path]?.indices.contains(block) == true {
          guard readers[path]![block].count < Self.readersMax else { continue }
          readers[path]![block].append(Int32(number))
        }
      }
    }
    self.readers = readers
  }

  var bytes: Int { sizes.reduce(0, +) }
  var keys: Int { versions.count }

  /// Returns up to four keys whose first read examines the block that contains the byte at `offset`.
  func readers(of path: String, at offset: Int) -> [Int] {
    readers[path]?[offset / Self.blockBytes].map { Int($0) } ?? []
  }

  func isReadByOpen(_ path: String, at offset: Int) -> Bool {
    ofOpen[path]?.contains(offset / Self.blockBytes) ?? false
  }

  /// Returns the current value of a key, or nil if the key was removed.
  func value(_ number: Int) -> [UInt8]? {
    versions[number] == 0 ? nil : Self.value(number, version: versions[number], seed: seed)
  }

  static func key(_ number: Int) -> [UInt8] { Array("collection/document-\(number)".utf8) }

  /// Returns a value of which about a third is compressible.
  private static func value(_ number: Int, version: UInt32, seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed: SeededRandom.seed(seed, UInt64(number), UInt64(version)))
    let bytes = [100, 2000, 6000, 10_000][random.below(4)]
    return random.bytes(bytes - bytes / 3)
      + [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes / 3)
  }

  /// Returns the blocks that are read from the disk by an open and a subsequent read of `key`.
  private static func blocks(
    in image: DiskImage, key: [UInt8]?
  ) throws(ByteStoreError) -> [String: Set<Int>] {
    var recording = SimulatedDisk.Options()
    recording.recordsTrace = true
    let disk = SimulatedDisk(image, options: recording)
    let store = try ByteStore.open(Life.path, options: options, platform: disk.platform(seed: 1))
    defer { store.abandon() }
    let opened = disk.trace.count
    if let key { _ = try store.value(for: key) }
    var blocks: [String: Set<Int>] = [:]
    for entry in key == nil ? disk.trace[...] : disk.trace[opened...] {
      guard entry.operation == .read, case .range(let offset, _) = entry.detail,
        case .count(let count) = entry.outcome, count > 0
      else { continue }
      blocks[entry.path, default: []].formUnion(offset / blockBytes...(offset + count - 1) / blockBytes)
    }
    return blocks
  }

  // MARK: Making

  private struct StoreBuilder {
    let seed: UInt64
    var versions: [UInt32] = []
    private let disk = SimulatedDisk()
    private var random: SeededRandom
    private var commits: UInt32 = 0

    init(seed: UInt64) {
      self.seed = seed
      random = SeededRandom(seed: seed)
    }

    mutating func fill(_ bytes: Int) throws(ByteStoreError) {
      let store = try ByteStore.open(
        Life.path, options: LargeSpecimen.options, platform: disk.platform(seed: seed))
      while store.statistics.segments.liveBytes < UInt64(bytes) {
        for _ in 0..<max(1, min(64, bytes >> 20)) {
          try commit((0..<16).map { _ in newNumber() }, to: store)
        }
        try store.flush()
      }
      for _ in 0..<max(1, versions.count / 400) {
        try commit((0..<16).map { _ in random.below(versions.count) }, to: store)
      }
      try store.flush()
      try commit([0, versions.count / 2], to: store)
      try store.close()
    }

    private mutating func newNumber() -> Int {
      versions.append(0)
      return versions.count - 1
    }

    private mutating func commit(_ numbers: [Int], to store: ByteStore) throws(ByteStoreError) {
      commits += 1
      var batch = Batch(stamp: UInt64(commits))
      for number in numbers {
        // Removes some keys, mostly existing ones.
        if random.oneIn(versions[number] == 0 ? 40 : 4) {
          versions[number] = 0
          try batch.remove(LargeSpecimen.key(number))
        } else {
          versions[number] = commits
          try batch.put(
            LargeSpecimen.value(number, version: commits, seed: seed), for: LargeSpecimen.key(number))
        }
      }
      _ = try store.commit(batch)
    }

    /// The disk image without the contents of deleted files.
    var image: DiskImage {
      let full = disk.image
      var slim = DiskImage()
      slim.addDirectory(String(Life.path.dropFirst()), in: DiskImage.root)
      slim.syncDirectory(DiskImage.root)
      for path in full.paths {
        if let contents = full.contents(of: path) { slim.replace(path, with: contents) }
      }
      return slim
    }
  }
}
