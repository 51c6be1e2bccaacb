// The groups of documents: equality, results, limits.

import DocumentStore
import Testing

@testable import dugout

@Suite struct GroupedDocumentsTests {
  private func field(_ name: String) -> StoredFieldPath { StoredFieldPath(unchecked: [name]) }

  private func document(_ id: Int, _ fields: [(name: String, value: StoredValue)]) throws -> StoredDocument {
    let time = try #require(StoredTimestamp(microseconds: 0))
    return StoredDocument(
      path: try DocumentPath(["c", "\(id)"]), createTime: time, updateTime: time, fields: StoredMap(fields))
  }

  private func groups(
    _ grouping: Grouping, of values: [(key: StoredValue?, value: StoredValue?)]
  ) throws -> GroupedDocuments {
    var groups = GroupedDocuments(grouping)
    for (id, (key, value)) in values.enumerated() {
      let fields = [("k", key), ("v", value)].compactMap { name, value in
        value.map { (name: name, value: $0) }
      }
      groups.add(try document(id, fields))
    }
    return groups
  }

  private var allResults: [GroupResult] {
    [.count, .sum(field("v")), .average(field("v")), .minimum(field("v")), .maximum(field("v"))]
  }

  /// Numbers are equal across their types, and a missing field differs from null.
  @Test func equalValuesAreOneGroup() throws {
    let keys: [StoredValue?] = [
      .integer(1), .double(1), .double(0), .double(-0.0), .double(.nan), .double(-.nan), .null, nil, nil,
      .string("é"), .string("e\u{301}"), .integer(.max), .double(0x1p63),
      .array([.integer(1)]), .array([.double(1)]), .map(StoredMap([("a", .integer(2))])),
      .map(StoredMap([("a", .double(2))])), .boolean(true),
    ]
    let groups = try groups(Grouping(fields: [field("k")], results: [.count]), of: keys.map { ($0, nil) })
    let counts = groups.rows(after: 0).map { $0.results[0] }
    // In order: missing, null, true, NaN, 0, 1, the largest integer, 2^63, two texts, array, map.
    #expect(counts == [2, 1, 1, 2, 2, 2, 1, 1, 1, 1, 2, 2].map { StoredValue.integer($0) })
  }

  @Test func resultsIgnoreDocumentsWithoutANumberOrAValue() throws {
    let grouping = Grouping(fields: [field("k")], results: allResults)
    let groups = try groups(
      grouping,
      of: [
        (.string("a"), .integer(3)), (.string("a"), .double(1.5)), (.string("a"), .string("x")),
        (.string("a"), .null), (.string("a"), nil), (.string("b"), .null), (.string("c"), .double(.nan)),
        (.string("c"), .integer(1)),
      ])
    let rows = groups.rows(after: 0)
    #expect(rows[0].results == [.integer(5), .double(4.5), .double(2.25), .double(1.5), .string("x")])
    #expect(rows[1].results == [.integer(1), .integer(0), .null, .null, .null])
    // NaN is the smallest number.
    #expect(rows[2].results == [.integer(2), .double(.nan), .double(.nan), .double(.nan), .integer(1)])
  }

  @Test func aSumBeyond64BitsIsADouble() throws {
    let grouping = Grouping(fields: [], results: [.sum(field("v"))])
    let large = try groups(grouping, of: [(nil, .integer(.max)), (nil, .integer(1))])
    #expect(large.rows(after: 0).first?.results == [.double(0x1p63)])
    let exact = try groups(grouping, of: [(nil, .integer(.max)), (nil, .integer(1)), (nil, .integer(-1))])
    #expect(exact.rows(after: 0).first?.results == [.integer(.max)])
    #expect(try groups(grouping, of: []).rows(after: 0).first?.results == [.integer(0)])
  }

  @Test func groupsAreOrderedLimitedAndLeftOut() throws {
    var grouping = Grouping(fields: [field("k")], results: [.count])
    grouping.orders = [Grouping.Order(column: .result(0), direction: .descending)]
    grouping.limit = 2
    let keys = ["a", "b", "b", "c", "c", "d", "d", "d"].map {
      (key: StoredValue?.some(.string($0)), value: StoredValue?.none)
    }
    let groups = try groups(grouping, of: keys)
    let names = { (offset: Int) in groups.rows(after: offset).map { $0.values[0] } }
    // Groups with equal counts are ordered by their fields.
    #expect(names(0) == [.string("d"), .string("b")])
    #expect(names(1) == [.string("b"), .string("c")])
    #expect(names(3) == [.string("a")] && names(4).isEmpty && names(9).isEmpty)
    #expect(groups.count == 4 && groups.documents == 8)
  }

  @Test func theNumberOfGroupsAndTheirSizeAreBounded() throws {
    var groups = GroupedDocuments(Grouping(fields: [field("k")], results: [.count]), groupsMax: 3)
    for id in 0..<3 { groups.add(try document(id, [("k", .integer(Int64(id)))])) }
    try groups.check()
    groups.add(try document(3, [("k", .null)]))
    let error = thrown { try groups.check() } as? DocumentStoreError
    #expect(error?.description.contains("There are more than 3 groups, which is the limit.") == true)

    var large = GroupedDocuments(Grouping(fields: [], results: [.maximum(field("k"))]))
    // The first byte decides their order.
    func bytes(_ first: UInt8) -> StoredValue { .bytes([first] + [UInt8](repeating: 0, count: 40 << 20)) }
    large.add(try document(0, [("k", bytes(1))]))
    // The old value is released.
    large.add(try document(1, [("k", bytes(2))]))
    try large.check()
    var two = GroupedDocuments(Grouping(fields: [field("k")], results: []))
    two.add(try document(0, [("k", bytes(1))]))
    two.add(try document(1, [("k", bytes(2))]))
    let excess = thrown { try two.check() } as? DocumentStoreError
    #expect(excess?.description.contains("groups with more than 64 MiB of values") == true)
  }

  @Test func fieldsThatNoDocumentHasAreKnown() throws {
    let groups = try groups(
      Grouping(fields: [field("k")], results: [.sum(field("v")), .sum(field("w"))]), of: [(nil, .integer(1))])
    #expect(groups.absentFields == [field("k"), field("w")])
  }

  /// Compares with groups that are found by comparing each pair of documents.
  @Test(arguments: [1, 2, 3] as [UInt64]) func randomGroupsEqualThoseOfAModel(seed: UInt64) throws {
    var state = seed
    func random(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(limit))
    }
    let pool: [StoredValue?] = [
      nil, .null, .boolean(true), .integer(1), .double(1), .integer(2), .double(2.5), .double(.nan),
      .string("a"), .string("b"), .array([.integer(1)]),
    ]
    let values = (0..<300).map { _ in (key: pool[random(pool.count)], value: pool[random(pool.count)]) }
    let found = try groups(Grouping(fields: [field("k")], results: allResults), of: values)
    var model: [(key: StoredValue?, values: [StoredValue])] = []
    for (key, value) in values {
      let place = model.firstIndex { group in
        switch (group.key, key) {
        case (nil, nil): true
        case (let left?, let right?): ValueOrder.compare(left, right) == .same
        default: false
        }
      }
      if let place {
        model[place].values += [value ?? .boolean(false)]
      } else {
        model.append((key, [value ?? .boolean(false)]))
      }
    }
    #expect(found.count == model.count)
    for row in found.rows(after: 0) {
      let group = try #require(model.first { $0.key == row.values[0] }, "\(row)")
      // A missing value stands as false in the model.
      let present = group.values.filter { $0 != .boolean(false) }
      let numbers = present.compactMap { value -> Double? in
        switch value {
        case .integer(let number): Double(number)
        case .double(let number): number
        default: nil
        }
      }
      let sorted = present.filter { $0 != .null }.sorted { ComparedValue($0) < ComparedValue($1) }
      #expect(row.results[0] == .integer(Int64(group.values.count)), "\(row)")
      let sum = numbers.reduce(0, +)
      let isWhole = present.allSatisfy { if case .double = $0 { false } else { true } }
      #expect(row.results[1] == (isWhole ? .integer(Int64(sum)) : .double(sum)), "\(row)")
      #expect(row.results[2] == (numbers.isEmpty ? .null : .double(sum / Double(numbers.count))), "\(row)")
      let extremes = [sorted.first ?? .null, sorted.last ?? .null]
      #expect(row.results[3...].map(ComparedValue.init) == extremes.map(ComparedValue.init), "\(row)")
    }
  }
}
