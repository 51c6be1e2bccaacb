// Fuzzes segments. An input is a list of changes to a valid segment:
//
//   input  := flags:u8 change*
//
//   change := page:u8 offset:u16 how:u8 byte{how & 15}
//
// Flag 1 corrects the checksums, flag 2 makes the manifest agree with the header; the other flags select the
// segment. The upper four bits of `how` select the kind of change: 14 truncates the file at the offset, 15
// zeroes the rest of the page, and any other number overwrites bytes.

internal import ByteStore

struct SegmentTarget: FuzzTarget {
  static let name = "segment"
  private static let pageBytes = 8192
  private let store: SampleStore
  private let paths: [String]

  init(seed: UInt64) {
    store = .flushed(seed: seed)
    paths = store.paths("segment")
  }

  var seeds: [[UInt8]] {
    let header: [[UInt8]] = [64, 72, 76, 80, 84, 88, 92].map { [0, $0, 0, 4, 1, 0, 0, 0] }
    let first = Self.dataPage(of: store.bytes(of: paths[0]))
    let data: [[UInt8]] = [0, 4, 5, 6, 200].map { [first, $0, 0, 2, 0xFF, 0x7F] }
    let count: [UInt8] = [first, 0xF8, 0x1F, 2, 0xFF, 0xFF]
    let changes = header + data + [count, [first, 0, 0, 0xF0], [first, 0, 0, 0xE0], []]
    return changes.flatMap { change in (0..<UInt8(4)).map { [$0] + change } }
  }

  private static func dataPage(of segment: [UInt8]) -> UInt8 {
    UInt8(1 + Int(segment.word32(at: 84)).roundedUp(toMultipleOf: pageBytes) / pageBytes)
  }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    let flags = input.first ?? 0
    let path = paths[Int(flags >> 2) % paths.count]
    let original = store.bytes(of: path)
    var segment = changed(original, by: input.dropFirst())
    if flags & 1 != 0 { segment = ForgedSegment.withCorrectChecksums(segment, id: original.id(at: 16)) }
    var image = store.image(with: segment, in: path)
    if flags & 2 != 0, segment.count >= 96 {
      let pages = segment.word32(at: 72) &+ segment.word32(at: 76)
      let manifest = ForgedManifest.withSegment(
        original.id(at: 16), pages: min(pages, 1 << 20), size: segment.count,
        store.bytes(of: SampleStore.manifest))
      image.replace(SampleStore.manifest, with: PagedBytes(manifest))
    }
    return try StoreExercise.run(on: image, of: store, flags & 3 == 0 ? .checksums : .nothing)
  }

  private func changed(_ original: [UInt8], by changes: ArraySlice<UInt8>) -> [UInt8] {
    var bytes = original
    var reader = changes
    while reader.count >= 4 {
      let head = Array(reader.prefix(4))
      let data = Array(reader.dropFirst(4).prefix(Int(head[3] & 15)))
      reader = reader.dropFirst(4 + data.count)
      let pages = max(1, bytes.count / Self.pageBytes)
      let inPage = (Int(head[1]) | Int(head[2]) << 8) % Self.pageBytes
      let place = Int(head[0]) % pages * Self.pageBytes + inPage
      guard place < bytes.count else { continue }
      switch head[3] >> 4 {
      case 14: bytes.removeLast(bytes.count - place)
      case 15: for index in place..<min(bytes.count, place - inPage + Self.pageBytes) { bytes[index] = 0 }
      default:
        for (index, byte) in data.enumerated() where place + index < bytes.count {
          bytes[place + index] = byte
        }
      }
    }
    return bytes
  }
}

enum ForgedSegment {
  static let pageBytes = 8192
  static let headerBytes = 160

  /// Corrects every checksum, even if fields of the header are forged.
  static func withCorrectChecksums(_ segment: [UInt8], id: RandomID) -> [UInt8] {
    guard segment.count >= pageBytes else { return segment }
    var bytes = segment
    let dictionaryBytes = Int(bytes.word32(at: 84))
    if pageBytes + dictionaryBytes <= bytes.count {
      let range = pageBytes..<pageBytes + dictionaryBytes
      bytes.set(bytes.checksum(of: range, file: id, offset: UInt64(pageBytes)), at: 88)
    }
    var offset = pageBytes + dictionaryBytes.roundedUp(toMultipleOf: pageBytes)
    for _ in 0..<min(Int(bytes.word32(at: 72)), bytes.count / pageBytes) {
      correctPageChecksum(at: offset, count: 1, &bytes, id)
      offset += pageBytes
    }
    correctRunChecksums(at: offset, &bytes, id)
    bytes.set(bytes.checksum(ofHeader: 0..<headerBytes - 4), at: headerBytes - 4)
    return bytes
  }

  private static func correctRunChecksums(at start: Int, _ bytes: inout [UInt8], _ id: RandomID) {
    let table = start + Int(bytes.word32(at: 76)) * pageBytes
    let runs = Int(bytes.word32(at: 80))
    guard table + 4 * runs <= bytes.count else { return }
    var offset = start
    for run in 0..<runs {
      let pages = Int(bytes.word32(at: table + 4 * run))
      correctPageChecksum(at: offset, count: pages, &bytes, id)
      offset += pages * pageBytes
    }
    bytes.set(bytes.checksum(of: table..<table + 4 * runs, file: id, offset: UInt64(table)), at: 92)
  }

  static func correctPageChecksum(at offset: Int, count: Int, _ bytes: inout [UInt8], _ id: RandomID) {
    let end = offset + count * pageBytes
    guard count > 0, end <= bytes.count else { return }
    bytes.set(bytes.checksum(of: offset..<end - 4, file: id, offset: UInt64(offset)), at: end - 4)
  }
}
