// The effect of mutations on a document.

import Testing

@testable import DocumentStore

@Suite struct MutationTests {
  private let place = path("rooms", "eros")
  private let now = timestamp(1_700_000_000_000_000)
  private let past = timestamp(1_600_000_000_000_000)

  private func existing(_ fields: StoredMap) -> StoredDocument {
    StoredDocument(path: place, createTime: past, updateTime: past, fields: fields)
  }

  private func afterTransforms(_ fields: StoredMap, _ names: [[String]]) throws -> StoredMap? {
    let transforms = names.map { FieldTransform(StoredFieldPath(unchecked: $0), .serverTimestamp) }
    return try Mutation.set(place, fields, transforms: transforms).apply(to: nil, at: now)?.fields
  }

  /// Builds a map from pairs. A dictionary would merge canonically equivalent names.
  private func map(_ entries: KeyValuePairs<String, StoredValue>) -> StoredMap {
    StoredMap(entries.map { (name: $0.key, value: $0.value) })
  }

  private func after(_ mutation: Mutation, on fields: StoredMap?) throws -> StoredMap? {
    try mutation.apply(to: fields.map(existing), at: now)?.fields
  }

  @Test func setCreatesADocument() throws {
    let fields = StoredMap([("a", .integer(1))])
    let after = try Mutation.set(place, fields).apply(to: nil, at: now)
    #expect(after == StoredDocument(path: place, createTime: now, updateTime: now, fields: fields))
  }

  @Test func setReplacesAllFieldsAndKeepsTheTimeOfCreation() throws {
    let fields = StoredMap([("b", .integer(2))])
    let before = existing(StoredMap([("a", .integer(1)), ("b", .integer(1))]))
    let after = try Mutation.set(place, fields).apply(to: before, at: now)
    #expect(after == StoredDocument(path: place, createTime: past, updateTime: now, fields: fields))
  }

  @Test func setWithNoFieldsLeavesAnEmptyDocument() throws {
    let after = try Mutation.set(place, StoredMap()).apply(to: existing(StoredMap([("a", .null)])), at: now)
    #expect(after?.fields.isEmpty == true)
    #expect(after?.createTime == past)
  }

  @Test func deleteLeavesNothingWhetherThereWasADocumentOrNot() throws {
    #expect(try Mutation.delete(place).apply(to: existing(StoredMap()), at: now) == nil)
    #expect(try Mutation.delete(place).apply(to: nil, at: now) == nil)
  }

  @Test func serverTimestampIsTheCommitTimeAndAppliesAfterTheFields() throws {
    #expect(try afterTransforms(StoredMap(), [["at"]]) == StoredMap([("at", .timestamp(now))]))
    #expect(
      try afterTransforms(StoredMap([("at", .string("before")), ("z", .null)]), [["at"]])
        == StoredMap([("at", .timestamp(now)), ("z", .null)]))
  }

  @Test func nestedTransformCreatesItsParentMaps() throws {
    let expected = StoredMap([
      ("a", .map(StoredMap([("b", .map(StoredMap([("c", .timestamp(now))])))])))
    ])
    #expect(try afterTransforms(StoredMap(), [["a", "b", "c"]]) == expected)
  }

  @Test func aNestedTransformLeavesItsNeighboursAlone() throws {
    let fields = StoredMap([("a", .map(StoredMap([("b", .integer(1)), ("d", .integer(2))]))), ("e", .null)])
    #expect(
      try afterTransforms(fields, [["a", "b"], ["a", "c"]])
        == StoredMap([
          ("a", .map(StoredMap([("b", .timestamp(now)), ("c", .timestamp(now)), ("d", .integer(2))]))),
          ("e", .null),
        ]))
  }

  @Test(
    arguments: [
      .null, .integer(1), .string("a"), .array([.map(StoredMap())]), .vector([1]), .timestamp(.first),
    ] as [StoredValue])
  func transformReplacesAScalarParentByAMap(obstacle: StoredValue) throws {
    #expect(
      try afterTransforms(StoredMap([("a", obstacle)]), [["a", "b"]])
        == StoredMap([("a", .map(StoredMap([("b", .timestamp(now))])))]))
  }

  @Test func transformsApplyInTheirOrder() throws {
    let nested = StoredMap([("a", .map(StoredMap([("b", .timestamp(now))])))])
    #expect(try afterTransforms(StoredMap(), [["a"], ["a", "b"]]) == nested)
    #expect(try afterTransforms(StoredMap(), [["a", "b"], ["a"]]) == StoredMap([("a", .timestamp(now))]))
  }

  @Test func theNamesOfATransformAreLiteral() throws {
    let fields = StoredMap([("\u{E9}", .null), ("a", .map(StoredMap([("b", .null)])))])
    let after = try afterTransforms(fields, [["e\u{301}"], ["a.b"], [""], ["", ""]])
    #expect(after?["\u{E9}"] == .null)
    #expect(after?["e\u{301}"] == .timestamp(now))
    #expect(after?["a.b"] == .timestamp(now))
    #expect(after?["a"] == fields["a"])
    #expect(after?[""] == .map(StoredMap([("", .timestamp(now))])))
  }

  // MARK: Unchanged update times

  @Test func aWriteThatChangesNothingKeepsTheUpdateTime() throws {
    let fields = map(["a": .integer(1), "m": .map(map(["b": .array([.double(.nan)])]))])
    let increment = FieldTransform(field("a"), .increment(.integer(0)))
    let unchanged: [Mutation] = try [
      .set(place, fields), .merge(place, map(["a": .integer(1)])), .merge(place, StoredMap()),
      .merge(place, StoredMap(), deletions: [field("none"), field("a", "b"), field("none", "b")]),
      .merge(place, fields, only: [field("m")]), .merge(place, StoredMap(), only: []),
      .update(place, []), .update(place, [(field("m", "b"), .set(.array([.double(.nan)])))]),
      .update(place, [(field("none"), .delete), (field("a"), .compute(.maximum(.integer(1))))]),
      .merge(place, StoredMap(), transforms: [increment]),
      .update(place, [(field("m", "b"), .compute(.arrayUnion([.double(.nan)])))]),
      .verify(place, .exists(true)),
    ]
    let changing = try unchanged.filter { try $0.apply(to: existing(fields), at: now) != existing(fields) }
    #expect(changing == [])
  }

  @Test func aChangeOfTypeIsAChange() throws {
    let before = existing(map(["a": .integer(1), "z": .double(0)]))
    let changed = [map(["a": .double(1), "z": .double(0)]), map(["a": .integer(1), "z": .double(-0.0)])]
    let documents = try changed.map { try Mutation.set(place, $0).apply(to: before, at: now) }
    #expect(documents.map { $0?.updateTime } == [now, now])
    #expect(documents.map { $0?.createTime } == [past, past])
    #expect(documents.map { $0?.fields } == changed)
  }

  @Test func signOfZeroInAGeoPointCountsAsAChange() throws {
    let places = [(0.0, 0.0), (-0.0, 0.0), (0.0, -0.0)].compactMap(StoredGeoPoint.init)
    var times: [StoredTimestamp?] = []
    for (left, right) in zip(places, places.dropFirst()) {
      let before = existing(map(["p": .geoPoint(left)]))
      let after = try Mutation.set(place, map(["p": .geoPoint(right)])).apply(to: before, at: now)
      times.append(after?.updateTime)
    }
    #expect(times == [now, now])
  }

  // MARK: Merge

  @Test func aMergeSetsEachLeafAndLeavesTheRest() throws {
    let before = map([
      "a": .integer(1), "b": .integer(2), "m": .map(map(["x": .integer(3), "y": .map(map(["z": .null]))])),
    ])
    let data = map(["b": .string("new"), "c": .null, "m": .map(map(["y": .map(map(["w": .integer(4)]))]))])
    #expect(
      try after(.merge(place, data), on: before)
        == map([
          "a": .integer(1), "b": .string("new"), "c": .null,
          "m": .map(map(["x": .integer(3), "y": .map(map(["w": .integer(4), "z": .null]))])),
        ]))
  }

  @Test func mergeCreatesTheDocument() throws {
    let data = map(["m": .map(map(["x": .integer(1)]))])
    let created = try Mutation.merge(place, data).apply(to: nil, at: now)
    #expect(created == StoredDocument(path: place, createTime: now, updateTime: now, fields: data))
    #expect(try after(.merge(place, StoredMap()), on: nil) == StoredMap())
    #expect(try after(.merge(place, StoredMap(), deletions: [field("a", "b")]), on: nil) == StoredMap())
  }

  @Test func emptyMapsAndArraysAreLeavesOfAMerge() throws {
    let inner = StoredValue.map(map(["x": .integer(1)]))
    let before = map(["a": .array([inner]), "m": inner])
    #expect(
      try after(.merge(place, map(["m": .map(StoredMap())])), on: before)
        == map(["a": .array([inner]), "m": .map(StoredMap())]))
    #expect(
      try after(.merge(place, map(["a": .array([])])), on: before) == map(["a": .array([]), "m": inner]))
  }

  @Test func aMergeReplacesScalarsByMaps() throws {
    let data = map(["a": .map(map(["b": .map(map(["c": .integer(1)]))]))])
    let obstacles: [StoredValue] = [.null, .integer(1), .array([.map(StoredMap())]), .vector([1])]
    let merged = try obstacles.map { try after(.merge(place, data), on: map(["a": $0, "z": .null])) }
    let expected = map(["a": .map(map(["b": .map(map(["c": .integer(1)]))])), "z": .null])
    #expect(merged == [expected, expected, expected, expected])
  }

  @Test func aMergeRemovesDeletedFieldsAndKeepsTheirParents() throws {
    let before = map(["a": .integer(1), "m": .map(map(["x": .map(map(["y": .null]))]))])
    #expect(
      try after(
        .merge(place, map(["b": .null]), deletions: [field("a"), field("m", "x", "y")]), on: before)
        == map(["b": .null, "m": .map(map(["x": .map(StoredMap())]))]))
  }

  @Test func theTransformsOfAMergeSeeStoredFields() throws {
    let before = map(["m": .map(map(["n": .integer(5)])), "n": .integer(1)])
    let transforms = [
      FieldTransform(field("m", "n"), .increment(.integer(1))),
      FieldTransform(field("at"), .serverTimestamp),
    ]
    #expect(
      try after(.merge(place, map(["n": .integer(2)]), transforms: transforms), on: before)
        == map(["at": .timestamp(now), "m": .map(map(["n": .integer(6)])), "n": .integer(2)]))
    #expect(
      try after(.merge(place, StoredMap(), transforms: transforms), on: nil)
        == map(["at": .timestamp(now), "m": .map(map(["n": .integer(1)]))]))
  }

  @Test func theTransformsOfASetSeeOnlyItsOwnFields() throws {
    let before = map(["n": .integer(5), "a": .array([.integer(1)])])
    let transforms = [
      FieldTransform(field("n"), .increment(.integer(5))),
      FieldTransform(field("a"), .arrayUnion([.integer(2)])),
    ]
    #expect(
      try after(.set(place, StoredMap(), transforms: transforms), on: before)
        == map(["a": .array([.integer(2)]), "n": .integer(5)]))
  }

  // MARK: Merge of listed fields

  @Test func onlyMaskedPathsAreWritten() throws {
    let before = map(["a": .integer(1), "m": .map(map(["x": .integer(2), "y": .integer(3)]))])
    let data = map([
      "a": .integer(9), "b": .integer(9), "m": .map(map(["x": .integer(9), "z": .integer(9)])),
    ])
    #expect(
      try after(.merge(place, data, only: [field("b"), field("m", "x")]), on: before)
        == map([
          "a": .integer(1), "b": .integer(9), "m": .map(map(["x": .integer(9), "y": .integer(3)])),
        ]))
  }

  @Test func maskedMapReplacesTheWholeMap() throws {
    let before = map(["m": .map(map(["x": .integer(2), "y": .integer(3)]))])
    let data = map(["m": .map(map(["x": .integer(9)]))])
    #expect(try after(.merge(place, data, only: [field("m")]), on: before) == data)
    #expect(try after(.merge(place, data, only: [field("m"), field("m", "x")]), on: before) == data)
  }

  @Test func mergeWithAnEmptyMaskOnlyCreatesTheDocument() throws {
    let data = map(["a": .integer(1)])
    let transforms = [FieldTransform(field("at"), .serverTimestamp)]
    let write = try Mutation.merge(place, data, only: [], deletions: [field("b")], transforms: transforms)
    #expect(try after(write, on: nil) == StoredMap())
    #expect(try after(write, on: map(["b": .null])) == map(["b": .null]))
  }

  @Test func deletionsAndTransformsOutsideTheMaskAreIgnored() throws {
    let before = map(["a": .integer(1), "b": .integer(2), "n": .integer(3), "o": .integer(4)])
    let write = try Mutation.merge(
      place, StoredMap(), only: [field("a"), field("n")], deletions: [field("a"), field("b")],
      transforms: [
        FieldTransform(field("n"), .increment(.integer(1))),
        FieldTransform(field("o"), .increment(.integer(1))),
      ])
    #expect(
      try after(write, on: before) == map(["b": .integer(2), "n": .integer(4), "o": .integer(4)]))
  }

  /// A listed map is replaced as a whole, so its transforms do not see the previous values.
  @Test func maskedMapOfSentinelsIsWrittenAsAMap() throws {
    let before = map([
      "d": .map(map(["x": .integer(1)])), "e": .null, "m": .map(map(["n": .integer(3), "x": .null])),
    ])
    let write = try Mutation.merge(
      place, map(["e": .map(map(["a": .null]))]), only: [field("m"), field("d"), field("e")],
      deletions: [field("d", "x"), field("e", "f", "g"), field("e", "h")],
      transforms: [FieldTransform(field("m", "n"), .increment(.integer(1)))])
    #expect(
      try after(write, on: before)
        == map([
          "d": .map(StoredMap()), "e": .map(map(["a": .null, "f": .map(StoredMap())])),
          "m": .map(map(["n": .integer(1)])),
        ]))
  }

  @Test func maskedPathMustBeInTheData() throws {
    let data = map(["a": .integer(1), "m": .map(map(["x": .null]))])
    let deletions = [field("d", "e")]
    let missing = [field("b"), field("a", "b"), field("m", "y"), field("d", "e", "f"), field("M")]
    let complaints = missing.map { path in
      failure { try Mutation.merge(place, data, only: [field("a"), path], deletions: deletions) }?.complaint
    }
    let expected = missing.map { path in
      "Field '\(path.canonical)' is specified in your field mask but missing from your input data."
    }
    #expect(complaints == expected)
    #expect(throws: Never.self) {
      try Mutation.merge(
        place, data, only: [field("m", "x"), field("m"), field("d"), field("d", "e")], deletions: deletions)
    }
  }

  @Test func missingMaskedPathIsReportedInCanonicalForm() {
    let complaint = failure { try Mutation.merge(place, StoredMap(), only: [field("a.b", "c")]) }?.complaint
    #expect(complaint?.hasPrefix("Field '`a.b`.c' is specified") == true)
  }

  // MARK: Update

  @Test func updateSetsEachPathAndCreatesParentMaps() throws {
    let before = map(["a": .integer(1), "m": .map(map(["x": .integer(2)])), "o": .integer(3)])
    let update = try Mutation.update(
      place,
      [
        (field("a"), .set(.string("new"))), (field("m", "y"), .set(.integer(4))),
        (field("n", "b", "c"), .set(.null)), (field("o", "p"), .set(.boolean(true))),
      ])
    #expect(
      try after(update, on: before)
        == map([
          "a": .string("new"), "m": .map(map(["x": .integer(2), "y": .integer(4)])),
          "n": .map(map(["b": .map(map(["c": .null]))])), "o": .map(map(["p": .boolean(true)])),
        ]))
  }

  @Test func mapSetByAnUpdateReplacesTheWholeValue() throws {
    let before = map(["m": .map(map(["x": .integer(1), "y": .integer(2)]))])
    let value = map(["x": .integer(9)])
    #expect(
      try after(.update(place, [(field("m"), .set(.map(value)))]), on: before) == map(["m": .map(value)]))
  }

  @Test func deletingTheLastFieldLeavesAnEmptyMap() throws {
    let before = map(["m": .map(map(["x": .integer(1)]))])
    #expect(
      try after(.update(place, [(field("m", "x"), .delete)]), on: before) == map(["m": .map(StoredMap())]))
    #expect(try after(.update(place, [(field("m"), .delete)]), on: before) == StoredMap())
  }

  @Test func deletingAMissingFieldChangesNothing() throws {
    let before = map(["a": .integer(1), "m": .map(map(["x": .integer(1)]))])
    let missing = [
      field("b"), field("b", "c", "d"), field("a", "b"), field("m", "y"), field("m", "x", "y"),
      field("\u{E9}"),
    ]
    let changing = try missing.filter { try after(.update(place, [($0, .delete)]), on: before) != before }
    #expect(changing == [])
  }

  @Test func namesInAnUpdateAreComparedByTheirBytes() throws {
    let before = map(["\u{E9}": .integer(1), "e\u{301}": .integer(2)])
    #expect(
      try after(.update(place, [(field("e\u{301}"), .delete)]), on: before) == map(["\u{E9}": .integer(1)]))
    #expect(
      try after(.update(place, [(field("\u{E9}"), .set(.null))]), on: before)
        == map(["\u{E9}": .null, "e\u{301}": .integer(2)]))
  }

  @Test func dotInALiteralNameIsNoSeparator() throws {
    let before = map(["a": .map(map(["b": .integer(1)]))])
    #expect(
      try after(.update(place, [(field("a.b"), .set(.integer(2)))]), on: before)
        == map(["a": .map(map(["b": .integer(1)])), "a.b": .integer(2)]))
    #expect(
      try after(.update(place, [(StoredFieldPath(dotted: "a.b"), .set(.integer(2)))]), on: before)
        == map(["a": .map(map(["b": .integer(2)]))]))
  }

  @Test func theTransformsOfAnUpdateSeeStoredFieldsUnlessReplaced() throws {
    let before = map(["m": .map(map(["n": .integer(5), "x": .null])), "n": .integer(1)])
    let increment = FieldTransform.Operation.increment(.integer(1))
    #expect(
      try after(
        .update(place, [(field("n"), .compute(increment)), (field("m", "n"), .compute(increment))]),
        on: before)
        == map(["m": .map(map(["n": .integer(6), "x": .null])), "n": .integer(2)]))
    #expect(
      try after(
        .update(
          place, [(field("m"), .set(.map(map(["y": .null]))))],
          transforms: [FieldTransform(field("m", "n"), increment)]), on: before)
        == map(["m": .map(map(["n": .integer(1), "y": .null])), "n": .integer(1)]))
  }

  @Test func fieldsOfAnUpdateMayNotOverlap() throws {
    let pairs = [
      (field("a"), field("a", "b")), (field("a"), field("a")), (field("a"), field("a", "b", "c")),
      (field("a.b"), field("a.b")),
    ]
    let changes: [Mutation.FieldChange] = [.set(.null), .delete, .compute(.serverTimestamp)]
    var wrong: [String] = []
    for (outer, inner) in pairs {
      for (one, other) in changes.flatMap({ one in changes.map { (one, $0) } }) {
        let complaint = failure {
          try Mutation.update(place, [(inner, one), (field("z"), .delete), (outer, other)])
        }?.complaint
        let expected =
          "An update cannot change both '\(outer.canonical)' and '\(inner.canonical)' (found "
          + "in document rooms/eros)"
        if complaint != expected {
          wrong.append("\(inner): \(one), \(outer): \(other): \(complaint ?? "no complaint")")
        }
      }
    }
    #expect(wrong == [])
    #expect(throws: Never.self) {
      try Mutation.update(
        place,
        [
          (field("a", "b"), .delete), (field("a", "c"), .delete), (field("a.b"), .delete),
          (field("ab"), .delete), (field("\u{E9}"), .delete), (field("e\u{301}"), .delete),
        ])
    }
  }

  // MARK: Preconditions

  /// Every kind of write, with a precondition.
  private func writes(_ precondition: Precondition) throws -> [(Mutation, verb: String)] {
    let fields = map(["a": .integer(1)])
    return [
      (.set(place, fields, precondition: precondition), "update"),
      (.patch(place, fields, mask: FieldMask([field("a")]), precondition: precondition), "update"),
      (try .update(place, [(field("a"), .set(.null))], precondition: precondition), "update"),
      (.delete(place, precondition: precondition), "delete"), (.verify(place, precondition), "verify"),
    ]
  }

  private func result(_ mutation: Mutation, on base: StoredDocument?) -> DocumentStoreError? {
    failure { try mutation.apply(to: base, at: now) }
  }

  /// The errors of all writes with a precondition.
  private func errors(_ precondition: Precondition, on base: StoredDocument?) throws -> [String] {
    try writes(precondition).compactMap { write, _ in result(write, on: base).map { "\(write): \($0)" } }
  }

  @Test func aMissingRequiredDocumentIsNotFound() throws {
    let writes = try writes(.exists(true))
    let expected = writes.map { DocumentStoreError.notFound("No document to \($0.verb): rooms/eros") }
    #expect(writes.map { result($0.0, on: nil) } == expected)
    #expect(try errors(.exists(true), on: existing(StoredMap())) == [])
  }

  @Test func existsFalseOnAnExistingDocumentFailsWithAlreadyExists() throws {
    let writes = try writes(.exists(false))
    let expected = DocumentStoreError.alreadyExists("Document already exists: rooms/eros")
    #expect(writes.map { result($0.0, on: existing(StoredMap())) } == writes.map { _ in expected })
    #expect(try errors(.exists(false), on: nil) == [])
  }

  @Test func aRequiredUpdateTimeMustMatchToTheMicrosecond() throws {
    #expect(try errors(.updateTime(past), on: existing(StoredMap())) == [])
    var wrong: [String] = []
    for time in [timestamp(past.microseconds + 1), timestamp(past.microseconds - 1), now] {
      for (write, _) in try writes(.updateTime(time)) {
        for base in [existing(StoredMap()), nil] {
          let error = result(write, on: base)
          var isExpected = false
          if case .failedPrecondition(let message) = error {
            let stored = base?.updateTime.microseconds ?? 0
            isExpected =
              message == "the stored version (\(stored)) does not match the required base version "
              + "(\(time.microseconds)): rooms/eros"
          }
          if !isExpected { wrong.append("\(write): \(error.debugDescription)") }
        }
      }
    }
    #expect(wrong == [])
  }

  @Test func withoutAPreconditionEveryWriteSucceeds() throws {
    #expect(try errors(.none, on: nil) == [])
    #expect(try errors(.none, on: existing(StoredMap())) == [])
  }

  @Test func updateRequiresItsDocumentByDefault() throws {
    let update = try Mutation.update(place, [])
    #expect(update.precondition == .exists(true))
    #expect(result(update, on: nil) == .notFound("No document to update: rooms/eros"))
    #expect(Mutation.set(place, StoredMap()).precondition == .none)
    #expect(Mutation.merge(place, StoredMap()).precondition == .none)
    #expect(Mutation.delete(place).precondition == .none)
  }

  @Test func aVerificationLeavesTheDocumentAsItIs() throws {
    let before = existing(map(["a": .null]))
    #expect(try Mutation.verify(place, .updateTime(past)).apply(to: before, at: now) == before)
    #expect(try Mutation.verify(place, .exists(false)).apply(to: nil, at: now) == nil)
    #expect(try Mutation.verify(place, .none).apply(to: before, at: now) == before)
  }

  // MARK: Nested fields

  @Test func aPathFindsNestedValues() {
    let fields = map([
      "a": .map(map(["b": .map(map(["c": .integer(1)]))])), "a.b": .integer(2), "\u{E9}": .integer(3),
    ])
    #expect(fields[field("a", "b", "c")] == .integer(1))
    #expect(fields[field("a", "b")] == .map(map(["c": .integer(1)])))
    #expect(fields[field("a.b")] == .integer(2))
    #expect(fields[field("a", "b", "c", "d")] == nil)
    #expect(fields[field("a", "x", "c")] == nil)
    #expect(fields[field("e\u{301}")] == nil)
  }
}
