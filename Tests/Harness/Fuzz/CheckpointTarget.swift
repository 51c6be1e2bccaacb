// Fuzzes checkpoints with changes to a valid one. An input is a list of changes:
//
//   input  := flags:u8 change*
//   change := how:u8 region:u8 word:u16 argument:u64
//
// Flag 1 corrects the checksums, flag 2 the slot counts, flag 4 the size that the manifest records.

internal import ByteStore

struct CheckpointTarget: FuzzTarget {
  static let name = "checkpoint"
  private static let changeBytes = 12
  private let store: SampleStore
  private let path: String

  init(seed: UInt64) {
    store = .wide(seed: seed)
    path = store.paths("checkpoint")[0]
  }

  var seeds: [[UInt8]] {
    var seeds: [[UInt8]] = [[7], [6]]
    func add(_ how: ForgedCheckpoint.Change, _ region: Int, _ word: Int, _ argument: UInt64) {
      var change: [UInt8] = [how.rawValue, UInt8(region)]
      change.append(littleEndian: UInt16(word))
      change.append(littleEndian: argument)
      seeds.append([7] + change)
    }
    for region in 0..<6 {
      for argument in [0, 1, .max, 0xFFFF_FFFF_0000_0000, 0x8000_0000_0000_0001] as [UInt64] {
        add(.set, region, 0, argument)
        add(.setUsed, region, 1, argument)
      }
      add(.copyUsed, region, 1, 1 << 8 | 1)
      for step in 0..<2 { add(.fillPage, region, step, UInt64(step)) }
      add(.insertPage, region, 0, 0)
      add(.removePage, region, 0, 0)
    }
    for field in ForgedCheckpoint.fields.indices {
      for argument in [0, 1, .max, .max - 1, 1 << 31] as [UInt64] { add(.header, field, 0, argument) }
    }
    return seeds
  }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    let flags = input.first ?? 0
    var forged = ForgedCheckpoint(store.bytes(of: path))
    var changes = input.dropFirst()
    while changes.count >= Self.changeBytes {
      let bytes = Array(changes.prefix(Self.changeBytes))
      changes = changes.dropFirst(Self.changeBytes)
      forged.apply(
        bytes[0], region: Int(bytes[1]), word: Int(bytes[2]) | Int(bytes[3]) << 8, bytes.word64(at: 4))
    }
    if flags & 2 != 0 { forged.countSlots() }
    let file = forged.encoded(withCorrectChecksums: flags & 1 != 0)
    var image = store.image(with: file, in: path)
    if flags & 4 != 0 {
      let manifest = ForgedManifest.withCheckpoint(of: file.count, store.bytes(of: SampleStore.manifest))
      image.replace(SampleStore.manifest, with: PagedBytes(manifest))
    }
    return try StoreExercise.run(on: image, of: store, flags & 1 == 0 ? .checksums : .nothing)
  }
}

/// A checkpoint parsed into its parts.
struct ForgedCheckpoint {
  enum Change: UInt8 {
    case set, copy, exclusiveOr, add
    /// Like the changes in the first line, but applied to a word that is not zero.
    case setUsed, setUsedLow, setUsedHigh, copyUsed
    case header
    case insertPage, removePage
    case zeroPage
    /// Fills a page up to the maximum number of slots. The added slots have the same leading bits as an
    /// existing slot.
    case fillPage
  }

  /// The offsets and sizes of header fields: number, log length, sequence, stamp, keys, ordinals, depth,
  /// number of regions, and the page counts of two regions.
  static let fields = [
    (48, 8), (88, 8), (96, 8), (104, 8), (112, 8), (120, 8), (128, 4), (12, 4), (144, 8), (160, 8),
  ]
  private static let pageBytes = 4096
  private static let payloadBytes = 4088
  private static let slotsPerPage = 510
  private static let slotsUsedMax = 448
  private static let pagesMax = 64

  private struct Region {
    var kind: UInt32
    var pages: [[UInt8]]
  }

  private var header: [UInt8]
  private var regions: [Region] = []
  private var headerChanges: [(offset: Int, bytes: Int, value: UInt64)] = []

  init(_ file: [UInt8]) {
    header = Array(file.prefix(Self.pageBytes))
    var offset = Self.pageBytes
    for index in 0..<Int(header.word32(at: 12)) {
      let kind = header.word32(at: 136 + 16 * index)
      let count = Int(header.word64(at: 144 + 16 * index))
      let pages = (0..<count).map { page in
        Array(file[offset + page * Self.pageBytes..<offset + (page + 1) * Self.pageBytes])
      }
      offset += count * Self.pageBytes
      regions.append(Region(kind: kind, pages: pages))
    }
  }

  mutating func apply(_ how: UInt8, region: Int, word: Int, _ argument: UInt64) {
    guard let change = Change(rawValue: how % (Change.fillPage.rawValue + 1)) else { return }
    let region = change == .header ? region : region % regions.count
    switch change {
    case .set: update(region, word) { _ in argument }
    case .copy:
      let copy = value(Int(argument & 7), Int(argument >> 8 & 0xFFFF)) ?? 0
      update(region, word) { _ in copy }
    case .exclusiveOr: update(region, word) { $0 ^ argument }
    case .add: update(region, word) { $0 &+ argument }
    case .setUsed: updateUsed(region, word) { _ in argument }
    case .setUsedLow: updateUsed(region, word) { $0 & ~0xFFFF_FFFF | argument & 0xFFFF_FFFF }
    case .setUsedHigh: updateUsed(region, word) { $0 & 0xFFFF_FFFF | argument << 32 }
    case .copyUsed: copyUsed(to: region, word, from: Int(argument & 7), Int(argument >> 8 & 0xFFFF))
    case .header:
      let (offset, bytes) = Self.fields[region % Self.fields.count]
      headerChanges.append((offset, bytes, argument))
    case .insertPage: insertPage(region, copy: argument & 1 == 1)
    case .removePage: if !regions[region].pages.isEmpty { regions[region].pages.removeLast() }
    case .zeroPage: zeroPage(region, word)
    case .fillPage: fillPage(region, word, UInt32(truncatingIfNeeded: argument))
    }
  }

  // MARK: Words

  private func wordCount(_ region: Int) -> Int { regions[region].pages.count * Self.payloadBytes / 8 }

  private func location(_ region: Int, _ word: Int) -> (page: Int, offset: Int)? {
    guard wordCount(region) > 0 else { return nil }
    let (page, index) = (word % wordCount(region)).quotientAndRemainder(dividingBy: Self.payloadBytes / 8)
    return (page, 8 * index)
  }

  private func value(_ region: Int, _ word: Int) -> UInt64? {
    let region = region % regions.count
    return location(region, word).map { regions[region].pages[$0.page].word64(at: $0.offset) }
  }

  private mutating func update(_ region: Int, _ word: Int, _ body: (UInt64) -> UInt64) {
    guard let location = location(region, word) else { return }
    let old = regions[region].pages[location.page].word64(at: location.offset)
    regions[region].pages[location.page].set(body(old), at: location.offset)
  }

  private func used(_ region: Int) -> [Int] { (0..<wordCount(region)).filter { value(region, $0) != 0 } }

  private mutating func updateUsed(_ region: Int, _ number: Int, _ body: (UInt64) -> UInt64) {
    let used = used(region)
    guard !used.isEmpty else { return }
    update(region, used[number % used.count], body)
  }

  /// Copies a word that is not zero to the first word that is zero, so that nothing is overwritten.
  private mutating func copyUsed(to region: Int, _ word: Int, from source: Int, _ number: Int) {
    let source = source % regions.count
    let used = used(source)
    guard !used.isEmpty, let copy = value(source, used[number % used.count]) else { return }
    let free = (word..<word + wordCount(region)).first { value(region, $0) == 0 }
    update(region, free ?? word) { _ in copy }
  }

  mutating func setLocation(of ordinal: UInt32, _ body: (UInt64) -> UInt64) {
    guard let region = regions.firstIndex(where: { $0.kind == 3 }) else { return }
    update(region, Int(ordinal), body)
  }

  // MARK: Pages

  private mutating func insertPage(_ region: Int, copy: Bool) {
    guard regions[region].pages.count < Self.pagesMax else { return }
    let zeros = [UInt8](repeating: 0, count: Self.pageBytes)
    regions[region].pages.append(copy ? regions[region].pages.last ?? zeros : zeros)
  }

  private mutating func zeroPage(_ region: Int, _ page: Int) {
    guard !regions[region].pages.isEmpty else { return }
    regions[region].pages[page % regions[region].pages.count] = [UInt8](repeating: 0, count: Self.pageBytes)
  }

  private mutating func fillPage(_ region: Int, _ page: Int, _ step: UInt32) {
    guard !regions[region].pages.isEmpty else { return }
    let page = page % regions[region].pages.count
    let words = (0..<Self.slotsPerPage).map { regions[region].pages[page].word64(at: 8 * $0) }
    guard let model = words.first(where: { $0 != 0 }) else { return }
    var ordinal = UInt32(truncatingIfNeeded: model)
    var used = words.count { $0 != 0 }
    for index in words.indices where words[index] == 0 && used < Self.slotsUsedMax {
      ordinal = ordinal &+ step
      used += 1
      regions[region].pages[page].set(model & ~0xFFFF_FFFF | UInt64(ordinal), at: 8 * index)
    }
  }

  /// Corrects the slot count of each page.
  mutating func countSlots() {
    for index in regions.indices where regions[index].kind == 2 {
      for page in regions[index].pages.indices {
        let bytes = regions[index].pages[page]
        let used = (0..<Self.slotsPerPage).count { bytes.word64(at: 8 * $0) != 0 }
        regions[index].pages[page].set(UInt64(used), at: 8 * Self.slotsPerPage)
      }
    }
  }

  /// A page, identified by its region and its position in the region.
  struct Page {
    let region: Int
    let page: Int
    let payload: [UInt8]
  }

  /// Returns the pages of the regions with matching kinds.
  func pages(_ isWanted: (UInt32) -> Bool) -> [Page] {
    regions.indices.filter { isWanted(regions[$0].kind) }.flatMap { region in
      regions[region].pages.enumerated().map { page, bytes in
        Page(region: region, page: page, payload: Array(bytes.prefix(Self.payloadBytes)))
      }
    }
  }

  mutating func setPayload(_ payload: [UInt8], of page: Page) {
    let bytes = payload.prefix(Self.payloadBytes)
    regions[page.region].pages[page.page].replaceSubrange(0..<bytes.count, with: bytes)
  }

  // MARK: The file

  func encoded(withCorrectChecksums: Bool) -> [UInt8] {
    let id = header.id(at: 16)
    var head = header
    for (index, region) in regions.enumerated() where withCorrectChecksums {
      head.set(UInt64(region.pages.count), at: 144 + 16 * index)
    }
    for change in headerChanges {
      if change.bytes == 4 {
        head.set(UInt32(truncatingIfNeeded: change.value), at: change.offset)
      } else {
        head.set(change.value, at: change.offset)
      }
    }
    let end = Self.pageBytes - 4
    if withCorrectChecksums { head.set(head.checksum(ofHeader: 0..<end), at: end) }
    var file = head
    for region in regions {
      for var page in region.pages {
        if withCorrectChecksums {
          page.set(region.kind, at: Self.payloadBytes)
          page.set(page.checksum(of: 0..<end, file: id, offset: UInt64(file.count)), at: end)
        }
        file += page
      }
    }
    return file
  }
}
