// Queries by the properties of a type.

import FirebaseFirestore
import Foundation
import Testing

@Suite struct TypedQueryTests {
  enum Role: String, Codable, CaseIterable {
    case reader, writer
  }

  struct Address: Codable, Equatable {
    var city: String
    var zip: Int?
  }

  struct User: Codable, Equatable {
    @DocumentID var id: String?
    var name: String
    var age: Int
    var role: Role
    var address: Address
    var tags: [String]
    var scores: [String: Double]
    var joined: Date
    var place: GeoPoint?
    @ServerTimestamp var seen: Timestamp?
    @ExplicitNull var nick: String?

    enum CodingKeys: String, CodingKey {
      case id, age, role, address, tags, scores, joined, place, seen, nick
      case name = "full-name"
    }
  }

  private static func users() async throws -> Firestore {
    let firestore = Firestore.memory()
    for (index, name) in ["Ada", "Bob", "Cleo", "Dan"].enumerated() {
      let user = User(
        name: name, age: 10 * (index + 1), role: index % 2 == 0 ? .reader : .writer,
        address: Address(city: index < 2 ? "Bern" : "Rome", zip: index == 3 ? nil : index),
        tags: ["t\(index)", "all"],
        scores: ["a": Double(index)], joined: Date(timeIntervalSince1970: Double(index)),
        place: nil, seen: nil, nick: index == 0 ? "A" : nil)
      try firestore.collection("users").document(name.lowercased()).setData(from: user)
    }
    return firestore
  }

  @Test func propertiesAreTheirFields() async throws {
    let firestore = try await Self.users()
    let users = firestore.collection("users").typed(User.self)
    let all = firestore.collection("users")
    #expect(
      users.where(\.name, .equals("Ada")).query == all.whereField(FieldPath(["full-name"]), isEqualTo: "Ada"))
    #expect(
      users.where(\.address.city, .equals("Bern")).query == all.whereField("address.city", isEqualTo: "Bern"))
    #expect(
      users.where(\.address.zip, .atLeast(1)).query
        == all.whereField("address.zip", isGreaterThanOrEqualTo: 1))
    #expect(
      users.where(\.address, .equals(Address(city: "Bern", zip: 1))).query
        == all.whereField("address", isEqualTo: ["city": "Bern", "zip": 1]))
    #expect(users.where(\.tags, .contains("t1")).query == all.whereField("tags", arrayContains: "t1"))
    #expect(users.where(\.scores, .equals(["a": 1])).query == all.whereField("scores", isEqualTo: ["a": 1.0]))
    #expect(
      users.where(\.joined, .below(Date(timeIntervalSince1970: 2))).query
        == all.whereField("joined", isLessThan: Timestamp(seconds: 2, nanoseconds: 0)))
    #expect(users.where(\.nick, .equals("A")).query == all.whereField("nick", isEqualTo: "A"))
    #expect(users.where(\.role, .isOne(of: [.writer])).query == all.whereField("role", in: ["writer"]))
    #expect(
      users.where(\.id, .above("bob")).order(by: \.id).query
        == all.whereField(FieldPath.documentID(), isGreaterThan: "bob").order(by: FieldPath.documentID()))
    #expect(users.order(by: \.seen, descending: true).query == all.order(by: "seen", descending: true))
    #expect(users.order(by: \.place).limit(toLast: 3).query == all.order(by: "place").limit(toLast: 3))
    try await firestore.terminate()
  }

  @Test func answersAreValues() async throws {
    let firestore = try await Self.users()
    let users = firestore.collection("users").typed(User.self)
    let adults = users.where(\.age, .atLeast(20)).order(by: \.age, descending: true)
    #expect(try await adults.get().map(\.name) == ["Dan", "Cleo", "Bob"])
    #expect(try adults.limit(to: 1).read().first?.id == "dan")
    #expect(try await adults.count() == 3)
    #expect(
      try await users.where(\.tags, .containsAny(of: ["t0", "t3"])).get().map(\.name) == ["Ada", "Dan"])
    #expect(try await users.where(\.role, .differs(from: .reader)).get().map(\.age) == [20, 40])
    #expect(try await users.where(\.name, .isNone(of: ["Ada"])).where(\.age, .atMost(30)).get().count == 2)
    try await firestore.terminate()
  }

  @Test func keysThatAreConvertedAreFollowed() throws {
    struct Item: Codable {
      var itemName: String
    }
    let firestore = Firestore.memory()
    let items = firestore.collection("items").typed(Item.self) {
      let decoder = Firestore.Decoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      return decoder
    }
    #expect(
      items.where(\.itemName, .equals("x")).query
        == firestore.collection("items").whereField("item_name", isEqualTo: "x"))
  }

  // MARK: Predicates

  @Test func predicatesAreFilters() async throws {
    let firestore = try await Self.users()
    let users = firestore.collection("users").typed(User.self)
    let all = firestore.collection("users")
    let (limit, names) = (18, ["Ada", "Bob"])
    #expect(
      users.filter(using: #Predicate { $0.age >= limit && $0.name != "Bob" }).query
        == all.whereFilter(
          .andFilter([
            .whereField("age", isGreaterOrEqualTo: 18),
            .whereField(FieldPath(["full-name"]), isNotEqualTo: "Bob"),
          ])))
    #expect(
      users.filter(using: #Predicate { $0.address.city == "Bern" || 30 < $0.age }).query
        == all.whereFilter(
          .orFilter([.whereField("address.city", isEqualTo: "Bern"), .whereField("age", isGreaterThan: 30)])))
    #expect(
      users.filter(using: #Predicate { names.contains($0.name) }).query
        == all.whereField(FieldPath(["full-name"]), in: ["Ada", "Bob"]))
    #expect(
      users.filter(using: #Predicate { $0.tags.contains("t1") }).query
        == all.whereField("tags", arrayContains: "t1"))
    #expect(
      users.filter(using: #Predicate { $0.address.zip == 1 }).query
        == all.whereField("address.zip", isEqualTo: 1))
    #expect(
      users.filter(using: #Predicate { $0.nick == nil }).query == all.whereField("nick", isEqualTo: NSNull()))
    let between = users.filter(using: #Predicate { $0.age > 10 && 30 >= $0.age })
    let found = try await between.order(by: \.age).get()
    #expect(found.map(\.name) == ["Bob", "Cleo"])
    #expect(
      try await users.filter(.whereField("age", isLessThan: 15)).get().map(\.name) == ["Ada"])
    try await firestore.terminate()
  }

  struct Task: Codable {
    var isDone: Bool
    var title: String
  }

  @Test func truthsAreFiltersToo() {
    let tasks = Firestore.memory().collection("tasks")
    #expect(
      tasks.typed(Task.self).filter(using: #Predicate { $0.isDone }).query
        == tasks.whereField("isDone", isEqualTo: true))
    #expect(
      tasks.typed(Task.self).filter(using: #Predicate { !$0.isDone && $0.title < "m" }).query
        == tasks.whereFilter(
          .andFilter([.whereField("isDone", isEqualTo: false), .whereField("title", isLessThan: "m")])))
  }

  @Test func aPredicateThatIsNoFilterTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let tasks = Firestore.memory().collection("tasks").typed(Task.self)
      _ = tasks.filter(using: #Predicate { $0.title.starts(with: "a") })
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("The database cannot be asked this predicate"))
  }

  @Test func whatIsComputedFromAFieldTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let tasks = Firestore.memory().collection("tasks").typed(Task.self)
      _ = tasks.filter(using: #Predicate { $0.title.isEmpty })
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("cannot be found by decoding Task"))
  }

  struct Opaque: Codable {
    enum State: String, Codable {
      case open
    }
    var state: State
  }

  @Test func aTypeThatCannotBeLookedAtTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Firestore.memory().collection("a").typed(Opaque.self).where(\.state, .equals(.open))
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("cannot be found by decoding Opaque"))
  }
}
