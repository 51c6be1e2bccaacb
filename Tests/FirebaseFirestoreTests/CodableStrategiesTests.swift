// The strategies of the coders, for encoding and for decoding.

import DocumentStore
import FirebaseCore
import FirebaseFirestore
import Testing

@Suite struct CodableStrategiesTests {
  private let encoder = Firestore.Encoder()
  private let decoder = Firestore.Decoder()
  private let date = Date(timeIntervalSince1970: 1_700_000_000)

  // MARK: Dates

  @Test func timestampStrategyStoresDatesAsTimestamps() throws {
    encoder.dateEncodingStrategy = .timestamp
    decoder.dateDecodingStrategy = .timestamp
    #expect(try encoder.field(date) as? Timestamp == Timestamp(date: date))
    #expect(try decoder.field(Date.self, from: Timestamp(date: date)) == date)
    #expect(decodingFailure { _ = try decoder.field(Date.self, from: 5) } == "typeMismatch at value")
    #expect(decodingFailure { _ = try decoder.field(Date.self, from: NSNull()) } == "valueNotFound at value")
  }

  @Test func deferredToDateStoresSecondsSinceReferenceDate() throws {
    encoder.dateEncodingStrategy = .deferredToDate
    decoder.dateDecodingStrategy = .deferredToDate
    #expect(try encoder.field(date) as? Double == date.timeIntervalSinceReferenceDate)
    #expect(try decoder.field(Date.self, from: date.timeIntervalSinceReferenceDate) == date)
    #expect(
      decodingFailure { _ = try decoder.field([Date].self, from: ["x"]) } == "typeMismatch at value.Index 0")
  }

  @Test func secondStrategyStoresDatesAsNumbers() throws {
    encoder.dateEncodingStrategy = .secondsSince1970
    decoder.dateDecodingStrategy = .secondsSince1970
    #expect(try stored(date, encoder: encoder) == .double(1_700_000_000))
    #expect(try decoder.field(Date.self, from: 1_700_000_000) == date)
    #expect(decodingFailure { _ = try decoder.field(Date.self, from: "x") } == "typeMismatch at value")
  }

  @Test func millisecondStrategyStoresDatesAsNumbers() throws {
    encoder.dateEncodingStrategy = .millisecondsSince1970
    decoder.dateDecodingStrategy = .millisecondsSince1970
    #expect(try stored(date, encoder: encoder) == .double(1_700_000_000_000))
    #expect(try decoder.field(Date.self, from: 1_700_000_000_000) == date)
  }

  @Test func iso8601StrategyStoresDatesAsText() throws {
    encoder.dateEncodingStrategy = .iso8601
    decoder.dateDecodingStrategy = .iso8601
    #expect(try stored(date, encoder: encoder) == .string("2023-11-14T22:13:20Z"))
    #expect(try decoder.field(Date.self, from: "2023-11-14T22:13:20Z") == date)
    #expect(decodingFailure { _ = try decoder.field(Date.self, from: "soon") } == "dataCorrupted at value")
  }

  @Test func formattedStrategyStoresDatesAsText() throws {
    let formatter = DateFormatter()
    formatter.dateFormat = "yyyy/MM/dd HH:mm:ss"
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.locale = Locale(identifier: "en_US_POSIX")
    encoder.dateEncodingStrategy = .formatted(formatter)
    decoder.dateDecodingStrategy = .formatted(formatter)
    #expect(try stored(date, encoder: encoder) == .string("2023/11/14 22:13:20"))
    #expect(try decoder.field(Date.self, from: "2023/11/14 22:13:20") == date)
    #expect(decodingFailure { _ = try decoder.field(Date.self, from: "2023") } == "dataCorrupted at value")
  }

  @Test func customDateStrategyUsesItsClosure() throws {
    encoder.dateEncodingStrategy = .custom { date, encoder in
      #expect(text(encoder.codingPath) == "value")
      var container = encoder.singleValueContainer()
      try container.encode("\(Int(date.timeIntervalSince1970))s")
    }
    decoder.dateDecodingStrategy = .custom { decoder in
      #expect(text(decoder.codingPath) == "value")
      let text = try decoder.singleValueContainer().decode(String.self)
      return Date(timeIntervalSince1970: Double(text.dropLast()) ?? 0)
    }
    #expect(try stored(date, encoder: encoder) == .string("1700000000s"))
    #expect(try decoder.field(Date.self, from: "1700000000s") == date)
    encoder.dateEncodingStrategy = .custom { _, _ in }
    #expect(try stored(date, encoder: encoder) == .map(StoredMap()))
  }

  // MARK: Data

  @Test func base64StrategyStoresDataAsText() throws {
    encoder.dataEncodingStrategy = .base64
    decoder.dataDecodingStrategy = .base64
    #expect(try stored(Data([0, 1, 255]), encoder: encoder) == .string("AAH/"))
    #expect(try decoder.field(Data.self, from: "AAH/") == Data([0, 1, 255]))
    #expect(decodingFailure { _ = try decoder.field(Data.self, from: "?") } == "dataCorrupted at value")
    #expect(decodingFailure { _ = try decoder.field(Data.self, from: Data()) } == "typeMismatch at value")
  }

  @Test func deferredToDataStoresAnArrayOfBytes() throws {
    encoder.dataEncodingStrategy = .deferredToData
    decoder.dataDecodingStrategy = .deferredToData
    let numbers = StoredValue.array([.integer(0), .integer(1), .integer(255)])
    #expect(try stored(Data([0, 1, 255]), encoder: encoder) == numbers)
    #expect(try decoder.field(Data.self, from: numbers) == Data([0, 1, 255]))
    #expect(decodingFailure { _ = try decoder.field(Data.self, from: Data()) } == "typeMismatch at value")
  }

  @Test func customDataStrategyUsesItsClosure() throws {
    encoder.dataEncodingStrategy = .custom { data, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(data.count)
    }
    decoder.dataDecodingStrategy = .custom { decoder in
      Data(repeating: 0, count: try decoder.singleValueContainer().decode(Int.self))
    }
    #expect(try stored(Data([0, 1, 255]), encoder: encoder) == .integer(3))
    #expect(try decoder.field(Data.self, from: 2) == Data([0, 0]))
  }

  // MARK: Floats

  @Test func infinitiesAndNaNNeedAStringStrategy() throws {
    #expect(encodingFailure { _ = try stored(Double.nan) }.hasPrefix("value: Unable to encode Double.nan"))
    #expect(
      encodingFailure { _ = try stored([-Float.infinity]) }
        .hasPrefix("value.Index 0: Unable to encode Float.-infinity"))
    #expect(decodingFailure { _ = try decoder.field(Double.self, from: "inf") } == "typeMismatch at value")

    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    #expect(try stored(Double.infinity, encoder: encoder) == .string("inf"))
    #expect(try stored(-Double.infinity, encoder: encoder) == .string("-inf"))
    #expect(try stored(Float.nan, encoder: encoder) == .string("nan"))
    #expect(try stored(1.5, encoder: encoder) == .double(1.5))
    #expect(try decoder.field(Double.self, from: "inf") == .infinity)
    #expect(try decoder.field(Float.self, from: "-inf") == -.infinity)
    #expect(try decoder.field(Double.self, from: "nan").isNaN)
    #expect(try decoder.field(Double.self, from: 2.5) == 2.5)
    #expect(decodingFailure { _ = try decoder.field(Double.self, from: "x") } == "typeMismatch at value")
    #expect(decodingFailure { _ = try decoder.field(Int.self, from: "inf") } == "typeMismatch at value")
  }

  @Test func storedInfinitiesAndNaNDecode() throws {
    #expect(try decoder.field(Double.self, from: StoredValue.double(.nan)).isNaN)
    #expect(try decoder.field(Float.self, from: StoredValue.double(.infinity)) == .infinity)
  }

  // MARK: Keys

  private struct Names: Codable, Equatable {
    struct Inner: Codable, Equatable { var deepName: Int }
    var firstName: String
    var innerModel: Inner
    var freeWords: [String: Inner]
    var optionalWords: [String: Int]?
  }

  private let names = Names(
    firstName: "x", innerModel: Names.Inner(deepName: 1), freeWords: ["aB": Names.Inner(deepName: 2)],
    optionalWords: ["cD": 3])

  @Test func snakeCaseStrategyKeepsDictionaryKeys() throws {
    encoder.keyEncodingStrategy = .convertToSnakeCase
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let expected = StoredMap([
      ("first_name", .string("x")),
      ("inner_model", .map(StoredMap([("deep_name", .integer(1))]))),
      ("free_words", .map(StoredMap([("aB", .map(StoredMap([("deep_name", .integer(2))])))]))),
      ("optional_words", .map(StoredMap([("cD", .integer(3))]))),
    ])
    #expect(try encoder.encodeFields(names).fields == expected)
    #expect(try decoder.decodeFields(Names.self, from: expected, reference: nil) == names)
    #expect(try decoder.decode(Names.self, from: encoder.encode(names)) == names)
    #expect(try decoder.field([String: Int].self, from: ["a_b": 1]) == ["a_b": 1])
  }

  @Test func topLevelDictionaryKeysAreNotConverted() throws {
    encoder.keyEncodingStrategy = .convertToSnakeCase
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    #expect(try encoder.encode(["aB": 1]).keys.first == "aB")
    #expect(try decoder.decode([String: Int].self, from: ["a_b": 1]) == ["a_b": 1])
  }

  @Test func nonStringDictionaryKeysAreConverted() throws {
    enum Kind: String, Codable, CodingKeyRepresentable { case oldOne }
    encoder.keyEncodingStrategy = .convertToSnakeCase
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    #expect(try encoder.encode([Kind.oldOne: 1]).keys.first == "old_one")
    #expect(try decoder.decode([Kind: Int].self, from: ["old_one": 1]) == [.oldOne: 1])
  }

  @Test func customKeyStrategyReceivesTheCodingPath() throws {
    encoder.keyEncodingStrategy = .custom { path in Name(path.map(\.stringValue).joined(separator: "/")) }
    decoder.keyDecodingStrategy = .custom { path in
      Name(String(path[path.count - 1].stringValue.split(separator: "/").last ?? ""))
    }
    let fields = try encoder.encodeFields(names).fields
    #expect(fields["innerModel"] == .map(StoredMap([("innerModel/deepName", .integer(1))])))
    #expect(try decoder.decodeFields(Names.self, from: fields, reference: nil) == names)
  }

  private struct Name: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  @Test func theFirstOfTwoFieldsWithEqualConvertedNamesWins() throws {
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    struct Model: Codable { var aB: Int }
    #expect(try decoder.decode(Model.self, from: ["aB": 1, "a_b": 2]).aB == 1)
    let fields = StoredMap([("aB", .integer(1)), ("a_b", .integer(2))])
    #expect(try decoder.decodeFields(Model.self, from: fields, reference: nil).aB == 1)
  }

  @Test(arguments: [
    ("simpleOneTwo", "simple_one_two"), ("myURL", "my_url"),
    ("thisIsAnXMLProperty", "this_is_an_xml_property"),
    ("single", "single"), ("", ""), ("a", "a"), ("aA", "a_a"), ("A", "a"),
    ("version4Thing", "version4_thing"),
    ("partCAPS", "part_caps"), ("partCAPSLowerAGAIN", "part_caps_lower_again"), ("asdfĆqer", "asdf_ćqer"),
    ("already_snake_case", "already_snake_case"), ("dataPoint22", "data_point22"),
    ("dataPoint22Word", "data_point22_word"), ("_oneTwoThree", "_one_two_three"),
    ("oneTwoThree_", "one_two_three_"), ("__oneTwoThree__", "__one_two_three__"), ("_", "_"),
    ("URLSession", "u_rl_session"), ("one\u{1F600}Two", "one\u{1F600}_two"),
    // Letters with combining marks.
    ("aE\u{301}b", "a_e\u{301}b"), ("aBE\u{301}b", "a_b_e\u{301}b"), ("oneE\u{301}", "one_e\u{301}"),
    ("E\u{301}", "e\u{301}"),
  ])
  func fieldNamesAreConvertedToSnakeCase(_ name: String, _ expected: String) throws {
    struct Key: Encodable {
      var name: String
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        try container.encode(1, forKey: Name(name))
      }
    }
    encoder.keyEncodingStrategy = .convertToSnakeCase
    #expect(try encoder.encode(Key(name: name)).keys.first == expected)
  }

  @Test(arguments: [
    ("one_two_three", "oneTwoThree"), ("", ""), ("a", "a"), ("a_a", "aA"), ("snake_case", "snakeCase"),
    ("_one_two", "_oneTwo"), ("__one_two", "__oneTwo"), ("one_two_", "oneTwo_"), ("one__two", "oneTwo"),
    ("_", "_"), ("___", "___"), ("already", "already"), ("URL", "URL"), ("my_URL", "myUrl"),
    ("_already_", "_already_"), ("m_asdf_ćqer", "mAsdfĆqer"),
    // A combining mark joins the underscore before it, and the underscore is then no separator.
    ("one_e\u{301}t", "oneE\u{301}t"), ("a_\u{301}b", "a_\u{301}b"), ("_\u{301}a", "_\u{301}a"),
    ("a_b_\u{301}", "aB_\u{301}"),
  ])
  func fieldNamesAreConvertedFromSnakeCase(_ name: String, _ expected: String) throws {
    struct Keys: Decodable {
      var all: [String]
      init(from decoder: any Decoder) throws {
        all = try decoder.container(keyedBy: Name.self).allKeys.map(\.stringValue)
      }
    }
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    #expect(try decoder.decode(Keys.self, from: [name: 1]).all == [expected])
  }

  /// The kelvin sign is canonically equal to the letter K, so the two names are one dictionary key but
  /// two fields.
  @Test func canonicallyEquivalentNamesStayDistinct() throws {
    struct Keys: Decodable {
      var all: [[UInt8]]
      init(from decoder: any Decoder) throws {
        all = try decoder.container(keyedBy: Name.self).allKeys.map { Array($0.stringValue.utf8) }
      }
    }
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let fields = StoredMap([("a_K", .integer(1)), ("a_\u{212A}", .integer(2))])
    let names = try decoder.decodeFields(Keys.self, from: fields, reference: nil).all
    #expect(names == [Array("aK".utf8), Array("a\u{212A}".utf8)])
  }

  // MARK: User info

  @Test func userInfoIsPassedToTheValues() throws {
    struct Model: Codable {
      static let key = CodingUserInfoKey(rawValue: "k")
      var seen: String
      init() { seen = "" }
      init(from decoder: any Decoder) throws {
        seen = Self.key.flatMap { decoder.userInfo[$0] as? String } ?? "nothing"
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Self.key.flatMap { encoder.userInfo[$0] as? String })
      }
    }
    let key = try #require(Model.key)
    encoder.userInfo[key] = "out"
    decoder.userInfo[key] = "in"
    #expect(try encoder.field([Model()]) as? [String] == ["out"])
    #expect(try decoder.field([Model].self, from: [1]).first?.seen == "in")
  }
}
