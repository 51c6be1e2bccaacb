// Decoding from the bytes of a record, compared with decoding from a tree of values.

import DocumentStore
import FirebaseCore
import Foundation
import Harness
import Testing

@testable import FirebaseFirestore

@Suite("Decoding a record") struct RecordDecodingTests {
  /// A document in both forms.
  private struct Sample {
    var record: DocumentRecord
    var tree: DocumentRecord
  }

  /// Random documents of a store. Most of them have a shape.
  private func samples(_ count: Int, seed: UInt64) throws -> [Sample] {
    let store = try DocumentStore.openInMemory()
    var generator = DocumentGenerator(seed: seed)
    var samples: [Sample] = []
    for number in 0..<count {
      let fields = generator.document().fields
      let path = try DocumentPath(["things", "\(number)"])
      do {
        try store.commit([.set(path, fields)])
      } catch DocumentStoreError.invalidArgument {
        // Some random documents are for queries only, and exceed the limits.
        continue
      }
      let record = try #require(try store.storedRecord(at: path))
      guard case .record = record.fields else {
        Issue.record("\(path) is decoded")
        continue
      }
      let tree = StoredDocument(path: path, createTime: .epoch, updateTime: .epoch, fields: fields)
      samples.append(Sample(record: record, tree: DocumentRecord(tree)))
    }
    return samples
  }

  private func outcome<T: Decodable>(
    _ type: T.Type, _ record: DocumentRecord, _ decoder: Firestore.Decoder, times: ServerTimestampBehavior,
    _ text: (T) -> String
  ) -> String {
    do {
      return text(try decoder.decodeRecord(type, record, reference: Database.room, times: times))
    } catch {
      return "\(error)"
    }
  }

  private static let behaviors: [ServerTimestampBehavior] = [.none, .estimate, .previous]

  /// Counts the outcomes that differ between the two forms, and returns the first few of them.
  private func differences<T: Decodable>(
    _ type: T.Type, _ samples: [Sample], _ decoder: Firestore.Decoder = Firestore.Decoder(),
    _ text: (T) -> String
  ) -> [String] {
    var wrong: [String] = []
    for (number, sample) in samples.enumerated() {
      decoder.userInfo[Probe.seed] = UInt64(number)
      let times = Self.behaviors[number % 3]
      let direct = outcome(type, sample.record, decoder, times: times, text)
      let expected = outcome(type, sample.tree, decoder, times: times, text)
      if direct != expected { wrong.append("\(number): \(direct)\ninstead of \(expected)") }
    }
    return Array(wrong.prefix(5))
  }

  @Test("gives the values and errors of the tree, for every type and order of the fields")
  func everyTypeIsDecodedAsFromTheTree() throws {
    let samples = try samples(1500, seed: 71)
    #expect(differences(Probe.self, samples) { $0.log.joined(separator: "\n") } == [])
  }

  @Test("gives the values and errors of the tree, with every strategy")
  func everyStrategyGivesTheResultOfTheTree() throws {
    let samples = try samples(400, seed: 72)
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    decoder.dateDecodingStrategy = .secondsSince1970
    decoder.dataDecodingStrategy = .base64
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "a", negativeInfinity: "b", nan: "aa")
    #expect(differences(Probe.self, samples, decoder) { $0.log.joined(separator: "\n") } == [])
    decoder.keyDecodingStrategy = .custom { path in Name("\(path[path.count - 1].stringValue)") }
    decoder.dateDecodingStrategy = .deferredToDate
    decoder.dataDecodingStrategy = .custom { _ in Data([1]) }
    #expect(differences(Probe.self, samples, decoder) { $0.log.joined(separator: "\n") } == [])
  }

  private struct Wrapped: Decodable {
    @DocumentID var id: String?
    @ServerTimestamp var a: Timestamp?
    @ExplicitNull var b: Double?
    var c: Int?
    var m: [String: Probe.Anything]?
  }

  private class Base: Decodable {
    enum Keys: String, CodingKey { case a, c }
    let a: Double?
    let c: Double?

    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      c = try? container.decode(Double.self, forKey: .c)
      a = try? container.decodeIfPresent(Double.self, forKey: .a)
    }
  }

  private final class Derived: Base {
    enum Keys: String, CodingKey { case b, m }
    let b: Double?
    let inner: Base?

    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      b = try? container.decode(Double.self, forKey: .b)
      inner = try? Base(from: container.superDecoder(forKey: .m))
      try super.init(from: decoder)
    }
  }

  @Test("sets wrapped properties, and the properties of superclasses")
  func wrappersAndSuperclassesAreDecodedAsFromTheTree() throws {
    let samples = try samples(600, seed: 73)
    #expect(
      differences(Wrapped.self, samples) {
        "\($0.id ?? "-") \($0.a.debugDescription) \($0.b.debugDescription) \($0.c.debugDescription) "
          + ($0.m ?? [:]).sorted { $0.key.precedesInUTF8($1.key) }.map { "\($0.key)=\($0.value.text)" }
          .joined(separator: ",")
      } == [])
    #expect(
      differences(Derived.self, samples) {
        [$0.a, $0.b, $0.c, $0.inner?.a, $0.inner?.c].map { "\($0.debugDescription)" }
          .joined(separator: " ")
      } == [])
    let decoder = Firestore.Decoder()
    let decoded = samples.filter {
      (try? decoder.decodeRecord(Derived.self, $0.record, reference: Database.room, times: .none)) != nil
    }
    #expect(decoded.count == samples.count)
  }

  @Test("as a dictionary gives the objects of the tree")
  func aDictionaryEqualsThatOfTheTree() throws {
    let samples = try samples(600, seed: 74)
    var compared = 0
    for sample in samples {
      let (direct, expected) = (snapshot(sample.record).data(), snapshot(sample.tree).data())
      // A vector that contains NaN equals only a vector with the same buffer.
      guard snapshot(sample.record).data() as NSDictionary? == direct as NSDictionary? else { continue }
      try #require(direct as NSDictionary? == expected as NSDictionary?)
      compared += 1
    }
    #expect(compared > samples.count / 2)
  }

  /// Keeps the container and the decoder that it was decoded from.
  private struct Keeping: Decodable {
    enum Keys: CodingKey { case name, inner }
    struct Inner: Decodable { var name: String }
    let container: KeyedDecodingContainer<Keys>
    let decoder: any Decoder
    let name: String
    let inner: Inner

    init(from decoder: any Decoder) throws {
      self.decoder = decoder
      container = try decoder.container(keyedBy: Keys.self)
      name = try container.decode(String.self, forKey: .name)
      inner = try container.decode(Inner.self, forKey: .inner)
    }
  }

  private struct Tree: Codable, Equatable {
    var name = ""
    var children: [Tree] = []
    var first: [String: Tree] = [:]
  }

  private func record(_ store: DocumentStore, _ fields: StoredMap) throws -> DocumentRecord {
    let path = try DocumentPath(["things", "one"])
    try store.commit([.set(path, fields)])
    return try #require(try store.storedRecord(at: path))
  }

  @Test func aContainerThatIsKeptReadsItsOwnDocument() throws {
    let store = try DocumentStore.openInMemory()
    func keeping(_ name: String) throws -> Keeping {
      let fields = StoredMap([
        ("name", .string(name)), ("inner", .map(StoredMap([("name", .string("in \(name)"))]))),
      ])
      return try Firestore.Decoder().decodeRecord(
        Keeping.self, record(store, fields), reference: Database.room, times: .none)
    }
    let kept = try (0..<5).map { try keeping("number \($0)") }
    for (number, value) in kept.enumerated() {
      #expect(value.name == "number \(number)" && value.inner.name == "in number \(number)")
      #expect(try value.container.decode(String.self, forKey: .name) == value.name)
      let again = try value.decoder.container(keyedBy: Keeping.Keys.self)
      #expect(try again.decode(Keeping.Inner.self, forKey: .inner).name == value.inner.name)
    }
  }

  @Test func valuesInsideValuesOfTheSameTypeAreDecoded() throws {
    let store = try DocumentStore.openInMemory()
    let leaf = Tree(name: "leaf")
    let tree = Tree(
      name: "root", children: [leaf, Tree(name: "a", children: [leaf])], first: ["x": leaf, "y": leaf])
    for value in [tree, leaf, tree, tree] {
      let fields = try Firestore.Encoder().encodeFields(value).fields
      let decoded = try Firestore.Decoder().decodeRecord(
        Tree.self, record(store, fields), reference: Database.room, times: .none)
      #expect(decoded == value)
    }
  }

  private func snapshot(_ record: DocumentRecord) -> DocumentSnapshot {
    DocumentSnapshot(Database.room, record, metadata: .of(hasPendingWrites: false, isFromCache: false))
  }
}

/// A key with any name.
private struct Name: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init(_ name: String) { stringValue = name }
  init(stringValue: String) { self.init(stringValue) }
  init?(intValue: Int) { nil }
}

/// Decodes fields in a random order with random methods, and logs each value and each error.
private struct Probe: Decodable {
  static let seed: CodingUserInfoKey = {
    guard let key = CodingUserInfoKey(rawValue: "seed") else { fatalError("every text is a key") }
    return key
  }()
  private static let names = [
    "a", "b", "c", "m", "a.b", "\u{E9}", "e\u{301}", "missing", "a name of more than fifteen bytes",
  ]

  private(set) var log: [String] = []

  init(from decoder: any Decoder) throws {
    // Two containers of the same decoder, used in turn.
    let containers = [
      try decoder.container(keyedBy: Name.self), try decoder.container(keyedBy: Name.self),
    ]
    let seed = decoder.userInfo[Self.seed] as? UInt64 ?? 0
    // Few different orders, so that recorded orders apply to most documents.
    var random = SeededRandom(seed: seed % 7)
    for round in 0..<20 {
      let name = Name(Self.names[random.below(Self.names.count)])
      let container = containers[random.oneIn(8) ? 1 : 0]
      // Some documents leave the usual order.
      let operation = round == seed % 60 ? 3 : random.below(30)
      log.append("\(name.stringValue) \(operation): \(Self.line(operation, name, container))")
    }
    log.append(containers[0].allKeys.map(\.stringValue).joined(separator: ","))
  }

  private static func line(
    _ operation: Int, _ name: Name, _ container: KeyedDecodingContainer<Name>
  ) -> String {
    func decoded<T: Decodable>(_ type: T.Type) -> String {
      text { shown(try container.decode(type, forKey: name)) }
    }
    func present<T: Decodable>(_ type: T.Type) -> String {
      text { try container.decodeIfPresent(type, forKey: name).map { shown($0) } ?? "nil" }
    }
    switch operation {
    case 0: return text { "\(try container.decode(String.self, forKey: name))" }
    case 1: return text { "\(try container.decode(Int.self, forKey: name))" }
    case 2: return text { "\(try container.decode(Double.self, forKey: name))" }
    case 3: return text { "\(try container.decode(Bool.self, forKey: name))" }
    case 4: return text { "\(try container.decodeIfPresent(String.self, forKey: name) ?? "nil")" }
    case 5: return text { "\(try container.decodeIfPresent(Int.self, forKey: name) ?? -77)" }
    case 6: return text { "\(try container.decodeIfPresent(Double.self, forKey: name) ?? -77)" }
    case 7: return text { "\(try container.decodeIfPresent(Bool.self, forKey: name).debugDescription)" }
    case 8: return decoded(Timestamp.self)
    case 9: return present(Timestamp.self) + present(Date.self)
    case 10: return decoded(Date.self)
    case 11: return decoded(Data.self) + present(URL.self)
    case 12: return decoded(Decimal.self) + decoded(Float.self)
    case 13: return decoded(UInt8.self) + present(Int32.self) + decoded(UInt64.self)
    case 14: return decoded([String].self) + present([Int].self)
    case 15: return decoded([Double].self) + present([Bool].self)
    case 16: return decoded([Anything].self)
    case 17: return text { (try container.decode(Anything.self, forKey: name)).text }
    case 18:
      return text { (try container.decodeIfPresent(Anything.self, forKey: name)).map(\.text) ?? "nil" }
    case 19: return text { "\(try container.decode(GeoPoint.self, forKey: name).latitude)" }
    case 20: return text { "\(try container.decode(VectorValue.self, forKey: name).array)" }
    case 21: return text { try container.decode(DocumentReference.self, forKey: name).path }
    case 22: return text { "\(try container.decodeNil(forKey: name)) \(container.contains(name))" }
    case 23:
      return text { "\(try container.nestedContainer(keyedBy: Name.self, forKey: name).allKeys.count)" }
    case 24:
      return text { "\(try container.nestedUnkeyedContainer(forKey: name).count ?? -1)" }
    case 25: return text { (try Anything(from: container.superDecoder(forKey: name))).text }
    case 26: return text { (try Anything(from: container.superDecoder())).text }
    case 27: return decoded(Int?.self) + decoded([String: Int].self)
    case 28: return decoded(DocumentID<String>.self) + decoded(ServerTimestamp<Date>.self)
    default: return decoded(ExplicitNull<Bool>.self) + present([[String: Int]].self)
    }
  }

  /// Describes a value. A date is described by its bits, because the description of a date that is out of the
  /// calendar's range traps.
  private static func shown(_ value: Any) -> String {
    switch value {
    case let date as Date: "\(date.timeIntervalSinceReferenceDate.bitPattern)"
    case let time as ServerTimestamp<Date>: time.wrappedValue.map { shown($0) } ?? "nil"
    default: "\(value)"
    }
  }

  private static func text(_ body: () throws -> String) -> String {
    do { return try body() } catch { return "\(error)" }
  }

  /// Any value, by trying types in turn.
  struct Anything: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
      if let container = try? decoder.container(keyedBy: Name.self) {
        text =
          "{"
          + container.allKeys.map { key in
            "\(key.stringValue): "
              + ((try? container.decode(Anything.self, forKey: key))?.text ?? "nothing")
          }.joined(separator: ", ") + "}"
        return
      }
      if var container = try? decoder.unkeyedContainer() {
        var parts: [String] = []
        while !container.isAtEnd { parts.append(try container.decode(Anything.self).text) }
        text = "[" + parts.joined(separator: ", ") + "]"
        return
      }
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        text = "null"
      } else if let string = try? container.decode(String.self) {
        text = "\"\(string)\""
      } else if let integer = try? container.decode(Int64.self) {
        text = "\(integer)"
      } else if let double = try? container.decode(Double.self) {
        text = "\(double)"
      } else if let boolean = try? container.decode(Bool.self) {
        text = "\(boolean)"
      } else if let timestamp = try? container.decode(Timestamp.self) {
        text = "\(timestamp)"
      } else if let vector = try? container.decode(VectorValue.self) {
        text = "\(vector.array)"
      } else {
        text = "\(try container.decode(Data.self))"
      }
    }
  }
}
