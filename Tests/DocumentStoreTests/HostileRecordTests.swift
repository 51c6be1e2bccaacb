// The record codec on untrusted bytes: it decodes or throws, and has no other effect.

import ByteStore
import Libc
import Testing

@testable import DocumentStore

@Suite struct HostileRecordTests {
  private let place = path("rooms", "eros")

  private func isRecord(_ bytes: [UInt8]) -> Bool {
    (try? StoredDocument(path: place, record: bytes)) != nil
  }

  private func randomRecord(_ rng: inout SeededRNG) -> [UInt8] {
    RecordCodec.encode(
      createTime: rng.pick(Values.timestamps), updateTime: rng.pick(Values.timestamps),
      fields: Values.fields(&rng))
  }

  // MARK: Damage at random

  /// A record does not contain its own length. Therefore a part of a record may itself be a valid record.
  @Test func partialOrExtendedRecordsAreRefusedOrCanonical() throws {
    var rng = SeededRNG(seed: 21)
    func check(_ bytes: [UInt8]) throws -> Bool {
      guard let document = try? StoredDocument(path: place, record: bytes) else { return true }
      try #require(document.record == bytes, "\(bytes.hexadecimal)")
      return false
    }
    var (parts, refused) = (0, 0)
    var acceptedHeads: [String] = []
    for _ in 0..<200 {
      let record = randomRecord(&rng)
      for count in 0..<record.count where try check(Array(record.prefix(count))) { refused += 1 }
      parts += record.count
      for count in 0..<10 where try !check(Array(record.prefix(count))) {
        acceptedHeads.append("\(count) bytes of \(record.hexadecimal)")
      }
      _ = try check(record + [0])
      _ = try check(record + record)
    }
    #expect(acceptedHeads == [])
    #expect(refused > parts * 3 / 4, "\(refused) of \(parts) parts were refused")
  }

  /// Each document has exactly one valid record. If a second record were accepted, some of its bytes would
  /// not be validated.
  @Test func aDamagedRecordFailsToDecodeOrIsCanonical() throws {
    let seed: UInt64 = 23
    var rng = SeededRNG(seed: seed)
    let records = (0..<600).map { _ in randomRecord(&rng) }.filter { $0.count < 500 }
    var accepted = 0
    for round in 0..<200_000 {
      let damaged = rng.pick(records).damaged(&rng, splicing: rng.pick(records))
      guard let document = try? StoredDocument(path: place, record: damaged) else { continue }
      accepted += 1
      try #require(
        document.record == damaged, "seed \(seed), round \(round)")
      try #require(document.fields.depth <= 20, "seed \(seed), round \(round)")
    }
    #expect((2000...198_000).contains(accepted), "\(accepted) of 200,000 damaged records were accepted")
  }

  @Test func randomBytesAreRefusedOrCanonical() throws {
    var rng = SeededRNG(seed: 24)
    for _ in 0..<20_000 {
      let noise = (0..<rng.roll(40)).map { _ in UInt8(rng.oneIn(2) ? rng.roll(14) : rng.roll(256)) }
      let record = Raw.record([0, UInt8(rng.roll(3))] + noise)
      guard let document = try? StoredDocument(path: place, record: record) else { continue }
      try #require(document.record == record, "\(record.hexadecimal)")
    }
  }

  // MARK: Deliberate faults

  /// The tests below modify these inputs, so the unmodified inputs must be valid.
  @Test func theUnmodifiedInputsAreValid() {
    #expect(isRecord(Raw.record(Raw.map([] as [Raw.Field]))))
    #expect(isRecord(Raw.record(Raw.map([("a", [0]), ("b", Raw.array([[0], [1]]))]))))
    #expect(isRecord(Raw.record(Raw.map([("m", Raw.inner(Raw.map([("a", [2])])))]))))
    #expect(isRecord(Raw.field(Raw.string("a"))))
    #expect(isRecord(Raw.field(Raw.reference("a/b"))))
    #expect(isRecord(Raw.field([11] + Raw.double(1))))
    #expect(isRecord(Raw.field([9] + Raw.double(90) + Raw.double(-180))))
    #expect(isRecord(Raw.field(Raw.nest(20))))
    #expect(isRecord(Raw.record(Raw.map([(String(repeating: "n", count: 1500), [0])]))))
  }

  @Test func unknownRecordVersionIsRefused() {
    let forms = [UInt8(0)] + Array(3...255)
    #expect(forms.filter { isRecord([$0] + Raw.record(Raw.empty).dropFirst()) } == [])
  }

  @Test func timesOutsideTheCalendarAreRefused() {
    let outside: [Int64] = [
      -62_135_596_800_000_001, 253_402_300_800_000_000, .min, .max, .min + 1, .max - 1,
    ]
    #expect(outside.filter { isRecord(Raw.record(Raw.empty, createTime: $0)) } == [])
    #expect(outside.filter { isRecord(Raw.record(Raw.empty, updateTime: $0)) } == [])
    #expect(outside.filter { isRecord(Raw.field([5] + Raw.long($0))) } == [])
    let inside: [Int64] = [-62_135_596_800_000_000, 253_402_300_799_999_999]
    #expect(inside.filter { !isRecord(Raw.record(Raw.empty, createTime: $0, updateTime: $0)) } == [])
    #expect(inside.filter { !isRecord(Raw.record(Raw.empty, updateTime: $0)) } == [])
    #expect(inside.filter { !isRecord(Raw.field([5] + Raw.long($0))) } == [])
    #expect(!isRecord([2] + Raw.long(0) + [0] + Raw.empty), "changed, and not changed")
    #expect(!isRecord([2] + Raw.long(0) + [0x82, 0] + Raw.empty), "a difference in more bytes than it needs")
  }

  @Test func namesOutOfOrderAndRepeatedNamesAreRefused() {
    var accepted: [String] = []
    for names in [
      ["b", "a"], ["a", "a"], ["", ""], ["a\0", "a"], ["aa", "a"], ["a", "c", "b"], ["a", "b", "b"],
      ["\u{1F600}", "\u{FFFF}"], ["\u{E9}", "e\u{301}"],
    ] {
      let map = Raw.map(names.map { (name: $0, value: [0]) })
      if isRecord(Raw.record(map)) { accepted.append("\(names)") }
      if isRecord(Raw.field(Raw.inner(map))) { accepted.append("\(names), one floor up") }
      if isRecord(Raw.field(Raw.array([Raw.inner(map)]))) { accepted.append("\(names), two floors up") }
    }
    #expect(accepted == [])
    #expect(isRecord(Raw.record(Raw.map([("e\u{301}", [0]), ("\u{E9}", [0])]))))
  }

  @Test func namesThatAreTooLongOrNoUTF8AreRefused() {
    #expect(!isRecord(Raw.record(Raw.map([(String(repeating: "n", count: 1501), [0])]))))
    let names = Raw.notUTF8.filter { isRecord(Raw.record(Raw.map([(name: $0, value: [0])]))) }
    #expect(names.map(\.hexadecimal) == [])
    let texts = Raw.notUTF8.filter { isRecord(Raw.field([6] + $0)) }
    #expect(texts.map(\.hexadecimal) == [])
  }

  @Test func unknownTagsAreRefused() {
    let tags = Array(UInt8(13)...255)
    #expect(tags.filter { isRecord(Raw.field([$0])) } == [])
    #expect(tags.filter { isRecord(Raw.field([$0, 0])) } == [])
    #expect(tags.filter { isRecord(Raw.field(Raw.array([[$0]]))) } == [])
  }

  /// Off-by-one values, and values that overflow a sign bit or a product.
  @Test(arguments: [
    0, 1, 3, 5, 0xFF, 0xFFFF, 0x1FFF_FFFF, 0x2000_0000, 0x2000_0001, 0x3FFF_FFFF, 0x4000_0000, 0x7FFF_FFFF,
    0x8000_0000, 0xFFFF_FFFC, 0xFFFF_FFFF, 0x3_FFFF_FFFF, .max,
  ])
  func wrongCountsAndSizesAreRefused(count: Int) {
    let wrong = Raw.varint(UInt64(count))
    if count != 1 {
      #expect(!isRecord(Raw.field([8] + wrong + Raw.reference("a/b").dropFirst(2))), "a project")
    }
    let elements: [UInt8] = [0, 0]
    var accepted: [String] = []
    for code in 0..<4 where count != 2 || code != 0 {
      let head = Raw.varint(UInt64(count) << 2 | UInt64(code))
      if isRecord(Raw.field([10] + head + [1] + elements)) {
        accepted.append("elements of an array, width \(code)")
      }
    }
    if count & 0xFF != 1 {
      #expect(!isRecord(Raw.field([10, 2 << 2] + Raw.number(count, 1) + elements)), "a length")
    }
    #expect(
      !isRecord(Raw.field([10, 2 << 2 | 1] + Raw.number(count, 2) + elements)), "a length of two bytes")
    #expect(!isRecord(Raw.field([10, 2 << 2 | 2] + Raw.number(count, 4) + elements)), "one of four")
    let map = Raw.map(["a", "b", "c", "d"].map { (name: $0, value: [0]) })
    if count != 4 { #expect(!isRecord(Raw.record([0] + wrong + map.dropFirst(2))), "fields of a document") }
    for index in 0..<3 where count & 0xFF != 3 * (index + 1) {
      var wrong = map
      wrong[2 + index] = UInt8(count & 0xFF)
      if isRecord(Raw.record(wrong)) { accepted.append("where field \(index + 1) begins") }
    }
    #expect(accepted == [])
    if count != 1 { #expect(!isRecord(Raw.record([0, 1] + wrong + [UInt8](repeating: 0, count: 3)))) }
  }

  @Test func undefinedShapesAreRefused() {
    let shapes = [0, 1, 2, 62, 63, 64, 4095, 65_535, 0x1_0000, 0xFFFF_FFFF, 1 << 33]
    let accepted = shapes.filter { shape in
      let head = Raw.varint(UInt64(shape + 1) << 2)
      return isRecord(Raw.record(head + [0])) || isRecord(Raw.field([12] + head + [0]))
    }
    #expect(accepted == [])
  }

  @Test func numbersInMoreBytesThanTheyNeedAreRefused() {
    let integers: [[UInt8]] = [[0], [1, 0], [0xFF, 0xFF], [0x80, 0xFF], [1, 0, 0, 0, 0, 0, 0, 0]]
    #expect(integers.filter { isRecord(Raw.field([3] + $0)) } == [], "integers")
    #expect(integers.filter { isRecord(Raw.field([5] + $0)) } == [], "times")
    let doubles: [[UInt8]] = [[0], [0, 0x3F], [0, 0, 0, 0, 0, 0, 0, 0]]
    #expect(doubles.filter { isRecord(Raw.field([4] + $0)) } == [], "doubles")
    let nineBytes = [UInt8](repeating: 1, count: 9)
    let numberTags: [UInt8] = [3, 4, 5]
    #expect(numberTags.filter { isRecord(Raw.field([$0] + nineBytes)) } == [])
    let bareTags: [UInt8] = [0, 1, 2]
    #expect(bareTags.filter { isRecord(Raw.field([$0, 0])) } == [])
    #expect(!isRecord(Raw.record([0x80, 0, 0])), "the head of a map")
    #expect(!isRecord(Raw.record([0, 0x80, 0])), "a count")
    #expect(!isRecord(Raw.field([10, 2 << 2 | 1, 1, 0, 0, 0])), "a table")
  }

  @Test func geoPointsOutOfRangeAreRefused() {
    let (pole, meridian) = (90.0.nextUp, 180.0.nextUp)
    let points: [(Double, Double)] = [
      (pole, 0), (-pole, 0), (0, meridian), (0, -meridian), (.nan, 0), (0, .nan), (.infinity, 0),
      (0, -.infinity),
    ]
    let accepted = points.filter { latitude, longitude in
      isRecord(Raw.field([9] + Raw.double(latitude) + Raw.double(longitude)))
    }
    #expect(accepted.map { latitude, longitude in "\(latitude), \(longitude)" } == [])
  }

  @Test(arguments: ["", "/", "a", "a/b/c", "a/", "/a/b", "a/b/", "a//b", "a/.", "a/..", "a/__b__"])
  func referencesToInvalidPathsAreRefused(text: String) {
    #expect(!isRecord(Raw.field(Raw.reference(text))))
  }

  // MARK: Depth and memory

  @Test(arguments: [21, 22, 100, 1000, 30_000]) func nestingBeyondTheLimitIsRefusedWithoutRecursion(
    depth: Int
  ) {
    #expect(!isRecord(Raw.field(Raw.nest(depth))))
  }

  #if os(Linux)
  /// Decodes twenty nested levels, each of which claims as many elements as fit. The process may use 256
  /// bytes of memory per byte of the record.
  @Test func hostileCountsAllocateNoExcessMemory() async {
    await #expect(processExitsWith: .success) {
      let zeros = [UInt8](repeating: 0, count: 1 << 20)
      var arrays = zeros
      var maps = zeros
      for _ in 0..<20 {
        arrays = [10] + Raw.varint(UInt64(arrays.count / 2) << 2) + arrays
        maps = [12, 0] + Raw.varint(UInt64(maps.count / 2)) + maps
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
/// The address space that this process has reserved.
private func addressSpaceBytes() -> Int {
  let file = open("/proc/self/statm", O_RDONLY)
  defer { _ = close(file) }
  var text = [UInt8](repeating: 0, count: 64)
  let count = read(file, &text, text.count)
  let pages = String(decoding: text.prefix(max(count, 0)), as: UTF8.self).split(separator: " ").first
  return (pages.flatMap { Int($0) } ?? 0) * sysconf(Int32(_SC_PAGESIZE))
}
#endif

/// Builds records from the grammar, without the encoder's checks.
private enum Raw {
  typealias Field = (name: String, value: [UInt8])

  static let notUTF8: [[UInt8]] = [
    [0x80], [0xC3], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80],
    [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF], [0x61, 0xE2, 0x82],
  ]

  /// A map without fields.
  static let empty: [UInt8] = [0, 0]

  static func record(_ map: [UInt8], createTime: Int64 = 0, updateTime: Int64? = nil) -> [UInt8] {
    guard let updateTime, updateTime != createTime else { return [1] + long(createTime) + map }
    let difference = updateTime &- createTime
    return [2] + long(createTime) + varint(UInt64(bitPattern: difference << 1 ^ difference >> 63)) + map
  }

  /// A record with the single field "f".
  static func field(_ value: [UInt8]) -> [UInt8] { record(map([(name: "f", value: value)])) }

  static func map(_ fields: [Field]) -> [UInt8] {
    map(fields.map { (name: Array($0.name.utf8), value: $0.value) })
  }

  /// Builds a map whose table has one-byte numbers. A map of fewer than two fields has no table.
  static func map(_ fields: [(name: [UInt8], value: [UInt8])]) -> [UInt8] {
    var places: [UInt8] = []
    var entries: [UInt8] = []
    for (name, value) in fields {
      if !entries.isEmpty { places.append(UInt8(entries.count)) }
      entries += varint(UInt64(name.count)) + name + value
    }
    return [0] + varint(UInt64(fields.count)) + places + entries
  }

  static func inner(_ map: [UInt8]) -> [UInt8] { [12] + map }

  static func array(_ elements: [[UInt8]]) -> [UInt8] {
    let lengths = elements.dropLast().map { UInt8($0.count) }
    return [10] + varint(UInt64(elements.count) << 2) + lengths + Array(elements.joined())
  }

  /// Nested arrays, `depth` of them.
  static func nest(_ depth: Int) -> [UInt8] {
    Array((0..<depth).map { [10, $0 == depth - 1 ? 0 : 4] }.joined())
  }

  static func string(_ text: String) -> [UInt8] { [6] + Array(text.utf8) }

  static func reference(_ path: String) -> [UInt8] { [8] + sized("p") + sized("d") + Array(path.utf8) }

  static func double(_ value: Double) -> [UInt8] { long(Int64(bitPattern: value.bitPattern)) }

  static func long(_ value: Int64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * Int64($0))) }
  }

  static func number(_ value: Int, _ bytes: Int) -> [UInt8] {
    (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  static func varint(_ value: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(varint: value)
    return bytes
  }

  private static func sized(_ text: String) -> [UInt8] { varint(UInt64(text.utf8.count)) + Array(text.utf8) }
}

extension StoredMap {
  fileprivate var depth: Int { entries.map(\.value.depth).max() ?? 0 }
}

extension StoredValue {
  /// Number of nested maps and arrays.
  fileprivate var depth: Int {
    switch self {
    case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
    case .map(let map): 1 + map.depth
    default: 0
    }
  }
}
