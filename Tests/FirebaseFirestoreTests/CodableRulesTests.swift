// The rules of the coders, as Firestore users know them.

import DocumentStore
import FirebaseCore
import FirebaseFirestore
import Testing

@Suite struct CodableRulesTests {
  private let encoder = Firestore.Encoder()
  private let decoder = Firestore.Decoder()

  // MARK: Top level

  @Test func topLevelMustHaveFields() {
    #expect(encodingFailure { _ = try encoder.encode(5) } == ": Top-level Int is not allowed.")
    #expect(encodingFailure { _ = try encoder.encode([1]) } == ": Top-level Array<Int> is not allowed.")
    #expect(encodingFailure { _ = try encoder.encode("s") } == ": Top-level String is not allowed.")
    #expect(
      encodingFailure { _ = try encoder.encode(GeoPoint(latitude: 1, longitude: 2)) }
        == ": Top-level GeoPoint is not allowed.")
    #expect(
      encodingFailure { _ = try encoder.encodeFields(FieldValue.serverTimestamp()) }
        == ": Top-level FieldValue is not allowed.")
  }

  /// Guards against a crash. Some encoding calls cannot throw, so the outer `encode` must report the error.
  @Test func aValueThatIsEncodedTwiceIsAnError() {
    struct Twice: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(1)
        try container.encode(2)
      }
    }
    struct Mixed: Encodable {
      func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        try fields.encode("a", forKey: Key(stringValue: "a"))
        var list = encoder.unkeyedContainer()
        try list.encode("b")
      }
    }
    struct Above: Encodable {
      func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        let above = fields.superEncoder(forKey: Key(stringValue: "above"))
        var container = above.singleValueContainer()
        try container.encodeNil()
        try container.encodeNil()
      }
    }
    struct Key: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    let text = "A value was encoded a second time, or in containers of two kinds."
    let strange = Firestore.Encoder()
    strange.dateEncodingStrategy = .custom { _, encoder in try Twice().encode(to: encoder) }
    #expect(encodingFailure { _ = try strange.encode(["value": Date()]) } == "value: \(text)")
    #expect(encodingFailure { _ = try encoder.encode(Mixed()) } == ": \(text)")
    #expect(encodingFailure { _ = try encoder.encode(["value": Mixed()]) } == "value: \(text)")
    #expect(encodingFailure { _ = try encoder.encode(["value": ["x": Twice()]]) } == "value.x: \(text)")
    #expect(encodingFailure { _ = try encoder.encode(Above()) } == "above: \(text)")
    #expect(
      encodingFailure { _ = try encoder.encodeFields(["value": [Twice()]]) } == "value.Index 0: \(text)")
  }

  @Test func optionalModelsAreAllowedAtTopLevel() throws {
    let encoded = try encoder.encode(Optional(Box(value: 1)))
    #expect(encoded["value"] as? Int == 1)
    #expect(
      encodingFailure { _ = try encoder.encode(Box<Int>?.none) }
        == ": Top-level Optional<Box<Int>> is not allowed.")

    #expect(try decoder.decode(Box<Int>?.self, from: ["value": 1])?.value == 1)
    #expect(try decoder.decode(Box<Int>?.self, from: NSNull()) == nil)
    let map = StoredMap([("value", .integer(1))])
    #expect(try decoder.decodeFields(Box<Int>?.self, from: map, reference: nil)?.value == 1)
  }

  @Test func nullAtTopLevelDoesNotDecodeAsAModel() {
    struct Empty: Codable {}
    func failure<T: Decodable>(_ type: T.Type) -> String? {
      decodingFailure { _ = try decoder.decode(type, from: NSNull()) }
    }
    #expect(failure(Box<Int>.self) == "valueNotFound at ")
    #expect(failure(Empty.self) == "valueNotFound at ")
    #expect(failure([String: Int].self) == "valueNotFound at ")
    #expect(failure([Int].self) == "valueNotFound at ")
    #expect(failure(String.self) == "valueNotFound at ")
    #expect(failure(Int.self) == "valueNotFound at ")
    #expect(failure(Date.self) == "valueNotFound at ")
    #expect(failure(URL.self) == "valueNotFound at ")
    #expect(failure(GeoPoint.self) == "valueNotFound at ")
    #expect(failure(Timestamp.self) == "valueNotFound at ")
  }

  /// For example, an absent document can be decoded as a type that has a case for absence.
  @Test func nullAtTopLevelDecodesOnlyAsTypesThatAcceptIt() throws {
    enum Presence: Decodable, Equatable {
      case absent
      case present(Int)

      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self = container.decodeNil() ? .absent : .present(try container.decode([String: Int].self).count)
      }
    }
    #expect(try decoder.decode(Presence.self, from: NSNull()) == .absent)
    #expect(try decoder.decode(Presence.self, from: ["a": 1]) == .present(1))
    let absent = try Firestore.memory().document("a/b").read()
    #expect(try absent.data(as: Presence.self) == .absent)
  }

  // MARK: Dynamic types

  class Animal: Decodable {
    private enum CodingKeys: String, CodingKey { case name }

    let name: String
    var sound: String { "none" }

    init(_ name: String) { self.name = name }

    required init(from decoder: any Decoder) throws {
      name = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .name)
    }
  }

  final class Dog: Animal {
    override var sound: String { "bark" }
  }

  private static let dog: Animal.Type = Dog.self

  @Test func aClassIsDecodedAsItsDynamicType() throws {
    #expect(try decoder.decode(Self.dog, from: ["name": "Rex"]).sound == "bark")
    let map = StoredMap([("name", .string("Rex"))])
    #expect(try decoder.decodeFields(Self.dog, from: map, reference: nil).sound == "bark")
    let document = Firestore.memory().document("a/b")
    document.setData(["name": "Rex"])
    #expect(try document.read().data(as: Self.dog).sound == "bark")
    #expect(try document.read(as: Self.dog).sound == "bark")
  }

  @Test func elementsAndSingleValuesAreDecodedAsTheirDynamicType() throws {
    struct Kennel: Decodable {
      var sounds: [String?] = []
      init(from decoder: any Decoder) throws {
        var elements = try decoder.unkeyedContainer()
        sounds.append(try elements.decode(CodableRulesTests.dog).sound)
        for _ in 0..<3 { sounds.append(try elements.decodeIfPresent(CodableRulesTests.dog)?.sound) }
      }
    }
    struct Wrapper: Decodable {
      var sound: String
      init(from decoder: any Decoder) throws {
        sound = try decoder.singleValueContainer().decode(CodableRulesTests.dog).sound
      }
    }
    let rex = ["name": "Rex"]
    let kennel = try decoder.decode(Kennel.self, from: [rex, rex, NSNull()] as [Any])
    #expect(kennel.sounds == ["bark", "bark", nil, nil])
    #expect(try decoder.decode(Wrapper.self, from: rex).sound == "bark")
  }

  /// A document cannot contain such an object as a value. The decoder returns an object only if the object
  /// has the requested type.
  @Test func anObjectIsReturnedOnlyAsItsDynamicType() throws {
    #expect(try decoder.decode(Self.dog, from: Dog("Rex")).name == "Rex")
    #expect(decodingFailure { _ = try decoder.decode(Self.dog, from: Animal("Rex")) } == "typeMismatch at ")
  }

  @Test func dictionariesAndEmptyModelsAreDocuments() throws {
    struct Empty: Codable {}
    #expect(try encoder.encode(Empty()).isEmpty)
    #expect(try encoder.encode(["a": 1, "b": 2]) as? [String: Int] == ["a": 1, "b": 2])
    #expect(try decoder.decode([String: Int].self, from: ["a": 1]) == ["a": 1])
  }

  @Test func anyValueDecodesAtTopLevel() throws {
    #expect(try decoder.decode(Int.self, from: 5) == 5)
    #expect(try decoder.decode([String].self, from: ["a", "b"]) == ["a", "b"])
  }

  /// The decoder ignores fields that are not requested. An error in a requested field includes the path of
  /// that field.
  @Test func unrequestedFieldsMayHaveAnyType() throws {
    struct Model: Codable {
      var value: Int
      var list: [Int]?
    }
    let rest: [String: Any] = ["id": UUID(), "when": Date.distantPast, "many": UInt64.max]
    #expect(try decoder.decode(Model.self, from: rest.merging(["value": 1]) { $1 }).value == 1)
    #expect(try decoder.decode(Box<UInt64>.self, from: ["value": UInt64.max]).value == .max)
    #expect(try decoder.decode(Box<UInt64>.self, from: ["value": NSNumber(value: UInt64.max)]).value == .max)
    #expect(try decoder.decode(Box<Double>.self, from: ["value": UInt64.max]).value == 0x1p64)
    #expect(try decoder.decode(Box<Date>.self, from: ["value": Date.distantPast]).value == .distantPast)
    #expect(
      decodingFailure { _ = try decoder.decode(Box<Int>.self, from: ["value": UInt64.max]) }
        == "dataCorrupted at value")
    #expect(
      decodingFailure { _ = try decoder.decode(Model.self, from: ["value": 1, "list": [1, UUID()]]) }
        == "typeMismatch at list.Index 1")
    #expect(
      decodingFailure { _ = try decoder.decode(Box<Timestamp>.self, from: ["value": Date.distantPast]) }
        == "typeMismatch at value")
  }

  @Test func aDateOutOfRangeIsAnErrorWithItsPath() throws {
    struct Message: Codable {
      @ServerTimestamp var sent: Date?
    }
    do {
      _ = try encoder.encode(Box(value: Message(sent: .distantPast)))
      Issue.record("it was encoded")
    } catch EncodingError.invalidValue(_, let context) {
      #expect(context.codingPath.map(\.stringValue) == ["value", "sent"])
      #expect(context.debugDescription == "Timestamp seconds out of range: -62135769600")
    }
  }

  // MARK: Pass-through

  @Test func valueTypesPassThroughBothWays() throws {
    struct Model: Codable, Equatable {
      var point: GeoPoint
      var time: Timestamp
      var reference: DocumentReference
      var vector: VectorValue
    }
    let model = Model(
      point: GeoPoint(latitude: 1.5, longitude: -2.5),
      time: Timestamp(seconds: 1, nanoseconds: 123_456_789), reference: Database.room,
      vector: VectorValue([1, 2.5]))
    let encoded = try encoder.encode(model)
    #expect(encoded["point"] as? GeoPoint == model.point)
    #expect(encoded["time"] as? Timestamp === model.time)
    #expect(encoded["reference"] as? DocumentReference === model.reference)
    #expect(encoded["vector"] as? VectorValue == model.vector)
    #expect(try decoder.decode(Model.self, from: encoded) == model)

    let fields = try encoder.encodeFields(model).fields
    #expect(fields["point"] == .geoPoint(model.point.stored))
    #expect(fields["time"] == StoredTimestamp(seconds: 1, nanoseconds: 123_456_000).map { .timestamp($0) })
    #expect(fields["reference"] == .reference(Database.room.stored))
    #expect(fields["vector"] == .vector([1, 2.5]))
    let read = try decoder.decodeFields(Model.self, from: fields, reference: Database.room)
    #expect(read.point == model.point && read.vector == model.vector)
    #expect(read.reference == model.reference)
    #expect(read.time == Timestamp(seconds: 1, nanoseconds: 123_456_000))
  }

  /// Encodes its value directly into its own encoder, as enums with associated values do.
  private struct Transparent<Value: Codable & Equatable>: Codable, Equatable {
    var value: Value
    init(_ value: Value) { self.value = value }
    init(from decoder: any Decoder) throws { value = try Value(from: decoder) }
    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
  }

  @Test func wrappedValueTypesPassThroughUnchanged() throws {
    let point = Transparent(GeoPoint(latitude: 1, longitude: 2))
    #expect(try encoder.field(point) as? GeoPoint == point.value)
    #expect(try decoder.field(Transparent<GeoPoint>.self, from: point.value) == point)
    let vector = Transparent(VectorValue([3]))
    #expect(try encoder.field(vector) as? VectorValue == vector.value)
    #expect(try decoder.field(Transparent<VectorValue>.self, from: vector.value) == vector)
    let reference = Transparent(Database.room)
    #expect(try encoder.field(reference) as? DocumentReference === Database.room)
    #expect(try decoder.field(Transparent<DocumentReference>.self, from: Database.room) == reference)
    #expect(try stored(reference) == .reference(Database.room.stored))
    let kept = StoredValue.reference(Database.room.stored)
    #expect(try decoder.field(Transparent<DocumentReference>.self, from: kept) == reference)
    let time = Transparent(Timestamp(seconds: 1, nanoseconds: 123_456_789))
    #expect(try encoder.field(time) as? Timestamp === time.value)
    #expect(try decoder.field(Transparent<Timestamp>.self, from: time.value) == time)
    #expect(try stored(time) == .timestamp(time.value.stored))
    let floored = Transparent(Timestamp(seconds: 1, nanoseconds: 123_456_000))
    #expect(
      try decoder.field(Transparent<Timestamp>.self, from: StoredValue.timestamp(time.value.stored))
        == floored)
    let many = [time, time]
    #expect(try encoder.field(many) as? [Timestamp] == many.map(\.value))
    #expect(try decoder.field([Transparent<Timestamp>].self, from: many.map(\.value)) == many)
    let number = Transparent(7)
    #expect(try encoder.field(number) as? Int == 7)
    #expect(try decoder.field(Transparent<Int>.self, from: 7) == number)
  }

  @Test func decodingAValueTypeFromAnotherTypeIsAMismatch() {
    let null = "valueNotFound at value"
    let wrong = "typeMismatch at value"
    var failures: [String] = []
    for (value, expected) in [(NSNull() as Any, null), (1, wrong), (["latitude": 1, "longitude": 1], wrong)] {
      let found = [
        decodingFailure { _ = try decoder.field(GeoPoint.self, from: value) },
        decodingFailure { _ = try decoder.field(Timestamp.self, from: value) },
        decodingFailure { _ = try decoder.field(VectorValue.self, from: value) },
        decodingFailure { _ = try decoder.field(DocumentReference.self, from: value) },
        decodingFailure { _ = try decoder.field(Transparent<Timestamp>.self, from: value) },
        decodingFailure { _ = try decoder.field(Transparent<DocumentReference>.self, from: value) },
      ]
      if found != Array(repeating: expected, count: 6) { failures.append("\(value): \(found)") }
    }
    #expect(failures == [])
  }

  @Test func fieldValuesBecomeSentinelsWithTheirPaths() throws {
    struct Model: Encodable {
      struct Inner: Encodable {
        var b = FieldValue.serverTimestamp()
        var c = 1
      }
      struct Only: Encodable { var d = FieldValue.serverTimestamp() }
      var z = FieldValue.serverTimestamp()
      var a = Inner()
      var only = Only()
      var empty: [String: Int] = [:]
    }
    let encoded = try encoder.encodeFields(Model())
    #expect(encoded.sentinels.map(\.path) == [["a", "b"], ["only", "d"], ["z"]])
    #expect(encoded.sentinels.allSatisfy { $0.value == FieldValue.serverTimestamp() })
    // A map that has only sentinels is omitted, because applying the sentinels creates the map. An empty map
    // is kept as a value.
    #expect(
      encoded.fields
        == StoredMap([("a", .map(StoredMap([("c", .integer(1))]))), ("empty", .map(StoredMap()))]))

    let dictionary = try encoder.encode(Model())
    #expect(dictionary["z"] as? FieldValue == FieldValue.serverTimestamp())
    #expect((dictionary["only"] as? [String: Any])?["d"] as? FieldValue == FieldValue.serverTimestamp())
  }

  @Test func unstorableValuesAreRefused() {
    func message(_ value: some Encodable) -> String? {
      do {
        _ = try encoder.encodeFields(value, in: Database.firestore)
        return nil
      } catch {
        return (error as? UserDataError)?.message
      }
    }
    #expect(message(["a": [[1]]]) == "Nested arrays are not supported")
    #expect(message(["a": [["b": [1]]]]) == nil)
    #expect(
      message(["a": [FieldValue.serverTimestamp()]])
        == "FieldValue.serverTimestamp() is not currently supported inside arrays")
    #expect(message(["": 1]) == "Invalid data. Document fields must not be empty (found in field ``)")
    #expect(
      message(["a": ["__b__": 1]])
        == "Invalid data. Document fields cannot begin and end with \"__\" (found in field a.__b__)")
    #expect(message(["__b": 1, "b__": 1, "_": 1]) == nil)
    #expect(
      message(["r x": Database.foreign.document("a/b")])
        == "Document Reference is for database q/(default) but should be for database p/(default) "
        + "(found in field `r x`)")
    #expect(message(["r": Database.room]) == nil)
  }

  // MARK: Foundation's types

  @Test func foundationTypesEncodeAsFirestoreTypes() throws {
    let date = Date(timeIntervalSince1970: 1_700_000_000.25)
    #expect(
      try encoder.field(date) as? Timestamp == Timestamp(seconds: 1_700_000_000, nanoseconds: 250_000_000))
    #expect(try decoder.field(Date.self, from: Timestamp(date: date)) == date)
    #expect(try decoder.field(Date.self, from: StoredValue.timestamp(Timestamp(date: date).stored)) == date)

    let data = Data([0, 1, 255])
    #expect(try encoder.field(data) as? Data == data)
    #expect(try stored(data) == .bytes([0, 1, 255]))
    #expect(try decoder.field(Data.self, from: data) == data)
    #expect(try decoder.field(Data.self, from: StoredValue.bytes([0, 1, 255])) == data)
    #expect(try decoder.field(Data.self, from: "AAH/") == data)
    #expect(decodingFailure { _ = try decoder.field(Data.self, from: "?") } == "dataCorrupted at value")

    let url = try #require(URL(string: "https://example.com/a?b#c"))
    #expect(try encoder.field(url) as? String == "https://example.com/a?b#c")
    #expect(try decoder.field(URL.self, from: "https://example.com/a?b#c") == url)
    #expect(decodingFailure { _ = try decoder.field(URL.self, from: "") } == "dataCorrupted at value")
    #expect(decodingFailure { _ = try decoder.field(URL.self, from: 1) } == "typeMismatch at value")

    let decimal = try #require(Decimal(string: "12345678901234567890.123456789"))
    #expect(try encoder.field(decimal) as? NSDecimalNumber == NSDecimalNumber(decimal: decimal))
    #expect(try decoder.field(Decimal.self, from: NSDecimalNumber(decimal: decimal)) == decimal)
    #expect(try stored(Decimal(string: "1.1")) == .double(1.1))
    #expect(try decoder.field(Decimal.self, from: StoredValue.double(1.1)) == Decimal(string: "1.1"))
    #expect(try decoder.field(Decimal.self, from: StoredValue.integer(.max)) == Decimal(Int64.max))
    #expect(decodingFailure { _ = try decoder.field(Decimal.self, from: "1") } == "typeMismatch at value")
  }

  @Test func nilIsOmittedAndNullDecodesAsNil() throws {
    struct Model: Codable {
      var a: Int?
      var b: String?
      var c: [Int?]
    }
    let encoded = try encoder.encodeFields(Model(a: nil, b: "x", c: [1, nil])).fields
    #expect(encoded == StoredMap([("b", .string("x")), ("c", .array([.integer(1), .null]))]))
    let read = try decoder.decode(Model.self, from: ["a": NSNull(), "c": [1, NSNull()]])
    #expect(read.a == nil && read.b == nil && read.c == [1, nil])
  }

  // MARK: Numbers

  @Test func integersDecodeIntoEveryNumericTypeThatHoldsThem() throws {
    func check<N: Codable & Equatable>(_ type: N.Type, _ expected: N, _ number: Int64 = 7) throws {
      #expect(try decoder.field(type, from: StoredValue.integer(number)) == expected)
      #expect(try decoder.field(type, from: NSNumber(value: number)) == expected)
      #expect(try decoder.field(type, from: StoredValue.double(Double(number))) == expected)
      #expect(try decoder.field(type, from: NSNumber(value: Double(number))) == expected)
      #expect(try decoder.field([N].self, from: StoredValue.array([.integer(number)])) == [expected])
    }
    try check(Int.self, 7)
    try check(Int8.self, 7)
    try check(Int16.self, 7)
    try check(Int32.self, 7)
    try check(Int64.self, 7)
    try check(UInt.self, 7)
    try check(UInt8.self, 7)
    try check(UInt16.self, 7)
    try check(UInt32.self, 7)
    try check(UInt64.self, 7)
    try check(Float.self, 7)
    try check(Double.self, 7)
    try check(CGFloat.self, 7)
    try check(Int128.self, 7)
    try check(UInt128.self, 7)
    try check(Decimal.self, 7)
    try check(Int8.self, -128, -128)
    try check(UInt8.self, 255, 255)
  }

  @Test func numbersThatDoNotFitAreCorrupted() {
    func check<N: Codable>(_ type: N.Type, _ number: StoredValue) {
      #expect(decodingFailure { _ = try decoder.field(type, from: number) } == "dataCorrupted at value")
    }
    check(Int8.self, .integer(128))
    check(Int8.self, .integer(-129))
    check(UInt8.self, .integer(256))
    check(UInt8.self, .integer(-1))
    check(Int16.self, .integer(40_000))
    check(UInt16.self, .integer(70_000))
    check(Int32.self, .integer(.max))
    check(UInt32.self, .integer(.max))
    check(UInt.self, .integer(-1))
    check(UInt64.self, .integer(-1))
    check(UInt128.self, .integer(-1))
    check(Int.self, .double(1.5))
    check(Int.self, .double(.nan))
    check(Int.self, .double(.infinity))
    check(Int64.self, .double(9_223_372_036_854_775_808))
    check(Float.self, .double(1e300))
    check(Decimal.self, .double(1e300))
    check(Decimal.self, .double(.nan))
  }

  @Test func decimalsAreIntegersExactlyOrNotAtAll() throws {
    func number(_ text: String) throws -> NSDecimalNumber {
      NSDecimalNumber(decimal: try #require(Decimal(string: text)))
    }
    #expect(try decoder.field(Int.self, from: number("9007199254740993")) == 9_007_199_254_740_993)
    #expect(try decoder.field(Int.self, from: number("\(Int.max)")) == .max)
    #expect(try decoder.field(UInt64.self, from: number("\(UInt64.max)")) == .max)
    #expect(try decoder.field(Int.self, from: number("-1e3")) == -1000)
    func check<N: Codable>(_ type: N.Type, _ number: NSDecimalNumber) {
      #expect(decodingFailure { _ = try decoder.field(type, from: number) } == "dataCorrupted at value")
    }
    check(Int.self, try number("9223372036854775808"))
    check(Int.self, try number("9007199254740993.5"))
    check(Int128.self, try number("100000000000000000000.5"))
    check(UInt8.self, try number("-1"))
    check(Int.self, .notANumber)
  }

  @Test func booleansAndNumbersNeverMix() {
    #expect(decodingFailure { _ = try decoder.field(Bool.self, from: 1) } == "typeMismatch at value")
    #expect(
      decodingFailure { _ = try decoder.field(Bool.self, from: NSNumber(value: 1.0)) }
        == "typeMismatch at value")
    #expect(decodingFailure { _ = try decoder.field(Int.self, from: true) } == "typeMismatch at value")
    #expect(
      decodingFailure { _ = try decoder.field(Double.self, from: NSNumber(value: true)) }
        == "typeMismatch at value")
    #expect(throws: Never.self) { try decoder.field(Bool.self, from: NSNumber(value: true)) }
  }

  @Test func integersOfEveryWidthEncodeExactly() throws {
    #expect(try stored(Int8.min) == .integer(-128))
    #expect(try stored(Int16.min) == .integer(-32768))
    #expect(try stored(Int32.min) == .integer(-2_147_483_648))
    #expect(try stored(Int64.min) == .integer(.min))
    #expect(try stored(Int.max) == .integer(.max))
    #expect(try stored(UInt8.max) == .integer(255))
    #expect(try stored(UInt16.max) == .integer(65535))
    #expect(try stored(UInt32.max) == .integer(4_294_967_295))
    #expect(try stored(UInt64(Int64.max)) == .integer(.max))
    #expect(try stored(UInt(7)) == .integer(7))
    #expect(try stored(Int128(-7)) == .integer(-7))
    #expect(try stored(UInt128(7)) == .integer(7))
    #expect(try stored(Float(0.5)) == .double(0.5))
    #expect(try stored(CGFloat(0.25)) == .double(0.25))
    #expect(
      encodingFailure { _ = try stored(UInt64.max) } == "value: NSNumber (18446744073709551615) is too large")
    #expect(
      encodingFailure { _ = try stored([UInt.max]) }
        == "value.Index 0: NSNumber (18446744073709551615) is too large")
  }

  @Test func integersOf128BitsAreExactOrRefusedWithTheirPath() throws {
    #expect(try stored(Int128(Int64.min)) == .integer(.min))
    #expect(try stored(UInt128(Int64.max)) == .integer(.max))
    #expect(
      encodingFailure { _ = try stored(Int128(Int64.min) - 1) }
        == "value: NSNumber (-9223372036854775809) is too small")
    #expect(
      encodingFailure { _ = try stored([Int128.min]) }
        == "value.Index 0: NSNumber (\(Int128.min)) is too small")
    #expect(
      encodingFailure { _ = try stored(["k": UInt128.max]) }
        == "value.k: NSNumber (\(UInt128.max)) is too large")
    // The decoder accepts every number in a dictionary, and converts it to any type that can represent it.
    #expect(try decoder.field(Int128.self, from: Int128.min) == .min)
    #expect(try decoder.field(UInt128.self, from: UInt128.max) == .max)
    #expect(try decoder.field(Double.self, from: Int128.min) == -0x1p127)
    #expect(decodingFailure { _ = try decoder.field(Int.self, from: Int128.min) } == "dataCorrupted at value")
    #expect(
      decodingFailure { _ = try decoder.field(UInt128.self, from: Int128.min) } == "dataCorrupted at value")
  }

  @Test func encodedNumbersAreNumberObjectsAndBooleansAreNot() throws {
    let integer = try encoder.field(7)
    #expect(integer is NSNumber && integer as? Int64 == 7 && integer as? Double == 7)
    let boolean = try encoder.field(true)
    #expect(boolean as? Bool == true && boolean as? Int == nil)
  }

  @Test func datesOutsideOfTheCalendarAreRefused() {
    let dates = [Date(timeIntervalSince1970: .infinity), Date(timeIntervalSince1970: 253_402_300_800)]
    let failures = dates.map { date in encodingFailure { _ = try stored([date]) } }
    let refusal = "value.Index 0: The date is not between the years 1 and 9999."
    #expect(failures == [refusal, refusal])
    #expect(throws: Never.self) {
      try stored([Date(timeIntervalSince1970: -62_135_596_800), Date.distantFuture])
    }
  }
}
