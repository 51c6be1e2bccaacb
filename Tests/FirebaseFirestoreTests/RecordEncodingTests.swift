// The encoders that write records, compared with the encoders that build a tree.

import FirebaseCore
import Foundation
import Testing

@testable import DocumentStore
@testable import FirebaseFirestore

@Suite struct RecordEncodingTests {
  private let encoder: FieldsEncoder

  init() {
    let shapes = ShapeDictionary()
    shapes.begin(from: 0)
    encoder = FieldsEncoder(shapes)
  }

  // MARK: Comparing

  private typealias Fields = FirebaseFirestore.EncodedFields

  private enum Way: Equatable { case record, tree }

  /// Encodes a value several times, so that its maps get shapes, and compares the fields with those of the
  /// tree. Returns how the value was encoded.
  private func encode(_ value: some Encodable, _ comment: Comment? = nil) throws -> Way {
    let tree = try Firestore.Encoder().encodeFields(value)
    var way = Way.record
    for _ in 0..<4 {
      let direct = RecordValueEncoder.fields(
        value, with: encoder, in: RecordValueEncoder.Context(firestore: Database.firestore))
      way = compare(direct, tree, comment)
    }
    return way
  }

  private func encode(_ dictionary: [String: Any], _ comment: Comment? = nil) throws -> Way {
    let tree = try UserData.fields(from: dictionary, in: Database.firestore)
    var way = Way.record
    for _ in 0..<4 {
      way = compare(DictionaryWriter.fields(dictionary, with: encoder, in: Database.firestore), tree, comment)
    }
    return way
  }

  private func compare(_ direct: Fields?, _ tree: Fields, _ comment: Comment?) -> Way {
    guard let direct else { return .tree }
    #expect(direct.fields.record != nil, comment)
    #expect(direct.fields == tree.fields, comment)
    #expect(direct.sentinels.map(\.path) == tree.sentinels.map(\.path), comment)
    #expect(
      direct.sentinels.map { "\($0.value.kind)" } == tree.sentinels.map { "\($0.value.kind)" }, comment)
    let path = Database.room.segments
    if let size = direct.fields.record?.checkedSize, let room = try? DocumentPath(path) {
      let expected = try? DocumentLimits.check(.set(room, tree.fields))
      #expect((try? DocumentLimits.check(.set(room, StoredMap(tree.fields.entries)))) == expected, comment)
      let empty = (try? DocumentLimits.check(.set(room, StoredMap()))) ?? 0
      #expect(empty + size == expected, comment)
    }
    return .record
  }

  // MARK: Dictionaries

  private struct Dictionaries {
    var rng: RandomSource

    private let names = [
      "a", "b", "name", "e\u{301}", "_x", "a.b", "Ångström", "a field with a long name", "0", "zz", "super",
    ]

    mutating func dictionary(_ depth: Int) -> [String: Any] {
      var dictionary: [String: Any] = [:]
      for _ in 0..<rng.roll(7) { dictionary[names[rng.roll(names.count)]] = value(depth) }
      return dictionary
    }

    mutating func value(_ depth: Int, inArray: Bool = false) -> Any {
      switch rng.roll(depth > 0 ? 34 : 26) {
      case 0: return "text"
      case 1: return String(repeating: "long text ", count: rng.roll(60))
      case 2: return rng.roll(1000) - 500
      case 3: return Int64.min
      case 4: return Double(rng.roll(100)) / 7
      case 5: return rng.roll(2) == 0
      case 6: return Timestamp(seconds: Int64(rng.roll(1_000_000)), nanoseconds: 1_234_567)
      case 7: return Date(timeIntervalSince1970: Double(rng.roll(1_000_000)) / 3)
      case 8: return Data([1, 2, 3])
      case 9: return NSNull()
      case 10: return NSNumber(value: rng.roll(50))
      case 11: return NSNumber(value: 1.5)
      case 12: return NSNumber(value: true)
      case 13: return GeoPoint(latitude: 1, longitude: 2)
      case 14: return Database.room
      case 15: return VectorValue([1, 2.5])
      case 16: return ["x", "y", ""]
      case 17: return [1, 2, 3]
      case 18: return [1.5, -0.0]
      case 19: return inArray ? 1 : FieldValue.serverTimestamp()
      case 20: return inArray ? 2 : FieldValue.increment(Int64(3))
      case 21: return UInt8(7)
      case 22: return Float(0.25)
      case 23: return Optional<Int>.some(4) as Any
      case 24: return ["k": "v", "l": "w"]
      case 25: return AnyHashable("hashed")
      case 26, 27: return inArray ? [:] as [String: Any] : dictionary(depth - 1)
      case 28: return inArray ? 5 : (0..<rng.roll(4)).map { _ in value(depth - 1, inArray: true) }
      case 29: return inArray ? ["n": 1] : [["n": 1, "m": "x"], [:]] as [[String: Any]]
      case 30: return inArray ? "s" : NSArray(array: ["x", 1])
      case 31: return NSDictionary(dictionary: ["x": 1])
      case 32: return inArray ? 6 : ["only": FieldValue.serverTimestamp()]
      default: return NSString("object")
      }
    }
  }

  @Test func dictionariesAreEncodedLikeTrees() throws {
    var dictionaries = Dictionaries(rng: RandomSource(seed: 2024))
    var records = 0
    for round in 0..<1500 {
      let dictionary = dictionaries.dictionary(3)
      guard (try? UserData.fields(from: dictionary, in: Database.firestore)) != nil else {
        #expect(DictionaryWriter.fields(dictionary, with: encoder, in: Database.firestore) == nil)
        continue
      }
      if try encode(dictionary, "round \(round)") == .record { records += 1 }
    }
    #expect(records > 1000)
  }

  private static var refused: [(String, [String: Any])] {
    [
      ("an array in an array", ["a": [[1]]]),
      ("a sentinel in an array", ["a": [FieldValue.serverTimestamp()]]),
      ("a sentinel in a map in an array", ["a": [["b": FieldValue.serverTimestamp()]]]),
      ("an empty name", ["": 1]),
      ("a reserved name", ["__x__": 1]),
      ("a reserved name inside", ["a": ["b": ["__x__": 1]]]),
      ("an empty name of a computed value", ["": FieldValue.increment(Int64(1))]),
      ("a reserved name of a computed value", ["__x__": FieldValue.serverTimestamp()]),
      ("the same inside", ["a": ["b": 1, "__x__": FieldValue.serverTimestamp()]]),
      ("a reserved name of a map of computed values", ["a": ["__x__": ["t": FieldValue.serverTimestamp()]]]),
      ("a type that is not supported", ["a": URL(fileURLWithPath: "/")]),
      ("a reference to another database", ["a": Database.foreign.document("rooms/eros")]),
      ("a date out of range", ["a": Date(timeIntervalSince1970: 1e13)]),
      ("a large number", ["a": UInt64.max]),
      ("a large document", ["a": Data(count: 1 << 20)]),
      ("deep maps", (0..<30).reduce(["x": 1] as [String: Any]) { inner, _ in ["m": inner] }),
    ]
  }

  @Test func dictionariesThatNoDocumentHoldsAreLeftToTheTree() {
    for (name, dictionary) in Self.refused {
      for _ in 0..<3 {
        #expect(
          DictionaryWriter.fields(dictionary, with: encoder, in: Database.firestore) == nil,
          Comment(rawValue: name))
      }
    }
  }

  // MARK: Values

  private struct User: Codable {
    struct Address: Codable { var city = "Bern", street = "Gasse", zip: String? = "3000" }
    enum Role: String, Codable { case admin, guest }
    var active = true
    var address = Address()
    var age = 40
    var born: Date = Date(timeIntervalSince1970: 100.5)
    var photo: Data? = Data([1, 2])
    var role = Role.guest
    var score = 1.5
    var seen: Timestamp? = Timestamp(seconds: 1, nanoseconds: 5000)
    var tags = ["x", "y"]
    var ratings = [1, 2]
    var friends: [Address] = [Address(), Address(zip: nil)]
    var counts: [String: Int] = ["a": 1, "b": 2]
    var place = GeoPoint(latitude: 1, longitude: 2)
    var vector = VectorValue([1, 2])
    var room = Database.room
    var small: Float = 0.5
    var byte: UInt8 = 9
    var website: URL? = URL(string: "https://example.com")
    var set: Set<Int> = [3]
    var nested: [String: [Address]] = ["x": [Address()]]
    var optionals: [Int?] = [1, nil]
  }

  @Test func structsAreEncodedLikeTrees() throws {
    #expect(try encode(User()) == .record)
    var user = User()
    (user.photo, user.seen, user.website, user.address.zip) = (nil, nil, nil, nil)
    #expect(try encode(user) == .record)
    (user.tags, user.friends, user.counts, user.nested) = ([], [], [:], [:])
    #expect(try encode(user) == .record)
    #expect(try encode(User()) == .record)
  }

  private struct Wrapped: Encodable {
    struct Inner: Encodable { @ServerTimestamp var at: Date? }
    @DocumentID var id: String?
    @ServerTimestamp var sent: Date?
    @ServerTimestamp var received: Timestamp? = Timestamp(seconds: 1, nanoseconds: 0)
    @ExplicitNull var due: Date?
    @ExplicitNull var text: String? = "text"
    @ExplicitNull var list: [Int]? = [1]
    var inner = Inner()
    var both = [Inner(at: Date(timeIntervalSince1970: 0))]
    var value = FieldValue.increment(Int64(1))
  }

  @Test func propertyWrappersAndFieldValuesAreEncodedLikeTrees() throws {
    #expect(try encode(Wrapped()) == .record)
    let inner = Wrapped.Inner(at: Date(timeIntervalSince1970: 7))
    #expect(try encode(Wrapped(sent: Date(timeIntervalSince1970: 5), inner: inner)) == .record)
  }

  private struct Passing: Encodable {
    var value: any Encodable
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }

  private struct Direct<Value: Encodable>: Encodable {
    var value: Value
    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
  }

  private struct Beside<Value: Encodable>: Encodable { var first: Value, second = 1 }

  @Test func valuesInThePlaceOfOthersAreEncodedLikeTrees() throws {
    #expect(try encode(Passing(value: User())) == .record)
    #expect(try encode(Direct(value: User())) == .record)
    let values: [any Encodable] = [
      1, "text", 1.5, true, Timestamp(seconds: 1, nanoseconds: 0), GeoPoint(latitude: 1, longitude: 2),
      Database.room, VectorValue([1]), FieldValue.serverTimestamp(), Wrapped(), ["a"], ["a": 1], Int?.none,
      Int?.some(1), [Int](), Data([1]), Date(timeIntervalSince1970: 1),
    ]
    for value in values {
      let comment = Comment(rawValue: "\(value)")
      #expect(try encode(Beside(first: Passing(value: value)), comment) == .record, comment)
      func direct<Value: Encodable>(_ value: Value) throws {
        #expect(try encode(Beside(first: Direct(value: value)), comment) == .record, comment)
      }
      try direct(value)
      guard !(value is FieldValue), !(value is Wrapped), !(value is [String]), !(value is [Int]) else {
        continue
      }
      #expect(try encode(["list": [Passing(value: value)]], comment) == .record, comment)
    }
  }

  private class Animal: Encodable {
    var legs = 4
    var name = "animal"
  }

  private final class Dog: Animal {
    enum Keys: CodingKey { case name, tail }
    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode("dog", forKey: .name)
      try container.encode(1, forKey: .tail)
    }
  }

  @Test func fieldsThatAreEncodedTwiceHaveTheLastValue() throws { #expect(try encode(Dog()) == .record) }

  private class Entry: Encodable {
    @ServerTimestamp var updated: Date?
    var text = "text"
  }

  private final class DatedEntry: Entry {
    private enum Keys: CodingKey { case updated }
    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(Date(timeIntervalSince1970: 5), forKey: .updated)
    }
  }

  @Test func aFieldThatIsComputedAndEncodedIsLeftToTheTree() throws {
    #expect(try encode(DatedEntry()) == .tree)
    let (increment, map) = (FieldValue.increment(Int64(1)), ["t": FieldValue.serverTimestamp()])
    func twice(_ first: some Encodable, _ second: some Encodable, named comment: Comment) throws {
      let value = Custom { encoder in
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(first, forKey: .a)
        try container.encode(3, forKey: .b)
        try container.encode(second, forKey: .a)
      }
      #expect(try encode(value, comment) == .tree, comment)
      #expect(try encode(["inside": value], comment) == .tree, comment)
      #expect(try encode(Passing(value: value), comment) == .tree, comment)
    }
    try twice(5, increment, named: "a value, then a computed one")
    try twice(increment, 5, named: "a computed value, then another one")
    try twice(increment, increment, named: "two computed values")
    try twice(map, 5, named: "a map of computed values, then a value")
    try twice(map, ["u": 1], named: "a map of computed values, then another map")
    try twice(Wrapped.Inner(), map, named: "two maps of computed values")
    try twice(Wrapped(), 5, named: "a map with computed values, then a value")
    try twice(Wrapped(), ["u": 1], named: "a map with computed values, then another map")
  }

  // MARK: Values that are left to the tree

  private struct Custom: Encodable {
    var body: (any Encoder) throws -> Void
    func encode(to encoder: any Encoder) throws { try body(encoder) }
  }

  private enum Keys: String, CodingKey { case a, b }

  @Test func nestedContainersAreEncodedLikeTrees() throws {
    struct Nested: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var nested = container.nestedContainer(keyedBy: Keys.self, forKey: .a)
        try nested.encode(1, forKey: .a)
        try container.encode(2, forKey: .b)
        try nested.encode(3, forKey: .b)
      }
    }
    #expect(try encode(Nested()) == .tree)
    enum Choice: Encodable { case one(Int), two }
    #expect(try encode(["x": Choice.one(1), "y": Choice.two]) == .tree)
  }

  @Test func containersOfOtherValuesAreLeftToTheTree() throws {
    struct Inner: Encodable {
      let body: () throws -> Void
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(1, forKey: .a)
        try body()
        try container.encode(2, forKey: .b)
      }
    }
    let value = Custom { encoder in
      var container = encoder.container(keyedBy: Keys.self)
      let outer = container
      try container.encode(
        Inner {
          var outer = outer
          try outer.encode(5, forKey: .b)
        }, forKey: .a)
    }
    #expect(try encode(value) == .tree)
  }

  @Test func errorsAreThoseOfTheTree() throws {
    struct Failure: Error {}
    let failing: [Custom] = [
      Custom { _ in throw Failure() },
      Custom { encoder in
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(1, forKey: .a)
        try container.encode(Double.nan, forKey: .b)
      },
      Custom { encoder in
        var container = encoder.singleValueContainer()
        try container.encode(1)
      },
      Custom { encoder in
        var container = encoder.unkeyedContainer()
        try container.encode(1)
      },
    ]
    for value in failing {
      #expect(RecordValueEncoder.fields(value, with: encoder, in: RecordValueEncoder.Context()) == nil)
    }
    // The value hides an error, so its other fields are written.
    let hiding = Custom { encoder in
      var container = encoder.container(keyedBy: Keys.self)
      try? container.encode(
        [
          "x": Custom { encoder in
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(1, forKey: .a)
            throw Failure()
          }
        ], forKey: .a)
      try container.encode(2, forKey: .b)
    }
    #expect(try encode(hiding) == .tree)
  }

  @Test func anEncoderThatIsKeptWritesNothing() throws {
    final class Kept { var encoder: (any Encoder)? }
    let kept = Kept()
    let value = Custom { encoder in
      kept.encoder = encoder
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(1, forKey: .a)
    }
    let fields = RecordValueEncoder.fields(value, with: encoder, in: RecordValueEncoder.Context())?.fields
    #expect(fields == StoredMap([("a", .integer(1))]))
    var container = try #require(kept.encoder).container(keyedBy: Keys.self)
    try? container.encode(2, forKey: .b)
    #expect(fields == StoredMap([("a", .integer(1))]))
  }

  /// Keeps the container of its first encoding.
  private final class Keeping: Encodable {
    enum Keys: CodingKey { case number, inner }
    struct Inner: Encodable { var number = 7 }
    var kept: KeyedEncodingContainer<Keys>?
    var number = 1

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(number, forKey: .number)
      try container.encode(Inner(), forKey: .inner)
      if kept == nil, encoder is RecordValueEncoder { kept = container }
    }
  }

  @Test func aContainerThatIsKeptWritesNothingIntoOtherValues() throws {
    let (first, second) = (Keeping(), Keeping())
    second.number = 2
    #expect(try encode(first) == .record)
    var kept = try #require(first.kept)
    let nested = Custom { encoder in
      var container = encoder.container(keyedBy: Keeping.Keys.self)
      try container.encode(1, forKey: .number)
      try? kept.encode(99, forKey: .number)
      _ = kept.codingPath
      try container.encode(Keeping.Inner(), forKey: .inner)
    }
    let fields = RecordValueEncoder.fields(nested, with: encoder, in: RecordValueEncoder.Context())?.fields
    #expect(fields?["number"] == .integer(1))
    #expect(try encode(second) == .record)
  }

  private struct Tree: Codable, Equatable {
    var name = ""
    var children: [Tree] = []
    var first: [String: Tree] = [:]
  }

  @Test func valuesInsideValuesOfTheSameTypeAreEncodedLikeTrees() throws {
    let leaf = Tree(name: "leaf")
    let tree = Tree(
      name: "root", children: [leaf, Tree(name: "a", children: [leaf])], first: ["x": leaf, "y": leaf])
    #expect(try encode(tree) == .record)
    #expect(try encode(["a": leaf, "b": tree]) == .record)
  }

  // MARK: Types that write their own fields

  private struct City: FirestoreRecordEncodable {
    struct Mayor: FirestoreRecordEncodable {
      var name = "Ada"
      func encode(to fields: inout FieldWriter) throws { try fields.encode(name, as: "name") }
    }
    var name = "Bern"
    var founded: Timestamp? = Timestamp(seconds: -5, nanoseconds: 0)
    @ServerTimestamp var updated: Date?

    func encode(to fields: inout FieldWriter) throws {
      try fields.encode(name, as: "name")
      try fields.encode(134_000, as: "population")
      try fields.encode(51.6, as: "area")
      try fields.encode(true, as: "isCapital")
      try fields.encodeIfPresent(founded, as: "founded")
      try fields.encode(Mayor(), as: "mayor")
      try fields.encode([Mayor(), Mayor(name: "Bo")], as: "mayors")
      try fields.encode(_updated, as: "updated")
      try fields.encodeNil(as: "twin")
    }
  }

  @Test func typesThatWriteTheirFieldsAreEncodedLikeTrees() throws {
    #expect(try encode(City()) == .record)
    #expect(try encode(City(founded: nil)) == .record)
    #expect(try encode(["city": City()]) == .record)
    let fields = try Firestore.Encoder().encodeFields(City()).fields
    #expect(fields["mayor"] == .map(StoredMap([("name", .string("Ada"))])))
    #expect(fields.count == 8)
    let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(City.Mayor()))
    #expect(json as? [String: String] == ["name": "Ada"])
  }
}

/// SplitMix64: a seed gives the same numbers on every machine.
private struct RandomSource {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func roll(_ sides: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int(truncatingIfNeeded: ((mixed ^ (mixed >> 31)) >> 1) % UInt64(sides))
  }
}
