// The views that the matcher finds, compared with a check of each view.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct LiveMatcherTests {
  private let rooms = path("rooms", "x").parent

  private func change(_ before: StoredMap?, _ after: StoredMap?, _ id: String = "a") -> IndexChanges.Change {
    func document(_ fields: StoredMap?) -> StoredDocument? {
      fields.map {
        StoredDocument(path: path("rooms", id), createTime: .epoch, updateTime: .epoch, fields: $0)
      }
    }
    let key = DocumentKey.encode(path("rooms", id))
    return IndexChanges.Change(
      path: path("rooms", id), key: key, before: document(before).map { .document($0) } ?? .none,
      after: document(after))
  }

  private func number(_ random: inout SeededRandom) -> StoredValue {
    random.oneIn(8) ? .null : .integer(Int64(random.below(6)))
  }

  /// Random fields with numbers, arrays and nested maps.
  private func fields(_ random: inout SeededRandom, depth: Int = 0) -> StoredMap {
    var map = StoredMap()
    for name in ["a", "b", "c", "d", "e"] where random.oneIn(2) {
      switch random.below(depth < 2 ? 5 : 4) {
      case 0: map[name] = .array((0..<random.below(4)).map { _ in number(&random) })
      case 4: map[name] = .map(fields(&random, depth: depth + 1))
      default: map[name] = number(&random)
      }
    }
    return map
  }

  /// The fields as they are, or encoded with the shapes of one of the dictionaries.
  private func encoded(
    _ fields: StoredMap?, _ dictionaries: [ShapeDictionary], _ random: inout SeededRandom
  ) throws -> StoredMap? {
    guard let fields, !random.oneIn(3) else { return fields }
    let dictionary = dictionaries[random.below(dictionaries.count)]
    var encoder = RecordEncoder(shapes: dictionary)
    let record = encoder.encode(
      StoredDocument(path: path("rooms", "a"), createTime: .epoch, updateTime: .epoch, fields: fields))
    return StoredMap(try CheckedRecord(record, dictionary.table))
  }

  private func query(_ random: inout SeededRandom) throws -> StructuredQuery {
    var query = StructuredQuery(.collection(rooms))
    // One path in three consists of names that occur in no document.
    let names = random.oneIn(3) ? ["x\(random.below(50))"] : ["a", "b", "c", "d", "e"]
    let path = try StoredFieldPath((0...random.below(3)).map { _ in names[random.below(names.count)] })
    let value = StoredValue.integer(Int64(random.below(6)))
    switch random.below(6) {
    case 0: query = try query.filtered(by: .field(path, .arrayContains, value))
    case 1: query = try query.filtered(by: .field(path, .greaterThan, value))
    case 2:
      query = try query.filtered(by: .field(path, .greaterThanOrEqual, value))
        .filtered(by: .field(path, .lessThan, .integer(Int64(random.below(8)))))
    case 3: query = try query.filtered(by: .field(path, .equal, .null))
    case 4:
      let id = random.oneIn(2) ? "a" : "b"
      query = try query.filtered(by: .field(.documentID, .lessThanOrEqual, .string(id)))
    default: query = try query.filtered(by: .field(path, .equal, value))
    }
    return query
  }

  @Test func theMatcherFindsExactlyTheConcernedViews() throws {
    let seed = UInt64.random(in: 0...1 << 40)
    var random = SeededRandom(seed: seed)
    var matcher = LiveMatcher()
    var views: [LiveView] = []
    var found = 0
    var wrong: [String] = []
    let dictionaries = [ShapeDictionary(), ShapeDictionary()]
    for dictionary in dictionaries { dictionary.begin(from: 0) }
    for step in 0..<6000 {
      if step % 3 == 0 {
        if random.below(400) < views.count {
          matcher.remove(views.remove(at: random.below(views.count)))
        } else {
          views.append(LiveView(try query(&random), number: step))
          matcher.insert(try #require(views.last))
        }
        continue
      }
      let before = try encoded(random.oneIn(3) ? nil : fields(&random), dictionaries, &random)
      let after = try encoded(random.oneIn(4) ? nil : fields(&random), dictionaries, &random)
      let change = change(before, after, random.oneIn(2) ? "a" : "c")
      var documents = [change.after].compactMap { $0 }
      if case .document(let document) = change.before { documents.append(document) }
      let expected = views.filter { view in
        documents.contains { document in view.run.filters.allSatisfy { $0.matches(document) } }
      }
      let answer = matcher.views(concernedBy: change)
      let numbers = answer.map(\.number).sorted()
      if numbers != expected.map(\.number).sorted() {
        wrong.append("step \(step): \(numbers) instead of \(expected.map(\.number).sorted())")
      }
      found += answer.count
    }
    #expect(wrong == [], "seed \(seed)")
    #expect(found > 1000)
    // The matcher keeps no trace of removed views.
    for view in views { matcher.remove(view) }
    #expect(matcher.views(concernedBy: change(fields(&random), fields(&random))).isEmpty)
  }

  /// Guards against a commit cost that grows with the number of views. With thousands of listeners, each on
  /// its own field, a commit must not probe all of these fields.
  @Test func changeCostDoesNotGrowWithThousandsOfObservedFields() throws {
    func time(_ views: Int) throws -> Duration {
      var matcher = LiveMatcher()
      for number in 0..<views {
        let member = try StoredFieldPath(["members", "m\(number)"])
        let query = try StructuredQuery(.collection(rooms))
          .filtered(by: .field(member, .equal, .boolean(true)))
        matcher.insert(LiveView(query, number: number))
      }
      let members = StoredMap([("m1", .boolean(true)), ("n1", .boolean(true)), ("n2", .boolean(true))])
      let change = change(nil, StoredMap([("members", .map(members))]))
      #expect(matcher.views(concernedBy: change).map(\.number) == [1])
      // The minimum of several runs, to ignore other load on the machine.
      return (0..<20).map { _ in
        ContinuousClock().measure { for _ in 0..<20 { _ = matcher.views(concernedBy: change) } }
      }.min() ?? .zero
    }
    let few = try time(4)
    #expect(try time(5000) < few * 20)
  }
}
