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
      try await firestore.collection("users").document(name.lowercased()).setData(from: user)
    }
    return firestore
  }

  @Test func keyPathsNameTheirFields() async throws {
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

  @Test func typedQueriesReturnDecodedValues() async throws {
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

  @Test func operandsUseConvertedKeys() throws {
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

  // MARK: Strategies

  struct Item: Codable {
    struct Part: Codable, Equatable {
      var firstName: String
    }
    var createdAt: Date
    var rawData: Data
    var mainPart: Part
    var size: Double
    @ServerTimestamp var seenAt: Date?
  }

  @Test func operandsAreEncodedByTheDecoderStrategies() async throws {
    let firestore = Firestore.memory()
    let all = firestore.collection("items")
    let items = all.typed(Item.self) {
      let decoder = Firestore.Decoder()
      decoder.dateDecodingStrategy = .secondsSince1970
      decoder.dataDecodingStrategy = .base64
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      return decoder
    }
    let date = Date(timeIntervalSince1970: 2.5)
    let part = Item.Part(firstName: "x")
    #expect(items.where(\.createdAt, .above(date)).query == all.whereField("created_at", isGreaterThan: 2.5))
    #expect(items.where(\.rawData, .equals(Data([1]))).query == all.whereField("raw_data", isEqualTo: "AQ=="))
    #expect(
      items.where(\.mainPart, .isOne(of: [part])).query
        == all.whereField("main_part", in: [["first_name": "x"]]))
    // This property is always encoded as a timestamp, whatever the date strategy is.
    #expect(
      items.where(\.seenAt, .equals(date)).query
        == all.whereField("seen_at", isEqualTo: Timestamp(date: date)))
    #expect(
      items.filter(using: #Predicate { $0.createdAt >= date }).query
        == all.whereField("created_at", isGreaterThanOrEqualTo: 2.5))

    let encoder = Firestore.Encoder()
    encoder.dateEncodingStrategy = .secondsSince1970
    encoder.dataEncodingStrategy = .base64
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let item = Item(createdAt: date, rawData: Data([1]), mainPart: part, size: 1, seenAt: date)
    try await all.document("a").setData(from: item, encoder: encoder)
    let found = items.where(\.createdAt, .equals(date)).where(\.rawData, .equals(Data([1])))
      .where(\.mainPart, .equals(part)).where(\.seenAt, .equals(date))
    #expect(try await found.get().map(\.size) == [1])
    try await firestore.terminate()
  }

  struct Event: Codable {
    var title: String
    var at: Date
    var key: Data
  }

  @Test func otherDateTypesAreValidOperands() {
    let all = Firestore.memory().collection("events")
    func field(_ strategy: @escaping @Sendable () -> FirebaseDataDecoder.DateDecodingStrategy) -> Query {
      all.typed(Event.self) {
        let decoder = Firestore.Decoder()
        decoder.dateDecodingStrategy = strategy()
        return decoder
      }.where(\.at, .equals(Date(timeIntervalSince1970: 2.5))).query
    }
    #expect(field { .millisecondsSince1970 } == all.whereField("at", isEqualTo: 2500.0))
    #expect(field { .iso8601 } == all.whereField("at", isEqualTo: "1970-01-01T00:00:02Z"))
    #expect(field { .deferredToDate } == all.whereField("at", isEqualTo: -978_307_197.5))
    let formatted = field {
      let formatter = DateFormatter()
      formatter.locale = Locale(identifier: "en_US_POSIX")
      formatter.timeZone = TimeZone(secondsFromGMT: 0)
      formatter.dateFormat = "yyyy/MM/dd"
      return .formatted(formatter)
    }
    #expect(formatted == all.whereField("at", isEqualTo: "1970/01/01"))
  }

  @Test(arguments: [("dates", false), ("data", true)])
  func anOperandWithACustomDecodingStrategyTraps(_ kind: String, _ isData: Bool) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [isData = isData as Bool] in
      let events = Firestore.memory().collection("events").typed(Event.self) {
        let decoder = Firestore.Decoder()
        decoder.dateDecodingStrategy = .custom { _ in Date(timeIntervalSince1970: 0) }
        decoder.dataDecodingStrategy = .custom { _ in Data() }
        return decoder
      }
      // Properties of other types are unaffected.
      _ = events.where(\.title, .equals("x")).order(by: \.at)
      if isData {
        _ = events.where(\.key, .equals(Data([1])))
      } else {
        _ = events.where(\.at, .above(Date(timeIntervalSince1970: 0)))
      }
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("The stored form for a custom \(kind) strategy is unknown"))
  }

  struct Measure: Codable {
    var name: String
    var size: Double
  }

  @Test func nanAndInfinitiesAreValidOperands() async throws {
    let firestore = Firestore.memory()
    let measures = firestore.collection("measures").typed(Measure.self)
    for (name, size) in [("one", 1), ("nan", Double.nan), ("infinity", .infinity)] {
      try await firestore.document("measures/\(name)").setData(["name": name, "size": size])
    }
    #expect(try await measures.where(\.size, .equals(.nan)).get().map(\.name) == ["nan"])
    #expect(try await measures.where(\.size, .above(1)).get().map(\.name) == ["infinity"])
    #expect(try await measures.where(\.size, .atLeast(.infinity)).get().map(\.name) == ["infinity"])
    try await firestore.terminate()
  }

  // MARK: Properties

  struct Owner: Codable {
    struct Pet: Codable {
      var name: String
    }
    @DocumentID var id: DocumentReference?
    var home: DocumentReference
    var pet: Pet?
    var role: Role
  }

  @Test func keyPathsOfOptionalMapsAndReferencesNameTheirFields() {
    let firestore = Firestore.memory()
    let (all, home) = (firestore.collection("owners"), firestore.document("homes/one"))
    let owners = all.typed(Owner.self)
    #expect(
      owners.where(\.pet, .equals(Owner.Pet(name: "x"))).query
        == all.whereField("pet", isEqualTo: ["name": "x"]))
    #expect(owners.where(\.pet?.name, .equals("x")).query == all.whereField("pet.name", isEqualTo: "x"))
    #expect(owners.where(\.home, .equals(home)).query == all.whereField("home", isEqualTo: home))
    #expect(
      owners.where(\.id, .equals(all.document("a"))).query
        == all.whereField(FieldPath.documentID(), isEqualTo: all.document("a")))
    #expect(
      owners.where(\.role.rawValue, .equals("writer")).query == all.whereField("role", isEqualTo: "writer"))
  }

  @Test func inACollectionGroupTheIDIsComparedWithPaths() async throws {
    let firestore = try await Self.users()
    let users = firestore.collectionGroup("users").typed(User.self)
    #expect(try await users.where(\.id, .equals("users/bob")).get().map(\.name) == ["Bob"])
    try await firestore.terminate()
  }

  struct Person: Codable {
    @DocumentID var id: String?
    var name: String
    var age: Int
    var tags: [String]
    var joined: Date

    var display: String { "Dr " + name }
    var searchText: String { name.lowercased() }
    var sortedTags: [String] { tags.sorted() }
  }

  @Test(arguments: 0..<8) func keyPathsToDerivedValuesTrap(_ index: Int) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [index = index as Int] in
      let people = Firestore.memory().collection("people").typed(Person.self)
      switch index {
      case 0: _ = people.where(\.name.capitalized, .equals("Ada"))
      case 1: _ = people.where(\.display, .equals("Dr Ada"))
      case 2: _ = people.where(\.age.byteSwapped, .equals(1))
      case 3: _ = people.where(\.tags.first, .equals("a"))
      case 4: _ = people.where(\.searchText, .equals("ada"))
      case 5: _ = people.order(by: \.sortedTags)
      case 6: _ = people.where(\.joined.timeIntervalSince1970, .above(0))
      default: _ = people.where(\.id?.count, .equals(3))
      }
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("cannot be found by decoding Person"))
  }

  // MARK: Predicates

  @Test func predicatesBecomeFilters() async throws {
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

  @Test func aBooleanPropertyIsAFilter() {
    let tasks = Firestore.memory().collection("tasks")
    #expect(
      tasks.typed(Task.self).filter(using: #Predicate { $0.isDone }).query
        == tasks.whereField("isDone", isEqualTo: true))
    #expect(
      tasks.typed(Task.self).filter(using: #Predicate { !$0.isDone && $0.title < "m" }).query
        == tasks.whereFilter(
          .andFilter([.whereField("isDone", isEqualTo: false), .whereField("title", isLessThan: "m")])))
  }

  @Test func aPredicateThatIsNotAFilterTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let tasks = Firestore.memory().collection("tasks").typed(Task.self)
      _ = tasks.filter(using: #Predicate { $0.title.starts(with: "a") })
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("The database cannot evaluate this predicate"))
  }

  @Test func predicateExpressionsOverAFieldTrap() async {
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

  @Test func aTypeThatCannotBeInspectedTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Firestore.memory().collection("a").typed(Opaque.self).where(\.state, .equals(.open))
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("cannot be found by decoding Opaque"))
  }
}
