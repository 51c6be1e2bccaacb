// The record codec on bytes that nobody vouches for: it throws or decodes, and never more than that.

import ByteStore
import Testing

@testable import DocumentStore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

@Suite struct HostileRecordTests {
  private let place = path("rooms", "eros")

  private func isRecord(_ bytes: [UInt8]) -> Bool {
    (try? StoredDocument(path: place, record: bytes)) != nil
  }

  private func randomRecord(_ dice: inout Dice) -> [UInt8] {
    RecordCodec.encode(
      createTime: dice.pick(Values.timestamps), updateTime: dice.pick(Values.timestamps),
      fields: Values.fields(&dice))
  }

  // MARK: Damage at random

  @Test func everyTruncationIsRefused() throws {
    var dice = Dice(seed: 21)
    for _ in 0..<200 {
      let record = randomRecord(&dice)
      for count in 0..<record.count {
        try #require(!isRecord(Array(record.prefix(count))), "\(count) bytes of \(record.hexadecimal)")
      }
    }
  }

  @Test func anythingBehindTheEndIsRefused() {
    var dice = Dice(seed: 22)
    for _ in 0..<300 {
      let record = randomRecord(&dice)
      #expect(!isRecord(record + [0]))
      #expect(!isRecord(record + record))
    }
  }

  /// There is one record for each document, but for the reserved bytes: a second spelling of the same
  /// fields would mean that a part of the bytes was taken on trust.
  @Test func aDamagedRecordIsRefusedOrIsTheRecordOfWhatItDecodesTo() throws {
    let seed: UInt64 = 23
    var dice = Dice(seed: seed)
    let records = (0..<600).map { _ in randomRecord(&dice) }.filter { $0.count < 500 }
    var accepted = 0
    for round in 0..<200_000 {
      let damaged = dice.pick(records).damaged(&dice, splicing: dice.pick(records))
      guard let document = try? StoredDocument(path: place, record: damaged) else { continue }
      accepted += 1
      try #require(
        document.record.dropFirst(8) == damaged.dropFirst(8), "seed \(seed), round \(round)")
      try #require(document.fields.depth <= 20, "seed \(seed), round \(round)")
    }
    #expect((2000...198_000).contains(accepted), "\(accepted) of 200,000 damaged records were accepted")
  }

  @Test func noiseIsRefusedOrIsARecord() throws {
    var dice = Dice(seed: 24)
    for _ in 0..<20_000 {
      let noise = (0..<dice.roll(40)).map { _ in UInt8(dice.oneIn(2) ? dice.roll(14) : dice.roll(256)) }
      let record = Raw.record(Raw.integer(dice.roll(3)) + noise)
      guard let document = try? StoredDocument(path: place, record: record) else { continue }
      try #require(document.record == record, "\(record.hexadecimal)")
    }
  }

  // MARK: Faults on purpose

  /// What the tests below vary is accepted as it stands.
  @Test func theRawMaterialIsSound() {
    #expect(isRecord(Raw.record(Raw.map([] as [Raw.Field]))))
    #expect(isRecord(Raw.record(Raw.map([("a", [0]), ("b", Raw.array([[0], [1]]))]))))
    #expect(isRecord(Raw.record(Raw.map([("m", Raw.inner(Raw.map([("a", [2])])))]))))
    #expect(isRecord(Raw.field(Raw.string("a"))))
    #expect(isRecord(Raw.field(Raw.reference("a/b"))))
    #expect(isRecord(Raw.field([11] + Raw.integer(1) + Raw.double(1))))
    #expect(isRecord(Raw.field([9] + Raw.double(90) + Raw.double(-180))))
    #expect(isRecord(Raw.field(Raw.nest(20))))
    #expect(isRecord(Raw.record(Raw.map([(String(repeating: "n", count: 1500), [0])]))))
  }

  @Test func anotherFormIsRefused() {
    for form in UInt8(1)...255 {
      #expect(!isRecord([form] + Raw.record(Raw.integer(0)).dropFirst()))
    }
  }

  @Test func timesOutsideTheCalendarAreRefused() {
    let outside: [Int64] = [
      -62_135_596_800_000_001, 253_402_300_800_000_000, .min, .max, .min + 1, .max - 1,
    ]
    for time in outside {
      #expect(!isRecord(Raw.record(Raw.integer(0), made: time)))
      #expect(!isRecord(Raw.record(Raw.integer(0), changed: time)))
      #expect(!isRecord(Raw.field([5] + Raw.long(time))))
    }
    for time: Int64 in [-62_135_596_800_000_000, 253_402_300_799_999_999] {
      #expect(isRecord(Raw.record(Raw.integer(0), made: time, changed: time)))
      #expect(isRecord(Raw.field([5] + Raw.long(time))))
    }
  }

  @Test func namesOutOfOrderAndRepeatedNamesAreRefused() {
    for names in [
      ["b", "a"], ["a", "a"], ["", ""], ["a\0", "a"], ["aa", "a"], ["a", "c", "b"], ["a", "b", "b"],
      ["\u{1F600}", "\u{FFFF}"], ["\u{E9}", "e\u{301}"],
    ] {
      let map = Raw.map(names.map { (name: $0, value: [0]) })
      #expect(!isRecord(Raw.record(map)), "\(names)")
      #expect(!isRecord(Raw.field(Raw.inner(map))), "\(names), one floor up")
      #expect(!isRecord(Raw.field(Raw.array([Raw.inner(map)]))), "\(names), two floors up")
    }
    #expect(isRecord(Raw.record(Raw.map([("e\u{301}", [0]), ("\u{E9}", [0])]))))
  }

  @Test func namesThatAreTooLongOrNoUTF8AreRefused() {
    #expect(!isRecord(Raw.record(Raw.map([(String(repeating: "n", count: 1501), [0])]))))
    for text in Raw.notUTF8 {
      #expect(!isRecord(Raw.record(Raw.map([(name: text, value: [0])]))), "\(text.hexadecimal)")
      #expect(!isRecord(Raw.field([6] + Raw.integer(text.count) + text)), "\(text.hexadecimal)")
    }
  }

  @Test func unknownTagsAreRefused() {
    for tag in UInt8(13)...255 {
      #expect(!isRecord(Raw.field([tag])))
      #expect(!isRecord(Raw.field([tag] + Raw.integer(0))))
      #expect(!isRecord(Raw.field(Raw.array([[tag]]))))
    }
  }

  /// Off by one, and everything that a sign or a product could turn around.
  @Test(arguments: [
    3, 5, 0xFF, 0xFFFF, 0x1FFF_FFFF, 0x2000_0000, 0x2000_0001, 0x2000_0002, 0x3FFF_FFFF, 0x4000_0000,
    0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFC, 0xFFFF_FFFF,
  ])
  func countsAndSizesThatAreNotTrueAreRefused(count: Int) {
    let wrong = Raw.integer(count)
    let four: [UInt8] = [0, 0, 0, 0]
    #expect(!isRecord(Raw.field([6] + wrong + four)), "a string")
    #expect(!isRecord(Raw.field([7] + wrong + four)), "bytes")
    #expect(!isRecord(Raw.field([8] + wrong + Raw.reference("a/b").dropFirst(5))), "a project")
    #expect(!isRecord(Raw.field([11] + wrong + Raw.double(1) + Raw.double(2))), "a vector")
    #expect(!isRecord(Raw.field([10] + Raw.integer(8) + wrong + four)), "elements of an array")
    #expect(!isRecord(Raw.field([10] + wrong + Raw.integer(4) + four)), "the size of an array")
    let fields = Raw.map(["a", "b", "c", "d"].map { (name: $0, value: [0]) }).dropFirst(4)
    #expect(!isRecord(Raw.record(wrong + fields)), "fields of a document")
    #expect(!isRecord(Raw.field(Raw.inner(wrong + fields))), "fields of a map")
    #expect(!isRecord(Raw.field([12] + wrong + Raw.integer(4) + fields)), "the size of a map")
  }

  @Test func aSizeThatDisagreesWithTheContentIsRefused() {
    for (tag, content) in [(UInt8(10), Raw.integer(2) + [0, 0]), (12, Raw.map([("a", [0])]))] {
      let size = content.count
      #expect(isRecord(Raw.field([tag] + Raw.integer(size) + content)))
      #expect(!isRecord(Raw.field([tag] + Raw.integer(size - 1) + content)))
      #expect(!isRecord(Raw.field([tag] + Raw.integer(size + 1) + content)))
      #expect(!isRecord(Raw.field([tag] + Raw.integer(size + 1) + content + [0])))
    }
  }

  @Test func anOffsetThatDoesNotLeadToItsFieldIsRefused() {
    let map = Raw.map([("a", [0]), ("b", [1])])
    for (index, right) in [(4, UInt8(12)), (8, 16)] {
      #expect(map[index] == right)
      for wrong: UInt8 in [0, 4, right - 1, right + 1, right ^ 28, 255] {
        var bent = map
        bent[index] = wrong
        #expect(!isRecord(Raw.record(bent)), "\(wrong) in place of \(right)")
        #expect(!isRecord(Raw.field(Raw.inner(bent))), "\(wrong) in place of \(right), one floor up")
      }
    }
  }

  @Test func placesThatAreNotOnEarthAreRefused() {
    let (pole, meridian) = (90.0.nextUp, 180.0.nextUp)
    for (latitude, longitude) in [
      (pole, 0), (-pole, 0), (0, meridian), (0, -meridian), (.nan, 0), (0, .nan), (.infinity, 0),
      (0, -.infinity),
    ] {
      #expect(!isRecord(Raw.field([9] + Raw.double(latitude) + Raw.double(longitude))))
    }
  }

  @Test(arguments: ["", "/", "a", "a/b/c", "a/", "/a/b", "a/b/", "a//b", "a/.", "a/..", "a/__b__"])
  func referencesToWhatIsNoDocumentAreRefused(text: String) {
    #expect(!isRecord(Raw.field(Raw.reference(text))))
  }

  // MARK: Depth and memory

  @Test(arguments: [21, 22, 100, 1000, 30_000]) func deeperNestsAreRefusedByCounting(depth: Int) {
    #expect(!isRecord(Raw.field(Raw.nest(depth))))
  }

  #if os(Linux)
  /// Twenty floors, each of which claims as many elements as there is room for, in a process that may
  /// take no more than 256 bytes for each byte of the record.
  @Test func hostileCountsTakeNoMemory() async {
    await #expect(processExitsWith: .success) {
      let zeros = [UInt8](repeating: 0, count: 1 << 20)
      var arrays = zeros
      var maps = zeros
      for _ in 0..<20 {
        arrays = [10] + Raw.integer(arrays.count + 4) + Raw.integer(arrays.count) + arrays
        maps = [12] + Raw.integer(maps.count + 4) + Raw.integer(maps.count / 8) + maps
      }
      let records = [Raw.field(arrays), Raw.field(maps)]
      var limit = rlimit()
      limit.rlim_cur = rlim_t(addressSpaceBytes() + 256 << 20)
      limit.rlim_max = limit.rlim_cur
      precondition(setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0)
      for record in records {
        precondition((try? StoredDocument(path: path("a", "b"), record: record)) == nil)
      }
    }
  }
  #endif
}

#if os(Linux)
/// What this process has reserved so far.
private func addressSpaceBytes() -> Int {
  let file = open("/proc/self/statm", O_RDONLY)
  defer { _ = close(file) }
  var text = [UInt8](repeating: 0, count: 64)
  let count = read(file, &text, text.count)
  let pages = String(decoding: text.prefix(max(count, 0)), as: UTF8.self).split(separator: " ").first
  return (pages.flatMap { Int($0) } ?? 0) * sysconf(Int32(_SC_PAGESIZE))
}
#endif

/// Records put together from the grammar, without the encoder and its good manners.
private enum Raw {
  typealias Field = (name: String, value: [UInt8])

  static let notUTF8: [[UInt8]] = [
    [0x80], [0xC3], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80],
    [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF], [0x61, 0xE2, 0x82],
  ]

  static func record(_ map: [UInt8], made: Int64 = 0, changed: Int64 = 0) -> [UInt8] {
    [UInt8](repeating: 0, count: 8) + long(made) + long(changed) + map
  }

  /// A record with the one field "f".
  static func field(_ value: [UInt8]) -> [UInt8] { record(map([(name: "f", value: value)])) }

  static func map(_ fields: [Field]) -> [UInt8] {
    map(fields.map { (name: Array($0.name.utf8), value: $0.value) })
  }

  static func map(_ fields: [(name: [UInt8], value: [UInt8])]) -> [UInt8] {
    var offsets: [UInt8] = []
    var entries: [UInt8] = []
    for (name, value) in fields {
      offsets += integer(4 + 4 * fields.count + entries.count)
      entries += integer(name.count).prefix(2) + name + value
    }
    return integer(fields.count) + offsets + entries
  }

  static func inner(_ map: [UInt8]) -> [UInt8] { [12] + integer(map.count) + map }

  static func array(_ elements: [[UInt8]]) -> [UInt8] {
    let content = integer(elements.count) + elements.joined()
    return [10] + integer(content.count) + content
  }

  /// Arrays in arrays, `depth` of them.
  static func nest(_ depth: Int) -> [UInt8] {
    let floors = (0..<depth).map { floor in
      let above = 9 * (depth - floor - 1)
      return [10] + integer(4 + above) + integer(above == 0 ? 0 : 1)
    }
    return Array(floors.joined())
  }

  static func string(_ text: String) -> [UInt8] { [6] + sized(text) }

  static func reference(_ path: String) -> [UInt8] { [8] + sized("p") + sized("d") + sized(path) }

  static func double(_ value: Double) -> [UInt8] { long(Int64(bitPattern: value.bitPattern)) }

  static func long(_ value: Int64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * Int64($0))) }
  }

  static func integer(_ value: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  private static func sized(_ text: String) -> [UInt8] { integer(text.utf8.count) + Array(text.utf8) }
}

extension StoredMap {
  fileprivate var depth: Int { entries.map(\.value.depth).max() ?? 0 }
}

extension StoredValue {
  /// Floors of maps and arrays.
  fileprivate var depth: Int {
    switch self {
    case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
    case .map(let map): 1 + map.depth
    default: 0
    }
  }
}
