// Files of a store of bytes: the manifest, the frames of a log, and any file at all. Whatever they hold,
// an open answers with a typed error or with a store that works.

internal import ByteStore

/// A small store that was killed, with commits of several kinds.
private struct SampleStore {
  static let manifest = "/store/MANIFEST"
  static let log = "/store/log-0000000001"

  let image: DiskImage
  let seed: UInt64

  init(seed: UInt64) {
    self.seed = seed
    let disk = SimulatedDisk()
    var random = SeededRandom(seed: seed)
    do throws(ByteStoreError) {
      let store = try ByteStore.open("/store", options: Self.options, platform: disk.platform(seed: seed))
      for number in 0..<5 {
        var batch = Batch(stamp: UInt64(number + 1))
        try batch.put(random.bytes(random.below(300)), for: Array("key\(number % 3)".utf8))
        if number == 3 { try batch.remove(Array("key0".utf8)) }
        try store.commit(batch)
      }
      store.abandon()
    } catch {
      preconditionFailure("a store without faults works: \(error)")
    }
    image = disk.image
  }

  static var options: ByteStore.Options {
    var options = ByteStore.Options()
    options.logBytesMin = 32 << 10
    options.logBytesMax = 32 << 10
    options.maintenance = .manual
    return options
  }

  func bytes(of path: String) -> [UInt8] { image.contents(of: path)?.bytes ?? [] }

  /// Opens the store with other bytes in one file; a store that opens must take a commit and give
  /// everything back after another open.
  func open(with bytes: [UInt8], in path: String) throws(FuzzFinding) -> String {
    var damaged = image
    damaged.replace(path, with: PagedBytes(bytes))
    let platform = SimulatedDisk(damaged).platform(seed: seed)
    let store: ByteStore
    do throws(ByteStoreError) {
      store = try ByteStore.open("/store", options: Self.options, platform: platform)
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
      let again = try ByteStore.open("/store", options: Self.options, platform: platform)
      guard again.lastCommit == sequence, again.count == before + 1,
        try again.value(for: Array("a new key".utf8)) == [1, 2, 3]
      else { throw ByteStoreError.closed(directory: "the second open shows another store") }
      try again.close()
    } catch {
      // A made-up manifest may leave no number for another log; reading it is fine.
      if case .system(let failure) = error, failure.operation == "numbering a log" {
        return "opened, without a number for a log"
      }
      throw FuzzFinding("a store that opened does not work: \(error)")
    }
    return "opened, \(report.losses.count) losses, \(report.commitsReplayed) commits"
  }
}

/// The manifest, its checksum put right after every mutation.
struct ManifestTarget: FuzzTarget {
  static let name = "manifest"
  private let store: SampleStore

  init(seed: UInt64) { store = SampleStore(seed: seed) }

  var seeds: [[UInt8]] { [store.bytes(of: SampleStore.manifest)] }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    try store.open(with: mended(input), in: SampleStore.manifest)
  }

  private func mended(_ input: [UInt8]) -> [UInt8] {
    guard input.count >= 36 else { return input }
    func word(_ offset: Int) -> UInt64 {
      (0..<8).reduce(0) { $0 | UInt64(input[offset + $1]) << (8 * UInt64($1)) }
    }
    var checksum = Checksum(file: RandomID(high: word(16), low: word(24)), offset: 0)
    let content = Array(input.dropLast(4))
    checksum.update(content.rawSpan)
    return content + (0..<4).map { UInt8(truncatingIfNeeded: checksum.value >> (8 * UInt32($0))) }
  }
}

/// The frames of a log, both checksums of the first two put right after every mutation.
struct FrameTarget: FuzzTarget {
  static let name = "frame"
  private static let frameBytesMax = 1024
  private let store: SampleStore
  private let log: [UInt8]
  private let fileID: RandomID

  init(seed: UInt64) {
    store = SampleStore(seed: seed)
    log = store.bytes(of: SampleStore.log)
    let log = log
    func word(_ offset: Int) -> UInt64 {
      (0..<8).reduce(0) { $0 | UInt64(log[offset + $1]) << (8 * UInt64($1)) }
    }
    fileID = RandomID(high: word(16), low: word(24))
  }

  /// The starts of the first pages: the input is the first frame.
  var seeds: [[UInt8]] {
    stride(from: 4096, to: 4 * 4096, by: 4096).map { Array(log[$0..<$0 + Self.frameBytesMax]) }
  }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    var bytes = log
    let frame = mended(Array(input.prefix(8192)))
    bytes.replaceSubrange(4096..<4096 + frame.count, with: frame)
    return try store.open(with: bytes, in: SampleStore.log)
  }

  private func mended(_ input: [UInt8]) -> [UInt8] {
    guard input.count >= 32 else { return input }
    var frame = input
    let claimed = (0..<4).reduce(0) { $0 | Int(input[4 + $1]) << (8 * $1) }
    let body = Array(input[32..<min(input.count, 32 + claimed)])
    var bodyChecksum = Checksum(file: fileID, offset: 4096 + 32)
    bodyChecksum.update(body.rawSpan)
    Self.write(bodyChecksum.value, to: &frame, at: 24)
    var headerChecksum = Checksum(file: fileID, offset: 4096)
    headerChecksum.update(Array(frame[0..<28]).rawSpan)
    Self.write(headerChecksum.value, to: &frame, at: 28)
    return frame
  }

  private static func write(_ word: UInt32, to bytes: inout [UInt8], at offset: Int) {
    for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: word >> (8 * UInt32(index))) }
  }
}

/// Any file of the store, with no checksum put right: the first byte of an input chooses it.
struct DirectoryTarget: FuzzTarget {
  static let name = "directory"
  private let store: SampleStore
  private let paths = [SampleStore.manifest, SampleStore.log]

  init(seed: UInt64) { store = SampleStore(seed: seed) }

  var seeds: [[UInt8]] {
    paths.enumerated().map { [UInt8($0.offset)] + store.bytes(of: $0.element).prefix(20 << 10) }
  }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    let path = paths[Int(input.first ?? 0) % paths.count]
    return try store.open(with: Array(input.dropFirst()), in: path)
  }
}
