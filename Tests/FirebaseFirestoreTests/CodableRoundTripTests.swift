// Random values, encoded and decoded again by every entry point of the coders.

import DocumentStore
import FirebaseCore
import FirebaseFirestore
import Testing

/// A reproducible random source.
private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

extension StoredValue {
  fileprivate static func random(depth: Int, inArray: Bool, _ random: inout SplitMix) -> StoredValue {
    switch Int.random(in: 0..<(depth > 0 ? 14 : 10), using: &random) {
    case 0: .null
    case 1: .boolean(.random(using: &random))
    case 2:
      .integer(
        [0, 1, -1, .min, .max, .random(in: .min ... .max, using: &random)].randomElement(using: &random) ?? 0)
    case 3: .double(Double(bitPattern: random.next()))
    case 4:
      .double([0, -0.0, 1, .nan, .infinity, 0.1, .leastNonzeroMagnitude].randomElement(using: &random) ?? 0)
    case 5:
      StoredTimestamp(
        seconds: .random(in: StoredTimestamp.secondsRange, using: &random),
        nanoseconds: .random(in: 0..<1_000_000_000, using: &random)
      ).map { .timestamp($0) } ?? .null
    case 6:
      .bytes((0..<Int.random(in: 0..<5, using: &random)).map { _ in .random(in: 0...255, using: &random) })
    case 7:
      StoredGeoPoint(
        latitude: .random(in: -90...90, using: &random), longitude: .random(in: -180...180, using: &random)
      ).map { .geoPoint($0) } ?? .null
    case 8: .vector([.random(in: -1...1, using: &random), .nan])
    case 9: .string(nastyStrings.randomElement(using: &random) ?? "")
    case 10, 11:
      inArray
        ? .map(.random(depth: depth - 1, &random))
        : .array(
          (0..<Int.random(in: 0..<4, using: &random)).map { _ in
            .random(depth: depth - 1, inArray: true, &random)
          })
    case 12: .reference(Database.room.stored)
    default: .map(.random(depth: depth - 1, &random))
    }
  }
}

extension StoredMap {
  fileprivate static func random(depth: Int, _ random: inout SplitMix) -> StoredMap {
    var map = StoredMap()
    // Names that are canonically equal are used once, because a Swift dictionary has one entry for them.
    var used: Set<String> = []
    for _ in 0..<Int.random(in: 0..<8, using: &random) {
      let name = nastyStrings.randomElement(using: &random) ?? ""
      guard !name.isEmpty, used.insert(name).inserted else { continue }
      map[name] = .random(depth: depth, inArray: false, &random)
    }
    return map
  }
}

/// A recursive model with fields of most kinds.
private struct Model: Codable, Equatable {
  var boolean: Bool
  var integer: Int
  var wide: UInt64
  var narrow: Int8
  var double: Double
  var float: Float
  var string: String
  var date: Date
  var data: Data
  var time: Timestamp
  var point: GeoPoint
  var vector: VectorValue
  var reference: DocumentReference
  var maybe: String?
  @ExplicitNull var null: Int?
  var list: [Int16?]
  var words: [String: Double]
  var models: [Model]
  var named: [String: Model]
  var child: [Model]?
  var aURLName: Int
  var éAccent: Int

  static func random(depth: Int, _ random: inout SplitMix) -> Model {
    func models(_ random: inout SplitMix) -> [Model] {
      guard depth > 0 else { return [] }
      return (0..<Int.random(in: 0..<3, using: &random)).map { _ in .random(depth: depth - 1, &random) }
    }
    func string(_ random: inout SplitMix) -> String { nastyStrings.randomElement(using: &random) ?? "" }
    func micros(_ random: inout SplitMix) -> Int64 { .random(in: -1 << 50...1 << 50, using: &random) }
    let time = StoredTimestamp(microseconds: micros(&random)).map { Timestamp($0) }
    return Model(
      boolean: .random(using: &random), integer: .random(in: .min ... .max, using: &random),
      wide: .random(in: 0...UInt64(Int64.max), using: &random),
      narrow: .random(in: .min ... .max, using: &random), double: .random(in: -1e9...1e9, using: &random),
      float: .random(in: -1e9...1e9, using: &random), string: string(&random),
      date: Date(timeIntervalSince1970: Double(Int32.random(in: .min ... .max, using: &random)) + 0.5),
      data: Data((0..<Int.random(in: 0..<5, using: &random)).map { UInt8($0) }),
      time: time ?? Timestamp(seconds: 0, nanoseconds: 0),
      point: GeoPoint(
        latitude: .random(in: -90...90, using: &random), longitude: .random(in: -180...180, using: &random)),
      vector: VectorValue([.random(in: -1...1, using: &random)]), reference: Database.room,
      maybe: Bool.random(using: &random) ? string(&random) : nil,
      null: Bool.random(using: &random) ? 1 : nil,
      list: [1, nil, .random(in: .min ... .max, using: &random)],
      words: Dictionary(
        nastyStrings.dropFirst().shuffled(using: &random).prefix(3).map { ($0, 0.5) },
        uniquingKeysWith: { first, _ in first }),
      models: models(&random),
      named: Dictionary(
        models(&random).map { ("k\($0.integer)", $0) }, uniquingKeysWith: { first, _ in first }),
      child: Bool.random(using: &random) ? models(&random) : nil, aURLName: 1, éAccent: 2)
  }
}

/// Fields whose names are data, decoded in the requested order. Some requested names are absent.
private struct Names: Codable {
  struct Name: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  var entries: [(name: String, value: Int)]

  init(entries: [(name: String, value: Int)]) { self.entries = entries }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Name.self)
    let asked = decoder.userInfo.values.first as? [String] ?? []
    entries = try asked.filter { container.contains(Name($0)) }.map { name in
      (name, try container.decode(Int.self, forKey: Name(name)))
    }
    let absent = asked.filter { !container.contains(Name($0)) }
    #expect(try absent.filter { try container.decodeIfPresent(Int.self, forKey: Name($0)) != nil } == [])
    #expect(container.allKeys.count == entries.count)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Name.self)
    for (name, value) in entries { try container.encode(value, forKey: Name(name)) }
  }
}

@Suite struct CodableRoundTripTests {
  private let encoder = Firestore.Encoder()
  private let decoder = Firestore.Decoder()

  @Test(arguments: 0..<200) func storedFieldsSurviveDictionaries(_ seed: UInt64) throws {
    var random = SplitMix(state: seed)
    let map = StoredMap.random(depth: 4, &random)
    let dictionary = UserData.dictionary(from: map, in: Database.firestore)
    let fields = try UserData.fields(from: dictionary, in: Database.firestore)
    #expect(fields.fields == map, "seed \(seed)")
    #expect(fields.sentinels.isEmpty)
  }

  @Test(arguments: 0..<60) func modelsSurviveEveryEntryPoint(_ seed: UInt64) throws {
    var random = SplitMix(state: seed)
    let model = Model.random(depth: 2, &random)
    let fields = try encoder.encodeFields(model, in: Database.firestore).fields
    #expect(
      try decoder.decodeFields(Model.self, from: fields, reference: Database.room) == model, "seed \(seed)")
    let dictionary = try encoder.encode(model)
    #expect(try decoder.decode(Model.self, from: dictionary) == model, "seed \(seed)")
    #expect(try UserData.fields(from: dictionary, in: nil).fields == fields, "seed \(seed)")
    let read = UserData.dictionary(from: fields, in: Database.firestore)
    #expect(try decoder.decode(Model.self, from: read) == model, "seed \(seed)")
  }

  struct Lists: Codable, Equatable {
    var texts: [String]
    var numbers: [Int]
    var doubles: [Double]
    var some: [String]?
    var none: [Int]?
    var name: String?
    var count: Int?
    var share: Double?
    var isOpen: Bool?
  }

  @Test func listsAndOptionalFieldsDecodeFromStoredRecords() throws {
    let document = Firestore.memory().document("lists/one")
    let lists = Lists(
      texts: ["", "two"], numbers: [0, -1], doubles: [0.5, -0.0], some: [], none: nil, name: "n", count: 3,
      share: 0.25, isOpen: false)
    try document.setData(from: lists)
    #expect(try document.read(as: Lists.self) == lists)
    // Arrays with elements of mixed types take another path through the decoder.
    let mixed: [String: Any] = [
      "doubles": [1, 0.5] as [Any], "numbers": [1.0, 2] as [Any], "name": NSNull(), "share": 2,
    ]
    document.setData(mixed, merge: true)
    let read = try document.read(as: Lists.self)
    #expect(read.doubles == [1, 0.5] && read.numbers == [1, 2] && read.name == nil && read.share == 2)
    var accepted: [String] = []
    for wrong in [["texts": ["a", 1] as [Any]], ["numbers": [0.5]], ["some": ["a", NSNull()] as [Any]]] {
      document.setData(wrong, merge: true)
      do {
        _ = try document.read(as: Lists.self)
        accepted.append("\(wrong)")
      } catch is DecodingError {}
      try document.setData(from: lists)
    }
    #expect(accepted == [])
  }

  @Test(arguments: 0..<50) func fieldNamesAreComparedByTheirBytes(_ seed: UInt64) throws {
    var random = SplitMix(state: seed)
    let names = nastyStrings.filter { !$0.isEmpty }.shuffled(using: &random)
    let used = names.prefix(Int.random(in: 0...names.count, using: &random)).enumerated().map { ($1, $0) }
    let fields = try encoder.encodeFields(Names(entries: used)).fields
    #expect(fields == StoredMap(used.map { ($0, .integer(Int64($1))) }), "seed \(seed)")

    decoder.userInfo = [try #require(CodingUserInfoKey(rawValue: "names")): names.shuffled(using: &random)]
    let read = try decoder.decodeFields(Names.self, from: fields, reference: nil).entries
    let again = try encoder.encodeFields(Names(entries: read)).fields
    #expect(again == fields, "seed \(seed)")
  }

  @Test func nastyStringsSurviveByteForByte() throws {
    var wrong: [String] = []
    for string in nastyStrings {
      let value = try #require(try stored(string))
      let field = try decoder.field(String.self, from: value)
      let dictionary = try encoder.encode(Box(value: string))
      let boxed = try decoder.decode(Box<String>.self, from: dictionary).value
      if value != .string(string) || Array(field.utf8) != Array(string.utf8)
        || Array(boxed.utf8) != Array(string.utf8)
      {
        wrong.append("\(string.debugDescription): \(value), \(Array(field.utf8)), \(Array(boxed.utf8))")
      }
    }
    #expect(wrong == [])
  }

  @Test func extremeNumbersSurvive() throws {
    var wrong: [String] = []
    for number in [Int64.min, .max, 0, -1, 1 << 53 + 1] {
      let read = try decoder.field(Int64.self, from: try #require(try stored(number)))
      let back = try decoder.field(Int64.self, from: try #require(try encoder.field(number)))
      if read != number || back != number { wrong.append("\(number): \(read), \(back)") }
    }
    for number in [Double.greatestFiniteMagnitude, .leastNonzeroMagnitude, -0.0, 0.1, 1e22] {
      let back = try decoder.field(Double.self, from: try #require(try encoder.field(number)))
      if back.bitPattern != number.bitPattern { wrong.append("\(number): \(back)") }
    }
    #expect(wrong == [])
  }
}
