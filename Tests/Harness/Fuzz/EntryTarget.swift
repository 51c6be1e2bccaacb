// Fuzzes one segment entry. The page that contains the entry has a valid checksum, and the key directory
// refers to the entry.
//
//   input := flags:u8 plainBytes:u32 stored
//
// Flag 1 marks the entry as compressed. The store must decode the entry exactly as an independent decoder
// does.

internal import ByteStore

struct EntryTarget: FuzzTarget {
  static let name = "entry"
  /// The ordinal, two varints and the stored bytes must fit in a page.
  private static let storedMax = 8184 - 14
  private let store: SampleStore
  private let path: String
  private let segment: [UInt8]
  private let checkpointPath: String
  private let dictionary: [UInt8]
  private let dataStart: Int
  /// The ordinal of the first entry.
  private let ordinal: UInt32

  init(seed: UInt64) {
    store = .small(seed: seed)
    path = store.paths("segment")[0]
    segment = store.bytes(of: path)
    checkpointPath = store.paths("checkpoint")[0]
    let dictionaryBytes = Int(segment.word32(at: 84))
    dictionary = Array(segment[8192..<8192 + dictionaryBytes])
    dataStart = 8192 + dictionaryBytes.roundedUp(toMultipleOf: 8192)
    ordinal = segment.word32(at: dataStart)
  }

  private struct Entry {
    var plainBytes: UInt64
    var isCompressed: Bool
    var stored: [UInt8]
  }

  private static func entries(of page: [UInt8], count: Int) -> [Entry] {
    var reader = ByteReader(page.rawSpan)
    return (0..<count).compactMap { _ in
      guard reader.skip(4), let size = reader.varint(),
        let bytes = size & 1 == 1 ? reader.varint() : size >> 1, let stored = reader.array(Int(bytes))
      else { return nil }
      return Entry(
        plainBytes: size >> 1, isCompressed: size & 1 == 1, stored: stored)
    }
  }

  /// Two uncompressed entries, and the entries of the first page.
  var seeds: [[UInt8]] {
    var seeds: [[UInt8]] = [[0, 3, 0, 0, 0, 1, 65, 66], [0, 0, 0, 0, 0]]
    let page = Array(segment[dataStart..<dataStart + 8184])
    for entry in Self.entries(of: page, count: Int(segment[dataStart + 8184])) {
      var seed: [UInt8] = [entry.isCompressed ? 1 : 0]
      seed.append(littleEndian: UInt32(entry.plainBytes))
      seeds.append(seed + entry.stored)
    }
    return seeds
  }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    guard input.count >= 5 else { return "too short" }
    let isCompressed = input[0] & 1 == 1
    let plainBytes = Int(input.word32(at: 1))
    let stored = Array(input.dropFirst(5).prefix(Self.storedMax))
    var head: [UInt8] = []
    head.append(littleEndian: ordinal)
    head.append(varint: UInt64(plainBytes) << 1 | (isCompressed ? 1 : 0))
    if isCompressed { head.append(varint: UInt64(stored.count)) }
    guard let entry = try firstEntry(of: image(with: head + stored)) else { return "refused" }
    let plain =
      isCompressed
      ? ReferenceLZ4.decode(stored, plainBytes: plainBytes, dictionary) : stored
    guard let plain else {
      guard ReferenceLZ4.isUndefined(stored) else { throw FuzzFinding("an invalid entry was decoded") }
      return "undefined"
    }
    var reader = ByteReader(plain.rawSpan)
    guard reader.varint() == UInt64(entry.key.count), reader.array(entry.key.count) == entry.key,
      reader.array(reader.bytesLeft) == entry.value
    else { throw FuzzFinding("an entry decodes to other bytes than the stored ones") }
    return isCompressed ? "decompressed" : "plain"
  }

  private func image(with entry: [UInt8]) -> DiskImage {
    var segment = segment
    let page = entry + [UInt8](repeating: 0, count: 8184 - entry.count) + [1, 0, 0, 0, 0, 0, 0, 0]
    segment.replaceSubrange(dataStart..<dataStart + 8192, with: page)
    ForgedSegment.correctPageChecksum(at: dataStart, count: 1, &segment, segment.id(at: 16))
    var image = store.image(with: segment, in: path)
    var checkpoint = ForgedCheckpoint(store.bytes(of: checkpointPath))
    checkpoint.setLocation(of: ordinal) { old in
      old & ~(1 << 26 - 1) & ~(0xF_FFFF << 26) | UInt64(entry.count)
    }
    image.replace(checkpointPath, with: PagedBytes(checkpoint.encoded(withCorrectChecksums: true)))
    return image
  }

  /// Returns the first entry, or nil if the store refuses it.
  private func firstEntry(
    of image: DiskImage
  ) throws(FuzzFinding) -> (key: [UInt8], value: [UInt8])? {
    let platform = SimulatedDisk(image).platform(seed: store.seed)
    var first: (key: [UInt8], value: [UInt8])?
    do throws(ByteStoreError) {
      let opened = try ByteStore.open(SampleStore.directory, options: SampleStore.options, platform: platform)
      defer { opened.abandon() }
      for key in store.contents.keys {
        do throws(ByteStoreError) { _ = try opened.value(for: key) } catch { try check(error) }
      }
      let snapshot = try opened.snapshot()
      try snapshot.forEach { _, key, value in
        if first == nil { first = (Array(copying: key), Array(copying: value)) }
      }
    } catch {
      guard case .corrupted = error else { throw FuzzFinding("an entry is refused with \(error)") }
    }
    return first
  }

  private func check(_ error: ByteStoreError) throws(ByteStoreError) {
    guard case .corrupted = error else { throw error }
  }
}
