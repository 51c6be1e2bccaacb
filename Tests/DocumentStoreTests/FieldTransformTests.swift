// Field transforms: each rule and its edge cases.

import Testing

@testable import DocumentStore

@Suite struct FieldTransformTests {
  private let now = timestamp(1_700_000_000_000_000)

  private func value(_ operation: FieldTransform.Operation, of stored: StoredValue?) -> StoredValue {
    operation.value(from: stored, at: now)
  }

  private static let noNumbers: [StoredValue?] = [
    nil, .null, .boolean(true), .string("3"), .timestamp(.first), .bytes([3]), .array([.integer(3)]),
    .vector([3]), .map(StoredMap([("n", .integer(3))])),
  ]

  // MARK: Increment

  @Test func integersAddUpToAnInteger() {
    #expect(value(.increment(.integer(2)), of: .integer(40)) == .integer(42))
    #expect(value(.increment(.integer(-2)), of: .integer(1)) == .integer(-1))
    #expect(value(.increment(.integer(0)), of: .integer(.min)) == .integer(.min))
  }

  @Test func integerIncrementsSaturateAtTheRangeLimits() {
    #expect(value(.increment(.integer(1)), of: .integer(.max)) == .integer(.max))
    #expect(value(.increment(.integer(.max)), of: .integer(.max)) == .integer(.max))
    #expect(value(.increment(.integer(-1)), of: .integer(.min)) == .integer(.min))
    #expect(value(.increment(.integer(.min)), of: .integer(.min)) == .integer(.min))
    #expect(value(.increment(.integer(.min)), of: .integer(.max)) == .integer(-1))
    #expect(value(.increment(.integer(1)), of: .integer(.max - 1)) == .integer(.max))
  }

  @Test func incrementWithADoubleOnEitherSideYieldsADouble() {
    #expect(value(.increment(.double(0.5)), of: .integer(1)) == .double(1.5))
    #expect(value(.increment(.integer(1)), of: .double(0.5)) == .double(1.5))
    #expect(value(.increment(.double(1)), of: .double(1)) == .double(2))
    #expect(value(.increment(.double(1)), of: .integer(.max)) == .double(0x1p63))
    #expect(value(.increment(.integer(.max)), of: .double(.greatestFiniteMagnitude)).isFinite)
    #expect(
      value(.increment(.double(.greatestFiniteMagnitude)), of: .double(.greatestFiniteMagnitude))
        == .double(.infinity))
    #expect(value(.increment(.integer(1)), of: .double(.nan)) == .double(.nan))
    #expect(value(.increment(.double(-.infinity)), of: .double(.infinity)) == .double(.nan))
    #expect(value(.increment(.double(-0.0)), of: .double(-0.0)) == .double(-0.0))
    #expect(value(.increment(.double(-0.0)), of: .integer(0)) == .double(0))
  }

  @Test(arguments: noNumbers) func numericTransformReplacesANonNumberByItsOperand(stored: StoredValue?) {
    let numbers: [StoredNumber] = [
      .integer(7), .double(7), .double(-0.0), .double(.nan), .integer(.min),
    ]
    let expected = numbers.map(\.value)
    #expect(numbers.map { value(.increment($0), of: stored) } == expected)
    #expect(numbers.map { value(.minimum($0), of: stored) } == expected)
    #expect(numbers.map { value(.maximum($0), of: stored) } == expected)
  }

  // MARK: Minimum and maximum

  @Test func minimumAndMaximumKeepTheTypeOfTheChosenNumber() {
    #expect(value(.minimum(.double(2.5)), of: .integer(3)) == .double(2.5))
    #expect(value(.minimum(.integer(2)), of: .double(2.5)) == .integer(2))
    #expect(value(.minimum(.integer(4)), of: .double(2.5)) == .double(2.5))
    #expect(value(.maximum(.double(2.5)), of: .integer(3)) == .integer(3))
    #expect(value(.maximum(.integer(3)), of: .double(2.5)) == .integer(3))
    #expect(value(.maximum(.double(3.5)), of: .integer(3)) == .double(3.5))
    #expect(value(.maximum(.integer(9)), of: .integer(-9)) == .integer(9))
    #expect(value(.minimum(.double(-.infinity)), of: .integer(.min)) == .double(-.infinity))
  }

  @Test func minimumAndMaximumOfEqualNumbersKeepTheStoredOne() {
    let pairs: [(StoredNumber, StoredNumber)] = [
      (.integer(3), .double(3)), (.integer(0), .double(-0.0)), (.double(0), .double(-0.0)),
      (.double(0x1p53), .integer(1 << 53)), (.integer(.min), .double(-0x1p63)),
    ]
    let bothWays: [(StoredNumber, StoredNumber)] = pairs + pairs.map { ($1, $0) }
    let expected = bothWays.map { stored, _ in stored.value }
    #expect(bothWays.map { stored, other in value(.minimum(other), of: stored.value) } == expected)
    #expect(bothWays.map { stored, other in value(.maximum(other), of: stored.value) } == expected)
  }

  @Test func largeIntegersAreComparedWithDoublesExactly() {
    let beyond: Int64 = (1 << 53) + 1
    #expect(value(.maximum(.integer(beyond)), of: .double(0x1p53)) == .integer(beyond))
    #expect(value(.minimum(.double(0x1p53)), of: .integer(beyond)) == .double(0x1p53))
    #expect(value(.maximum(.double(0x1p63)), of: .integer(.max)) == .double(0x1p63))
    #expect(value(.minimum(.double(0x1p63)), of: .integer(.max)) == .integer(.max))
  }

  @Test(
    arguments: [.integer(1), .double(-.infinity), .double(.infinity), .double(.nan)] as [StoredNumber])
  func nanWinsMinimumAndMaximum(number: StoredNumber) {
    #expect(value(.minimum(.double(.nan)), of: number.value) == .double(.nan))
    #expect(value(.minimum(number), of: .double(.nan)) == .double(.nan))
    #expect(value(.maximum(.double(.nan)), of: number.value) == .double(.nan))
    #expect(value(.maximum(number), of: .double(.nan)) == .double(.nan))
  }

  // MARK: Arrays

  private func array(_ elements: StoredValue...) -> StoredValue { .array(elements) }

  @Test func arrayUnionAppendsMissingElementsInOrderAndOnce() {
    #expect(
      value(
        .arrayUnion([.integer(3), .integer(1), .string("x"), .integer(3)]),
        of: array(.integer(2), .integer(1)))
        == array(.integer(2), .integer(1), .integer(3), .string("x")))
    #expect(value(.arrayUnion([.integer(1)]), of: array(.integer(1))) == array(.integer(1)))
    #expect(value(.arrayUnion([]), of: array(.integer(1))) == array(.integer(1)))
  }

  @Test func arrayUnionKeepsStoredDuplicates() {
    let stored = array(.integer(1), .integer(1), .double(1))
    #expect(
      value(.arrayUnion([.integer(2)]), of: stored)
        == array(.integer(1), .integer(1), .double(1), .integer(2)))
  }

  @Test func arrayRemoveRemovesEveryEqualElement() {
    let stored = array(.integer(1), .string("a"), .double(1), .null, .integer(1), .string("a"))
    #expect(value(.arrayRemove([.integer(1), .null]), of: stored) == array(.string("a"), .string("a")))
    #expect(value(.arrayRemove([.integer(9)]), of: stored) == stored)
    #expect(value(.arrayRemove([]), of: stored) == stored)
  }

  @Test(
    arguments: [nil, .null, .integer(1), .string("a"), .vector([1]), .map(StoredMap())] as [StoredValue?])
  func arrayTransformTreatsANonArrayAsEmpty(stored: StoredValue?) {
    #expect(value(.arrayUnion([.integer(1), .integer(1)]), of: stored) == array(.integer(1)))
    #expect(value(.arrayUnion([]), of: stored) == array())
    #expect(value(.arrayRemove([.integer(1)]), of: stored) == array())
  }

  /// Elements are compared by the value order, not by identity.
  @Test func arrayElementsAreEqualIfTheValueOrderTreatsThemAsEqual() {
    let groups: [[StoredValue]] = [
      [.integer(1), .double(1)], [.integer(0), .double(0), .double(-0.0)], [.double(.nan), .double(-.nan)],
      [.map(StoredMap([("a", .integer(1))])), .map(StoredMap([("a", .double(1))]))],
      [.map(StoredMap([("a", .array([.double(0)]))])), .map(StoredMap([("a", .array([.integer(0)]))]))],
    ]
    var wrong: [String] = []
    for group in groups {
      for (left, right) in group.flatMap({ left in group.map { (left, $0) } }) {
        let union = value(.arrayUnion([right]), of: array(left))
        if union != array(left) { wrong.append("\(left) united with \(right) is \(union)") }
        let rest = value(.arrayRemove([right]), of: array(left, .null))
        if rest != array(.null) { wrong.append("\(left) and null without \(right) is \(rest)") }
        let both = value(.arrayUnion([left, right]), of: array())
        if both != array(left) { wrong.append("the union of \(left) and \(right) is \(both)") }
      }
    }
    #expect(wrong == [])
  }

  @Test func elementsThatOnlyLookEqualAreDistinct() {
    let pairs: [(StoredValue, StoredValue)] = [
      (.string("\u{E9}"), .string("e\u{301}")), (.integer(1), .string("1")), (.integer(1), .boolean(true)),
      (.string("a"), .bytes([0x61])), (.vector([1]), .map(StoredMap())), (.null, .boolean(false)),
      (.integer((1 << 53) + 1), .double(0x1p53)),
    ]
    let unions = pairs.map { left, right in value(.arrayUnion([right]), of: array(left)) }
    #expect(unions == pairs.map { left, right in array(left, right) })
    let rests = pairs.map { left, right in value(.arrayRemove([right]), of: array(left)) }
    #expect(rests == pairs.map { left, _ in array(left) })
  }

  /// Comparing each element with all others would take minutes.
  @Test func largeArrayTransformsAreFast() {
    let numbers = (0..<30_000).map { StoredValue.integer(Int64($0 * 7919 % 30_011)) }
    #expect(value(.arrayUnion(numbers.reversed()), of: .array(numbers)) == .array(numbers))
    #expect(value(.arrayUnion(numbers + numbers), of: nil) == .array(numbers))
    #expect(value(.arrayRemove(numbers.reversed()), of: .array(numbers)) == array())
  }

  // MARK: Transform results

  @Test func transformResultIsTheNewValueOrNullForArrays() throws {
    let fields = StoredMap([("a", .array([.integer(1)])), ("n", .integer(1))])
    let mutation = Mutation.set(
      path("a", "b"), fields,
      transforms: [
        FieldTransform(field("t"), .serverTimestamp), FieldTransform(field("n"), .increment(.integer(4))),
        FieldTransform(field("n"), .maximum(.double(9.5))), FieldTransform(field("n"), .minimum(.integer(2))),
        FieldTransform(field("a"), .arrayUnion([.integer(2)])),
        FieldTransform(field("a"), .arrayRemove([.integer(1)])),
      ])
    let outcome = try mutation.outcome(on: nil, at: now)
    #expect(
      outcome.transformResults
        == [.timestamp(now), .integer(5), .double(9.5), .integer(2), .null, .null])
    #expect(
      outcome.document?.fields
        == StoredMap([("a", .array([.integer(2)])), ("n", .integer(2)), ("t", .timestamp(now))]))
    #expect(try Mutation.delete(path("a", "b")).outcome(on: nil, at: now).transformResults == [])
  }
}

extension StoredValue {
  fileprivate var isFinite: Bool {
    if case .double(let double) = self { double.isFinite } else { false }
  }
}
