// Equality of values: identity, not equivalence.

import DocumentStore
import Testing

@Suite struct StoredValueTests {
  @Test func everyValueEqualsItselfAndNoOther() {
    let precomposed = StoredValue.string("\u{E9}")
    let distinct: [StoredValue] =
      [
        .null, .boolean(false), .boolean(true), .integer(0), .integer(1), .double(0), .double(-0.0),
        .double(1), .double(.nan), .double(.infinity), .timestamp(timestamp(0)), .timestamp(timestamp(1)),
        .string(""), .string("1"), precomposed, .string("e\u{301}"), .string("a"), .string("a\0"),
        .bytes([]), .bytes([0x61]), .bytes([0xC3, 0xA9]), .array([]), .array([.null]),
        .array([.integer(1)]), .array([.double(1)]), .array([precomposed]), .array([.string("e\u{301}")]),
        .vector([]), .vector([1]), .vector([0]), .vector([-0.0]), .vector([.nan]), .vector([1, 1]),
        .map(StoredMap()), .map(StoredMap([("a", .null)])), .map(StoredMap([("b", .null)])),
        .map(StoredMap([("\u{E9}", .null)])), .map(StoredMap([("e\u{301}", .null)])),
        .map(StoredMap([("a", .integer(1))])), .map(StoredMap([("a", .double(1))])),
        .map(StoredMap([("a", .null), ("b", .null)])),
        reference("p", "d", path("a", "b")), reference("q", "d", path("a", "b")),
        reference("\u{E9}", "d", path("a", "b")), reference("e\u{301}", "d", path("a", "b")),
        reference("p", "\u{E9}", path("a", "b")), reference("p", "e\u{301}", path("a", "b")),
        reference("p", "e", path("a", "b")), reference("p", "d", path("a", "c")),
        reference("p", "d", path("a", "\u{E9}")), reference("p", "d", path("a", "e\u{301}")),
      ] + Values.geoPoints.map(StoredValue.geoPoint)
    var wrong: [String] = []
    for (index, left) in distinct.enumerated() {
      for (other, right) in distinct.enumerated() where (left == right) != (index == other) {
        wrong.append("\(left) and \(right)")
      }
    }
    #expect(wrong == [])
  }

  @Test func allNaNsAreEqual() {
    let nan = Double(bitPattern: 0xFFF8_0000_0000_0001)
    #expect(StoredValue.double(.nan) == .double(nan))
    #expect(StoredValue.vector([1, .nan]) == .vector([1, nan]))
    #expect(StoredValue.array([.double(.nan)]) == .array([.double(nan)]))
    #expect(StoredMap([("a", .double(.nan))]) == StoredMap([("a", .double(nan))]))
  }

  @Test func geoPointMustBeWithinItsRange() {
    let within: [(Double, Double)] = [(90, 180), (-90, -180), (0, 0), (-0.0, -0.0)]
    let refused = within.filter { StoredGeoPoint(latitude: $0.0, longitude: $0.1) == nil }
    #expect(refused.map { "\($0)" } == [])
    let (pole, meridian) = (90.0.nextUp, 180.0.nextUp)
    let outside: [(Double, Double)] = [
      (pole, 0), (-pole, 0), (0, meridian), (0, -meridian), (.nan, 0), (0, .nan), (.infinity, 0),
      (0, -.infinity),
    ]
    let accepted = outside.filter { StoredGeoPoint(latitude: $0.0, longitude: $0.1) != nil }
    #expect(accepted.map { "\($0)" } == [])
  }

  private func reference(_ project: String, _ database: String, _ path: DocumentPath) -> StoredValue {
    .reference(StoredReference(projectID: project, databaseID: database, path: path))
  }
}
