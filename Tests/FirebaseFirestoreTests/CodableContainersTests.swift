// Containers in hand-written and inherited `encode(to:)` and `init(from:)`, and coding paths in errors.

import DocumentStore
import FirebaseCore
import FirebaseFirestore
import Testing

private enum Keys: String, CodingKey {
  case a, b, c
}

@Suite struct CodableContainersTests {
  private let encoder = Firestore.Encoder()
  private let decoder = Firestore.Decoder()

  // MARK: Inheritance

  private class Animal: Codable {
    var legs = 4
    init() {}
  }

  private final class Dog: Animal {
    enum Keys: String, CodingKey { case name }
    var name = ""
    let sharesFields: Bool

    init(name: String, sharesFields: Bool) {
      self.name = name
      self.sharesFields = sharesFields
      super.init()
    }

    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      name = try container.decode(String.self, forKey: .name)
      sharesFields = !container.allKeys.isEmpty && decoder.userInfo.isEmpty
      try super.init(from: sharesFields ? decoder : container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(name, forKey: .name)
      try super.encode(to: sharesFields ? encoder : container.superEncoder())
    }
  }

  @Test func aClassMayShareItsFieldsWithItsSuperclass() throws {
    let dog = Dog(name: "Rex", sharesFields: true)
    dog.legs = 3
    let fields = try encoder.encodeFields(dog).fields
    #expect(fields == StoredMap([("legs", .integer(3)), ("name", .string("Rex"))]))
    let read = try decoder.decodeFields(Dog.self, from: fields, reference: nil)
    #expect(read.name == "Rex" && read.legs == 3)
  }

  @Test func aSuperclassMayHaveAFieldOfItsOwn() throws {
    let dog = Dog(name: "Rex", sharesFields: false)
    dog.legs = 3
    let fields = try encoder.encodeFields(dog).fields
    #expect(
      fields == StoredMap([("super", .map(StoredMap([("legs", .integer(3))]))), ("name", .string("Rex"))]))
    decoder.userInfo = [try #require(CodingUserInfoKey(rawValue: "separate")): true]
    let read = try decoder.decodeFields(Dog.self, from: fields, reference: nil)
    #expect(read.name == "Rex" && read.legs == 3)
    #expect(
      decodingFailure { _ = try decoder.decode(Dog.self, from: ["name": "Rex"]) } == "valueNotFound at super")
  }

  // MARK: Nested containers

  @Test func nestedContainersEncodeIntoTheirFields() throws {
    struct Model: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var map = container.nestedContainer(keyedBy: Keys.self, forKey: .a)
        var list = container.nestedUnkeyedContainer(forKey: .b)
        try map.encode(1, forKey: .a)
        try list.encode("x")
        try list.encodeNil()
        var inner = list.nestedContainer(keyedBy: Keys.self)
        try inner.encode(2, forKey: .c)
        try map.encodeNil(forKey: .b)
        // A second container for the same key continues the first one.
        var again = container.nestedContainer(keyedBy: Keys.self, forKey: .a)
        try again.encode(3, forKey: .c)
        var listAgain = container.nestedUnkeyedContainer(forKey: .b)
        #expect(listAgain.count == 3)
        try listAgain.encode(true)
        var last = list.superEncoder().unkeyedContainer()
        try last.encode(9)
      }
    }
    let encoded = try encoder.encode(Model())
    let expected: NSDictionary = [
      "a": ["a": 1, "b": NSNull(), "c": 3] as NSDictionary,
      "b": ["x", NSNull(), ["c": 2] as NSDictionary, true, [9] as NSArray] as NSArray,
    ]
    #expect(encoded as NSDictionary == expected)
  }

  @Test func nestedContainersDecodeFromTheirFields() throws {
    struct Model: Decodable {
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        let map = try container.nestedContainer(keyedBy: Keys.self, forKey: .a)
        #expect(try map.decode(Int.self, forKey: .a) == 1)
        #expect(try map.decodeNil(forKey: .b))
        #expect(try !map.decodeNil(forKey: .a))
        #expect(map.contains(.b) && !map.contains(.c))
        #expect(map.allKeys.map(\.rawValue) == ["a", "b"])
        #expect(try map.decodeIfPresent(Int.self, forKey: .c) == nil)
        #expect(try map.decodeIfPresent(Int.self, forKey: .b) == nil)
        #expect(try map.decodeIfPresent(Int.self, forKey: .a) == 1)
        var list = try container.nestedUnkeyedContainer(forKey: .b)
        #expect(list.count == 4 && list.currentIndex == 0)
        #expect(throws: DecodingError.self) { try list.decode(Int.self) }
        #expect(list.currentIndex == 0)
        #expect(try !list.decodeNil())
        #expect(try list.decode(String.self) == "x")
        #expect(try list.decodeNil())
        #expect(try list.nestedContainer(keyedBy: Keys.self).decode(Int.self, forKey: .c) == 2)
        var inner = try list.nestedUnkeyedContainer()
        #expect(try inner.decodeIfPresent(Int.self) == 9)
        #expect(inner.isAtEnd && list.isAtEnd)
        #expect(decodingFailure { _ = try inner.decode(Int.self) } == "valueNotFound at b.Index 3.Index 1")
        #expect(decodingFailure { _ = try inner.decodeNil() } == "valueNotFound at b.Index 3.Index 1")
        #expect(try container.superDecoder(forKey: .c).singleValueContainer().decodeNil())
      }
    }
    let dictionary: [String: Any] = [
      "a": ["a": 1, "b": NSNull()] as [String: Any], "b": ["x", NSNull(), ["c": 2], [9]] as [Any],
    ]
    _ = try decoder.decode(Model.self, from: dictionary)
    let elements: [StoredValue] = [
      .string("x"), .null, .map(StoredMap([("c", .integer(2))])), .array([.integer(9)]),
    ]
    let map = StoredMap([
      ("a", .map(StoredMap([("a", .integer(1)), ("b", .null)]))), ("b", .array(elements)),
    ])
    _ = try decoder.decodeFields(Model.self, from: map, reference: nil)
  }

  @Test func lastValueEncodedForAKeyWins() throws {
    struct Model: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(FieldValue.serverTimestamp(), forKey: .b)
        try container.encode(1, forKey: .a)
        try container.encode(2, forKey: .a)
        try container.encode(3, forKey: .b)
      }
    }
    let encoded = try encoder.encodeFields(Model())
    #expect(encoded.fields == StoredMap([("a", .integer(2)), ("b", .integer(3))]))
    #expect(encoded.sentinels.isEmpty)
    #expect(try encoder.encode(Model()) as? [String: Int] == ["a": 2, "b": 3])
  }

  @Test func aValueThatEncodesNothingIsAnEmptyMap() throws {
    struct Silent: Encodable { func encode(to encoder: any Encoder) {} }
    struct Model: Encodable { var a = Silent(); var b = [Silent()] }
    let encoded = try encoder.encodeFields(Model()).fields
    #expect(encoded == StoredMap([("a", .map(StoredMap())), ("b", .array([.map(StoredMap())]))]))
  }

  @Test func enumsEncodeAsSwiftDefinesThem() throws {
    enum Status: String, Codable { case open, closed }
    enum Shape: Codable, Equatable { case circle(radius: Double), empty }
    #expect(try encoder.field(Status.open) as? String == "open")
    #expect(try decoder.field(Status.self, from: "closed") == .closed)
    #expect(decodingFailure { _ = try decoder.field(Status.self, from: "ajar") } == "dataCorrupted at value")
    let shapes = Box(value: [Shape.circle(radius: 2), .empty])
    #expect(try decoder.decode(Box<[Shape]>.self, from: encoder.encode(shapes)) == shapes)
  }

  // MARK: Paths in errors

  private struct Deep: Codable {
    struct Middle: Codable { var list: [Leaf] }
    struct Leaf: Codable { var number: Double; var name: String }
    var middle: Middle
  }

  @Test func decodingErrorsNameTheWholePath() {
    func failure(_ leaf: [String: Any]) -> String {
      let good: [String: Any] = ["number": 1, "name": "x"]
      return decodingFailure {
        _ = try decoder.decode(Deep.self, from: ["middle": ["list": [good, leaf]]])
      }
    }
    #expect(failure(["number": 1, "name": "x"]) == "nothing thrown")
    #expect(failure(["number": "1", "name": "x"]) == "typeMismatch at middle.list.Index 1.number")
    #expect(failure(["number": 1, "name": NSNull()]) == "valueNotFound at middle.list.Index 1.name")
    #expect(failure(["number": 1]) == "keyNotFound at middle.list.Index 1")
    #expect(
      decodingFailure { _ = try decoder.decode(Deep.self, from: ["middle": 1]) } == "typeMismatch at middle")
    #expect(
      decodingFailure { _ = try decoder.decode(Deep.self, from: ["middle": ["list": 1]]) }
        == "typeMismatch at middle.list")
    #expect(
      decodingFailure { _ = try decoder.decode(Deep.self, from: ["middle": NSNull()]) }
        == "valueNotFound at middle")
    #expect(decodingFailure { _ = try decoder.decode(Deep.self, from: [1]) } == "typeMismatch at ")
  }

  @Test func decodingErrorsFromStoredFieldsNameTheSamePath() {
    let leaf = StoredMap([("number", .boolean(true)), ("name", .string("x"))])
    let map = StoredMap([("middle", .map(StoredMap([("list", .array([.map(leaf)]))])))])
    #expect(
      decodingFailure { _ = try decoder.decodeFields(Deep.self, from: map, reference: nil) }
        == "typeMismatch at middle.list.Index 0.number")
  }

  @Test func keyNotFoundNamesTheKey() {
    do {
      _ = try decoder.decode(Box<Int>.self, from: ["other": 1])
      Issue.record("nothing thrown")
    } catch DecodingError.keyNotFound(let key, _) {
      #expect(key.stringValue == "value")
    } catch {
      Issue.record(error)
    }
  }

  @Test func unsupportedValuesCannotBeDecoded() {
    #expect(
      decodingFailure { _ = try decoder.decode(Box<Box<Int>>.self, from: ["value": ["value": NSObject()]]) }
        == "typeMismatch at value.value")
  }

  @Test func encodingErrorsNameTheWholePath() {
    let deep = Deep(middle: Deep.Middle(list: [Deep.Leaf(number: .infinity, name: "")]))
    #expect(
      encodingFailure { _ = try encoder.encode(deep) }.hasPrefix("middle.list.Index 0.number: Unable to"))
  }

  @Test func codingPathIsCorrectWhileValuesAreCoded() throws {
    struct Spy: Codable {
      init() {}
      init(from decoder: any Decoder) { #expect(text(decoder.codingPath) == "value.k.Index 0") }
      func encode(to encoder: any Encoder) throws {
        #expect(text(encoder.codingPath) == "value.k.Index 0")
        let container = encoder.container(keyedBy: Keys.self)
        #expect(text(container.codingPath) == "value.k.Index 0")
      }
    }
    let encoded = try encoder.encode(Box(value: ["k": [Spy()]]))
    _ = try decoder.decode(Box<[String: [Spy]]>.self, from: encoded)
  }
}
