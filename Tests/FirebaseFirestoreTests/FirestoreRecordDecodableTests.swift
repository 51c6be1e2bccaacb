// Types that read their own fields, compared with types that have coding keys.

import DocumentStore
import FirebaseCore
import FirebaseFirestore
import Foundation
import Testing

@Suite("A type that reads its own fields") struct FirestoreRecordDecodableTests {
  private struct Address: FirestoreRecordDecodable, Codable, Equatable {
    var city: String
    var zip: Int?

    init(from fields: inout FieldReader) throws {
      city = try fields.decode("city")
      zip = try fields.decodeIfPresent("zip")
    }
  }

  private struct User: FirestoreRecordDecodable {
    @DocumentID var id: String?
    var name: String
    var age: Int
    var score: Double
    var isActive: Bool
    var home: Address
    var others: [Address]
    var tags: [String]
    var joined: Timestamp?
    var nickname: String?
    var height: Double?
    var isAdmin: Bool?
    let hasNote: Bool
    let reference: DocumentReference?

    init(from fields: inout FieldReader) throws {
      _id = try fields.decode("id")
      name = try fields.decode("name")
      age = try fields.decode("age")
      score = try fields.decode("score")
      isActive = try fields.decode("isActive")
      home = try fields.decode("home")
      others = try fields.decode("others")
      tags = try fields.decode("tags")
      joined = try fields.decodeIfPresent("joined")
      nickname = try fields.decodeIfPresent("nickname")
      height = try fields.decodeIfPresent("height")
      isAdmin = try fields.decodeIfPresent("isAdmin")
      hasNote = fields.contains("note")
      reference = fields.reference
    }
  }

  private static var data: [String: Any] {
    [
      "name": "Ada", "age": 36, "score": 1.5, "isActive": true, "home": ["city": "London", "zip": 1],
      "others": [["city": "Bath"], ["city": "Ely", "zip": NSNull()]], "tags": ["a", "b"],
      "joined": Timestamp(seconds: 1, nanoseconds: 2000), "height": 2, "isAdmin": NSNull(), "note": "",
    ]
  }

  private func expectAda(_ user: User, id: String?) {
    #expect(user.id == id)
    #expect(user.name == "Ada" && user.age == 36 && user.score == 1.5 && user.isActive)
    #expect(user.home.city == "London" && user.home.zip == 1)
    #expect(user.others.map(\.city) == ["Bath", "Ely"] && user.others.map(\.zip) == [nil, nil])
    #expect(user.tags == ["a", "b"])
    #expect(user.joined == Timestamp(seconds: 1, nanoseconds: 2000))
    #expect(user.nickname == nil && user.height == 2 && user.isAdmin == nil && user.hasNote)
    #expect(user.reference?.documentID == id)
  }

  @Test("is read from documents with and without a shape")
  func isReadFromADocument() throws {
    let firestore = Firestore.memory()
    for number in 0..<5 {
      let document = firestore.document("users/\(number)")
      document.setData(Self.data)
      expectAda(try document.read(as: User.self), id: "\(number)")
      expectAda(try document.read().data(as: User.self), id: "\(number)")
    }
    let query = firestore.collection("users").whereField("age", isEqualTo: 36)
    for document in try query.read().documents {
      expectAda(try document.data(as: User.self), id: document.documentID)
    }
    #expect(try firestore.document("users/none").read(as: User?.self) == nil)
    #expect(
      decodingFailure { _ = try firestore.document("users/none").read(as: User.self) } != "nothing thrown")
  }

  @Test("is read from a dictionary, with a strategy for keys, and inside other types")
  func isReadFromADictionary() throws {
    let decoder = Firestore.Decoder()
    expectAda(
      try decoder.decode(User.self, from: Self.data, in: Database.room), id: Database.room.documentID)
    decoder.keyDecodingStrategy = .custom { path in
      NamedKey(path[path.count - 1].stringValue.replacingOccurrences(of: "x_", with: ""))
    }
    let renamed = Dictionary(uniqueKeysWithValues: Self.data.map { ("x_" + $0.key, $0.value) })
    expectAda(try decoder.decode(User.self, from: renamed, in: Database.room), id: Database.room.documentID)
    let boxes = try Firestore.Decoder().decode(
      [String: [Address]].self, from: ["a": [["city": "Rome", "zip": 2]]])
    #expect(boxes["a"]?.first?.zip == 2)
  }

  @Test("is read by other decoders")
  func isReadByOtherDecoders() throws {
    let text = #"[{"city": "Rome", "zip": 2}, {"city": "Oslo"}]"#
    let read = try JSONDecoder().decode([Address].self, from: Data(text.utf8))
    #expect(read.map(\.city) == ["Rome", "Oslo"] && read.map(\.zip) == [2, nil])
  }

  private class Animal: FirestoreRecordDecodable {
    let legs: Int

    required init(from fields: inout FieldReader) throws { legs = try fields.decode("legs") }
  }

  private final class Dog: Animal {
    let name: String

    required init(from fields: inout FieldReader) throws {
      name = try fields.decode("name")
      try super.init(from: &fields)
    }
  }

  @Test("may be a class with a superclass")
  func aClassPassesTheFieldsToItsSuperclass() throws {
    let document = Firestore.memory().document("dogs/1")
    document.setData(["name": "Rex", "legs": 3])
    let dog = try document.read(as: Dog.self)
    #expect(dog.name == "Rex" && dog.legs == 3)
  }

  /// A type with coding keys that has the same fields as `Checked`.
  private struct Keyed: Codable {
    var a: String
    var b: Int
    var c: [Address]
    var d: Double?
  }

  private struct Checked: FirestoreRecordDecodable {
    var a: String
    var b: Int
    var c: [Address]
    var d: Double?

    init(from fields: inout FieldReader) throws {
      a = try fields.decode("a")
      b = try fields.decode("b")
      c = try fields.decode("c")
      d = try fields.decodeIfPresent("d")
    }
  }

  @Test("fails with the errors of a type with coding keys")
  func errorsEqualThoseOfCodingKeys() throws {
    let firestore = Firestore.memory()
    let good: [String: Any] = ["a": "x", "b": 1, "c": [["city": "Rome"]], "d": 2.5]
    let values: [Any] = ["x", 1.5, 1, true, NSNull(), [1], ["city": 1], [["city": 1]], [["zip": 1]]]
    var failures: Set<String> = []
    for name in good.keys {
      for (number, value) in ([nil] + values.map { $0 as Any? }).enumerated() {
        var data = good
        data[name] = value
        let document = firestore.document("things/\(name)\(number)")
        document.setData(data)
        let expected = decodingFailure { _ = try document.read(as: Keyed.self) }
        #expect(decodingFailure { _ = try document.read(as: Checked.self) } == expected)
        #expect(decodingFailure { _ = try Firestore.Decoder().decode(Checked.self, from: data) } == expected)
        failures.insert(expected)
      }
    }
    #expect(failures.count > 8, "\(failures)")
    let notAMap = decodingFailure { _ = try Firestore.Decoder().decode(Box<Keyed>.self, from: ["value": 1]) }
    #expect(notAMap == "typeMismatch at value")
    #expect(
      decodingFailure { _ = try Firestore.Decoder().decode([Checked].self, from: [1]) }
        == "typeMismatch at Index 0")
  }

  private struct NamedKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(_ name: String) { stringValue = name }
    init(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
  }
}
