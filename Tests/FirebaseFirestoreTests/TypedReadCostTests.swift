// Allocations of a typed get. They depend neither on the machine nor on fields that are not read.

import CAllocations
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@Suite struct TypedReadCostTests {
  struct Named: Codable {
    var name: String
    var age: Int
  }

  struct Renamed: Codable {
    var fullName: String
    var yearOfBirth: Int
  }

  /// A key strategy converts the names of all fields, but the decoder reads only the requested values.
  @Test(.enabled(if: allocations_are_counted()))
  func aKeyStrategyAllocatesForNamesOfUnreadFields() throws {
    let firestore = Firestore.memory()
    let decoder = Firestore.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let counts = [2, 20, 200, 2000]
    let typed = try counts.map { count in
      var fields: [String: Any] = [
        "full_name": "A name that does not fit into a pointer or two", "year_of_birth": 1815,
      ]
      for number in 2..<count {
        fields["some_other_field_\(number)"] = "text of the field with the number \(number)"
      }
      let document = firestore.document("people/\(count)")
      document.setData(fields)
      try #require(try document.read(as: Renamed.self, decoder: decoder).yearOfBirth == 1815)
      return try allocations { _ = try document.read(as: Renamed.self, decoder: decoder) }
    }
    print("allocations of a typed get with a strategy for keys, of \(counts) fields: \(typed)")
    // A build without optimization makes six allocations per name.
    let large = zip(typed, counts).filter { count, fields in
      count - typed[0] > Double(7 * (fields - counts[0]))
    }
    #expect(large.map { $0.1 } == [], "\(typed)")
  }

  @Test(.enabled(if: allocations_are_counted()))
  func aTypedGetAllocatesNothingForUnreadFields() throws {
    let firestore = Firestore.memory()
    let counts = [2, 20, 200, 2000]
    for count in counts {
      var fields: [String: Any] = ["name": "A name that does not fit into a pointer or two", "age": 36]
      for number in 2..<count { fields["field\(number)"] = "text of the field with the number \(number)" }
      firestore.document("people/\(count)").setData(fields)
    }
    let typed = try counts.map { count in
      let document = firestore.document("people/\(count)")
      return try allocations { _ = try document.read(as: Named.self) }
    }
    let dictionaries = try counts.map { count in
      let document = firestore.document("people/\(count)")
      return try allocations { _ = try document.read().data() }
    }
    print("| fields | allocations of a typed get of 2 | of a dictionary |\n| --- | --- | --- |")
    for (place, count) in counts.enumerated() {
      print("| \(count) | \(typed[place]) | \(dictionaries[place]) |")
    }
    #expect(typed.filter { abs($0 - typed[0]) > 1 } == [], "\(typed)")
    #expect(typed[0] <= Self.allocationsMax, "\(typed[0]) allocations for each typed get")
    // Shows that the expectations above can fail.
    #expect(dictionaries[3] > dictionaries[0] + 1900)
  }

  /// Without a remote, the layer between the API and the store costs no allocations.
  @Test(.enabled(if: allocations_are_counted()))
  func aViewReadAllocatesNoMoreThanAStoreRead() throws {
    let view = LocalView(over: try DocumentStore.openInMemory())
    let path = try DocumentPath(["people", "ada"])
    try view.write([.set(path, StoredMap([("name", .string("Ada")), ("age", .integer(36))]))])
    let stored = try allocations { _ = try view.store.storedRecord(at: path) }
    #expect(try allocations { _ = try view.record(at: path) } == stored)
    let decoded = try allocations { _ = try view.store.document(at: path) }
    #expect(try allocations { _ = try view.document(at: path).document } == decoded)
    try view.close()
  }

  /// The limit for a build without optimization, which the tests use. Optimized builds stay below this limit.
  private static let allocationsMax = 150.0

  /// Returns the allocations per call, after a warm-up.
  private func allocations(_ body: () throws -> Void) throws -> Double {
    for _ in 0..<20 { try body() }
    let before = allocations_of_this_thread()
    for _ in 0..<100 { try body() }
    return Double(allocations_of_this_thread() - before) / 100
  }
}
