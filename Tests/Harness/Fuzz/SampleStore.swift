// Small stores for fuzz targets, and operations on them.

internal import ByteStore

struct SampleStore {
  static let directory = "/store"
  static let manifest = "/store/MANIFEST"
  static let log = "/store/log-0000000001"

  let image: DiskImage
  let seed: UInt64
  let contents: Contents

  /// Creates a store with commits of several kinds whose process was killed.
  init(seed: UInt64) {
    self.init(seed: seed) { history, random throws(ByteStoreError) in
      for number in 0..<5 {
        var operations = [
          Edit.Operation.put(key: Self.key(number % 3), value: random.bytes(random.below(300)))
        ]
        if number == 3 { operations.append(.remove(key: Self.key(0))) }
        try history.commit(operations)
      }
    }
  }

  /// Creates a store that was flushed twice, with several segments, dead entries, runs and free ordinals.
  /// It was killed after two more commits.
  static func flushed(seed: UInt64) -> SampleStore {
    SampleStore(seed: seed) { history, random throws(ByteStoreError) in
      try history.commit((0..<40).map { .put(key: key($0), value: value($0, &random)) })
      try history.commit([
        .put(key: Array("a run".utf8), value: random.bytes(20_000)),
        .put(key: Array("another".utf8), value: random.bytes(9_000)),
      ])
      try history.flush()
      try history.commit((30..<44).map { .put(key: key($0), value: value($0, &random)) })
      try history.commit((0..<6).map { .remove(key: key($0)) })
      try history.flush()
      try history.commit([.put(key: key(7), value: [7])])
      try history.commit([.remove(key: key(8))])
    }
  }

  /// Creates a store with one segment that has only live entries, and nothing else.
  static func small(seed: UInt64) -> SampleStore {
    SampleStore(seed: seed) { history, random throws(ByteStoreError) in
      try history.commit((0..<20).map { .put(key: key($0), value: value($0, &random)) })
      try history.flush()
    }
  }

  /// Creates a store with enough keys for several pages of each kind in the key directory. The store has no
  /// log, so that all its contents depend on the checkpoint.
  static func wide(seed: UInt64) -> SampleStore {
    SampleStore(seed: seed, compactsAfterwards: true) { history, _ throws(ByteStoreError) in
      try history.commit((0..<1200).map { .put(key: key($0), value: [UInt8(truncatingIfNeeded: $0)]) })
      try history.flush()
      try history.commit((0..<200).map { .remove(key: key(5 * $0)) })
      try history.flush()
    }
  }

  static func key(_ number: Int) -> [UInt8] { Array("key\(number)".utf8) }

  /// Returns a value of which about half is compressible.
  private static func value(_ number: Int, _ random: inout SeededRandom) -> [UInt8] {
    Array(repeatElement("value of \(number % 5), ", count: 12).joined().utf8)
      + random.bytes(random.below(300))
  }

  private struct History: ~Copyable {
    let store: ByteStore
    var contents: Contents = [:]
    private var stamp: UInt64 = 0

    init(_ store: ByteStore) { self.store = store }

    mutating func commit(_ operations: [Edit.Operation]) throws(ByteStoreError) {
      stamp += 1
      let edit = Edit(operations, stamp: stamp, .synced)
      try store.commit(edit.batch)
      edit.apply(to: &contents)
    }

    func flush() throws(ByteStoreError) { try store.flush() }
  }

  private init(
    seed: UInt64, compactsAfterwards: Bool = false,
    _ build: (inout History, inout SeededRandom) throws(ByteStoreError) -> Void
  ) {
    self.seed = seed
    let disk = SimulatedDisk()
    var random = SeededRandom(seed: seed)
    do throws(ByteStoreError) {
      let store = try ByteStore.open(
        Self.directory, options: Self.options, platform: disk.platform(seed: seed))
      var history = History(store)
      try build(&history, &random)
      contents = history.contents
      store.abandon()
      guard compactsAfterwards else {
        image = disk.image
        return
      }
      let again = try ByteStore.open(
        Self.directory, options: Self.options, platform: disk.platform(seed: seed &+ 1))
      try again.flush(.everything)
      again.abandon()
    } catch {
      preconditionFailure("a store without faults works: \(error)")
    }
    image = disk.image
  }

  static var options: ByteStore.Options {
    var options = ByteStore.Options()
    options.logBytesMin = 32 << 10
    options.logBytesMax = 32 << 10
    options.segmentBytesMax = 24 << 10
    options.cacheBytesMax = 64 << 10
    options.maintenance = .manual
    return options
  }

  func bytes(of path: String) -> [UInt8] { image.contents(of: path)?.bytes ?? [] }

  /// Returns the paths of all files of a kind, for instance "segment".
  func paths(_ kind: String) -> [String] { image.paths.filter { $0.contains("/\(kind)-") } }

  func image(with bytes: [UInt8], in path: String) -> DiskImage {
    var damaged = image
    damaged.replace(path, with: PagedBytes(bytes))
    return damaged
  }
}
