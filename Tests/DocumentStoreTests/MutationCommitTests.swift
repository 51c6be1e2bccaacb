// Mutations through the store: dependencies on stored documents and on each other, and rejected commits.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct MutationCommitTests {
  private let store: DocumentStore
  private let place = path("rooms", "eros")
  private let other = path("rooms", "other")
  private let fields = StoredMap([
    ("m", .map(StoredMap([("x", .integer(1)), ("y", .integer(2))]))), ("n", .integer(3)),
  ])

  init() throws {
    store = try DocumentStore.open(
      "/store", options: DocumentStore.Options(), platform: SimulatedDisk().platform(seed: 1))
  }

  private func complaint(_ mutations: Mutation...) -> String? {
    failure { try store.commit(mutations) }?.complaint
  }

  private func complaint(_ write: () throws -> Mutation) -> String? {
    failure { try store.commit([write()]) }?.complaint
  }

  // MARK: Dependencies

  @Test func patchesBuildOnStoredDocuments() throws {
    let createTime = try store.commit([.set(place, fields)])
    try store.commit([.merge(place, StoredMap([("m", .map(StoredMap([("x", .null)])))]))])
    let time = try store.commit([
      .update(
        place, [(field("n"), .compute(.increment(.integer(4)))), (field("m", "y"), .delete)])
    ])
    #expect(
      try store.document(at: place)
        == StoredDocument(
          path: place, createTime: createTime, updateTime: time,
          fields: StoredMap([("m", .map(StoredMap([("x", .null)]))), ("n", .integer(7))])))
  }

  @Test func mutationsOfOneDocumentSeeEachOther() throws {
    let increment = try Mutation.update(place, [(field("n"), .compute(.increment(.integer(1))))])
    try store.commit([
      .set(place, StoredMap(), precondition: .exists(false)), increment, increment,
      .set(other, fields), .delete(other, precondition: .exists(true)),
      .merge(place, StoredMap([("m", .map(fields))])), .update(place, [(field("m", "m"), .delete)]),
      increment, .verify(other, .exists(false)), .verify(place, .exists(true)),
    ])
    #expect(
      try store.document(at: place)?.fields
        == StoredMap([("m", .map(StoredMap([("n", .integer(3))]))), ("n", .integer(3))]))
    #expect(try store.document(at: other) == nil)
  }

  @Test func aVerifiedDocumentCanBeChangedInTheSameCommit() throws {
    let time = try store.commit([.set(place, fields)])
    try store.commit([
      .verify(place, .updateTime(time)), .merge(place, StoredMap([("n", .null)])),
    ])
    var expected = fields
    expected["n"] = .null
    #expect(try store.document(at: place)?.fields == expected)
  }

  @Test func aVerificationWithoutAPreconditionChangesNothing() throws {
    let time = try store.commit([.set(place, fields)])
    try store.commit([.verify(place, .none), .verify(other, .none)])
    #expect(try store.document(at: place)?.updateTime == time)
    #expect(store.count == 1)
  }

  @Test func afterADeletionInTheSameCommitThereIsNoDocument() throws {
    let firstTime = try store.commit([.set(place, fields)])
    let update = try Mutation.update(place, [(field("n"), .set(.null))])
    #expect(
      failure { try store.commit([.delete(place), update]) }
        == .notFound("No document to update: rooms/eros"))
    let time = try store.commit([.delete(place), .merge(place, StoredMap([("a", .null)]))])
    #expect(time > firstTime)
    #expect(
      try store.document(at: place)
        == StoredDocument(
          path: place, createTime: time, updateTime: time, fields: StoredMap([("a", .null)])))
  }

  @Test func documentCreatedAndDeletedInOneCommitLeavesNothing() throws {
    try store.commit([.set(place, fields), .delete(place, precondition: .exists(true))])
    #expect(store.count == 0)
    #expect(try store.document(at: place) == nil)
  }

  @Test func aWriteWithoutChangesCommitsAndKeepsTheUpdateTime() throws {
    let first = try store.commit([.set(place, fields)])
    let second = try store.commit([.set(place, fields), .merge(place, StoredMap()), .update(place, [])])
    #expect(second > first)
    #expect(try store.document(at: place)?.updateTime == first)
    let third = try store.commit([.set(place, StoredMap()), .set(place, fields)])
    #expect(try store.document(at: place)?.updateTime == third)
    #expect(try store.document(at: place)?.createTime == first)
  }

  // MARK: Preconditions

  @Test func anyFailedPreconditionRefusesTheWholeCommit() throws {
    let time = try store.commit([.set(place, fields)])
    let failing: [(Mutation, (DocumentStoreError?) -> Bool)] = [
      (try .update(other, []), { if case .notFound = $0 { true } else { false } }),
      (.delete(other, precondition: .exists(true)), { if case .notFound = $0 { true } else { false } }),
      (.verify(place, .exists(false)), { if case .alreadyExists = $0 { true } else { false } }),
      (
        .set(place, fields, precondition: .exists(false)),
        { if case .alreadyExists = $0 { true } else { false } }
      ),
      (
        .verify(place, .updateTime(timestamp(time.microseconds - 1))),
        { if case .failedPrecondition = $0 { true } else { false } }
      ),
      (
        .delete(other, precondition: .updateTime(time)),
        { if case .failedPrecondition = $0 { true } else { false } }
      ),
    ]
    var wrong: [String] = []
    for (mutation, isExpected) in failing {
      let mutations = [
        Mutation.set(path("rooms", "new"), fields), mutation, .set(path("rooms", "newer"), fields),
      ]
      for commit in [mutations, mutations.reversed(), [mutation]] {
        let error = failure { try store.commit(commit) }
        let isUnchanged = try store.count == 1 && store.document(at: place)?.updateTime == time
        if !isExpected(error) || !isUnchanged { wrong.append("\(mutation): \(error.debugDescription)") }
      }
    }
    #expect(wrong == [])
    // The refused commits have consumed no commit time.
    #expect(try store.commit([.delete(place)]).microseconds == time.microseconds + 1)
  }

  @Test func updateTimePreconditionHoldsUntilTheNextChange() throws {
    try store.commit([.set(place, fields)])
    let read = try #require(try store.document(at: place)?.updateTime)
    try store.commit([.set(other, fields), .set(place, fields)])
    try store.commit([.update(place, [(field("n"), .set(.null))], precondition: .updateTime(read))])
    guard
      case .failedPrecondition = failure(of: {
        try store.commit([.delete(place, precondition: .updateTime(read))])
      })
    else {
      Issue.record("an old update time was accepted")
      return
    }
  }

  // MARK: Limits

  private func transforms(_ count: Int, of document: DocumentPath) -> Mutation {
    .merge(
      document, StoredMap(),
      transforms: (0..<count).map { FieldTransform(field("f\($0)"), .increment(.integer(1))) })
  }

  @Test func aDocumentHas500TransformsInOneCommitAndNoMore() throws {
    #expect(complaint(transforms(500, of: place), transforms(500, of: other)) == nil)
    let message = "The commit has 501 field transforms, and the limit is 500 (found in document rooms/eros)"
    #expect(complaint(transforms(501, of: place)) == message)
    #expect(
      complaint(transforms(250, of: place), transforms(1, of: other), transforms(251, of: place)) == message)
    #expect(complaint(transforms(499, of: place), .delete(place), transforms(2, of: place)) == message)
    #expect(complaint(transforms(250, of: place), .delete(place), transforms(250, of: place)) == nil)
    #expect(try store.document(at: place)?.fields.count == 250)
  }

  @Test func theElementsOfAnArrayTransformObeyTheRulesForElements() throws {
    let deep = Values.tower(19, around: .map(StoredMap()))
    let bad: [(StoredValue, String)] = [
      (.array([.null]), "Nested arrays are not supported (found in document rooms/eros)"),
      (
        .map(StoredMap([("__x__", .null)])),
        "Invalid data. Document fields cannot begin and end with \"__\" (found in document rooms/eros)"
      ),
      (
        .map(StoredMap([("", .null)])),
        "Invalid data. Document fields must not be empty (found in document rooms/eros)"
      ),
      (
        .vector([Double](repeating: 0, count: 2049)),
        "A vector has 2049 dimensions, and the limit is 2048 (found in document rooms/eros)"
      ),
      (
        .map(StoredMap([("a", deep)])), "Maps and arrays may be nested 20 deep (found in document rooms/eros)"
      ),
    ]
    var wrong: [String] = []
    for (element, message) in bad {
      for operation in [FieldTransform.Operation.arrayUnion([.null, element]), .arrayRemove([element])] {
        let transforms = [FieldTransform(field("a"), operation)]
        let merged = complaint(.merge(place, StoredMap(), transforms: transforms))
        let replaced = complaint(.set(place, StoredMap(), transforms: transforms))
        if merged != message { wrong.append("merge, \(operation): \(merged ?? "no complaint")") }
        if replaced != message { wrong.append("set, \(operation): \(replaced ?? "no complaint")") }
      }
    }
    #expect(wrong == [])
    #expect(store.count == 0)
    let good: [StoredValue] = [.map(StoredMap([("b", .array([.integer(1)]))])), .vector([]), .null]
    #expect(
      complaint(.merge(place, StoredMap(), transforms: [FieldTransform(field("a"), .arrayUnion(good))]))
        == nil)
    #expect(try store.document(at: place)?.fields == StoredMap([("a", .array(good))]))
  }

  /// The elements that a mutation removes from an array are not stored, but they count toward the size of the
  /// request.
  @Test func theElementsToBeRemovedCountAsBytesOfTheRequest() {
    func removal(_ count: Int, of document: DocumentPath) -> Mutation {
      let elements = [StoredValue.bytes([UInt8](repeating: 0, count: count))]
      return .merge(
        document, StoredMap(), transforms: [FieldTransform(field("a"), .arrayRemove(elements))])
    }
    let half = 5 << 20
    // The names rooms/eros and rooms/other count as 27 and 28 bytes, and each field counts as 2 bytes.
    #expect(complaint(removal(half, of: place), removal(half - 59, of: other)) == nil)
    #expect(
      complaint(removal(half, of: place), removal(half - 58, of: other))
        == "The request has 10485761 bytes, and the limit is 10485760.")
  }

  /// The name counts as 27 bytes, the path m.f as 4 bytes and the number as 8 bytes. The remaining bytes of
  /// the request are those of m.b.
  @Test func aPatchCountsOnlyMaskedFields() throws {
    func patch(_ count: Int, only: StoredFieldPath...) throws -> Mutation {
      let bytes = StoredValue.bytes([UInt8](repeating: 0, count: count))
      let data = StoredMap([("m", .map(StoredMap([("b", bytes), ("f", .integer(1))])))])
      return try .merge(place, data, only: only)
    }
    #expect(try complaint(patch(11 << 20, only: field("m", "f"))) == nil)
    #expect(
      try complaint(patch((10 << 20) - 42, only: field("m", "f"), field("m", "b")))
        == "The request has 10485761 bytes, and the limit is 10485760.")
    let message = try complaint(patch((10 << 20) - 43, only: field("m", "f"), field("m", "b")))
    #expect(message?.hasPrefix("The value of field \"m\" has") == true)
    let stored = StoredMap([("m", .map(StoredMap([("f", .integer(1))])))])
    #expect(try store.document(at: place)?.fields == stored)
  }

  /// Sixteen documents of one MiB exceed one WAL frame.
  private func storeLargeDocuments(_ count: Int) throws -> [DocumentPath] {
    let paths = (0..<count).map { path("large", "document\($0)") }
    for path in paths {
      let filling = StoredValue.bytes([UInt8](repeating: 0, count: 1_040_000))
      try store.commit([.set(path, StoredMap([("filling", filling), ("n", .integer(0))]))])
    }
    return paths
  }

  @Test func aSmallRequestMayChangeMoreThanTenMebibytes() throws {
    let paths = try storeLargeDocuments(16)
    try store.commit(
      paths.map { try .update($0, [(field("n"), .compute(.increment(.integer(1))))]) })
    let wrong = try paths.filter { try store.document(at: $0)?.fields["n"] != .integer(1) }
    #expect(wrong == [])
  }

  @Test func anOversizedCommitIsRefusedWithoutEffect() throws {
    let paths = try storeLargeDocuments(17)
    let message = failure {
      try store.commit(
        paths.map { try .update($0, [(field("n"), .compute(.increment(.integer(1))))]) })
    }?.complaint
    #expect(message?.contains("the limit is 16777216") == true)
    let wrong = try paths.filter { try store.document(at: $0)?.fields["n"] != .integer(0) }
    #expect(wrong == [])
  }

  /// All kinds of writes that name a field.
  private func writes(naming field: StoredFieldPath) -> [() throws -> Mutation] {
    [
      { .patch(place, StoredMap(), mask: FieldMask([field])) },
      { .merge(place, StoredMap(), deletions: [field]) },
      { .merge(place, StoredMap(), transforms: [FieldTransform(field, .serverTimestamp)]) },
      { .set(place, StoredMap(), transforms: [FieldTransform(field, .arrayRemove([]))]) },
      { try .update(place, [(field, .delete)], precondition: .none) },
      { try .update(place, [(field, .compute(.serverTimestamp))], precondition: .none) },
      { try .update(place, [(field, .set(.null))], precondition: .none) },
    ]
  }

  @Test func pathsOfFieldsObeyTheRulesForNames() throws {
    let reserved = "Invalid data. Document fields cannot begin and end with \"__\""
    let bad: [(StoredFieldPath, String)] = [
      (.documentID, "\(reserved) (found in field __name__ in document rooms/eros)"),
      (field("a", "__", "b"), "\(reserved) (found in field a.__.b in document rooms/eros)"),
      (
        field("a", ""),
        "Invalid data. Document fields must not be empty (found in field a.`` in document rooms/eros)"
      ),
    ]
    var wrong: [String] = []
    for (path, message) in bad {
      for (number, write) in writes(naming: path).enumerated() {
        let found = complaint(write)
        if found != message { wrong.append("\(path), write \(number): \(found ?? "no complaint")") }
      }
    }
    #expect(wrong == [])
    #expect(store.count == 0)
  }

  @Test func aPathHas1500BytesWithItsDotsAndNoMore() throws {
    func name(_ count: Int) -> String { String(repeating: "n", count: count) }
    let longest = [field(name(1500)), field(name(700), name(799)), field("é" + name(1498))]
    let refused = longest.flatMap { writes(naming: $0) }.compactMap { write in complaint(write) }
    #expect(refused == [])
    let tooLong = [field(name(1501)), field(name(700), name(800)), field("é" + name(1499))]
    let complaints = tooLong.flatMap { writes(naming: $0) }.map { write in complaint(write) }
    let expected = "A field's path has 1501 bytes, and the limit is 1500 (found in document rooms/eros)"
    #expect(complaints == Array(repeating: expected, count: 21))
  }

  @Test func aValueMayNotNestMoreThanTwentyLevels() throws {
    let deepest = StoredFieldPath(unchecked: Array(repeating: "m", count: 21))
    let tooDeep = StoredFieldPath(unchecked: Array(repeating: "m", count: 22))
    let shallow = try writes(naming: deepest).map { try $0() }
      .filter { write in write.transforms.allSatisfy { $0.operation.elements == nil } }
    #expect(shallow.count == 6)
    #expect(shallow.filter { write in complaint(write) != nil } == [])
    #expect(
      complaint(.set(place, StoredMap(), transforms: [FieldTransform(deepest, .arrayRemove([]))])) != nil)
    #expect(complaint(try .update(place, [(tooDeep, .set(.null))]))?.contains("nested 20 deep") == true)
    #expect(
      complaint(try .update(place, [(tooDeep, .compute(.serverTimestamp))]))?.contains("nested 20 deep")
        == true)
    #expect(complaint(try .update(place, [(tooDeep, .delete)])) == nil)
  }

  /// Input that has not been validated is never processed recursively.
  @Test func aPathOfAnyDepthIsRefusedWithoutATrap() async {
    await #expect(processExitsWith: .success) {
      let store = try DocumentStore.open(
        "/store", options: DocumentStore.Options(), platform: SimulatedDisk().platform(seed: 1))
      let endless = StoredFieldPath(unchecked: Array(repeating: "m", count: 500_000))
      for write: Mutation in [
        .merge(path("a", "b"), StoredMap(), deletions: [endless]),
        .patch(path("a", "b"), StoredMap(), mask: FieldMask([endless])),
        .merge(path("a", "b"), StoredMap(), transforms: [FieldTransform(endless, .increment(.integer(1)))]),
      ] {
        precondition(failure { try store.commit([write]) }?.complaint != nil)
      }
      let value = Mutation.FieldChange.set(.null)
      precondition(failure { try Mutation.update(path("a", "b"), [(endless, value)]) }?.complaint != nil)
      precondition(
        failure {
          try Mutation.merge(path("a", "b"), StoredMap(), only: [field("m")], deletions: [endless])
        }?.complaint != nil)
      precondition(store.count == 0)
    }
  }

  @Test func aPatchThatWouldMakeADocumentTooLargeIsRefused() throws {
    let half = StoredValue.bytes([UInt8](repeating: 0, count: 600_000))
    let time = try store.commit([.set(place, StoredMap([("a", half)]))])
    #expect(complaint(.merge(place, StoredMap([("b", half)])))?.contains("limit is 1048576") == true)
    #expect(complaint(try .update(place, [(field("a", "b"), .set(half))])) == nil)
    #expect(try store.document(at: place)?.createTime == time)
  }

  // MARK: Damage

  private func damage(_ store: DocumentStore, on disk: SimulatedDisk) throws -> DocumentStore {
    try store.close()
    let bytes = try ByteStore.open("/store", options: ByteStore.Options(), platform: disk.platform(seed: 2))
    let key = DocumentKey.encode(place)
    let record = try #require(try bytes.value(for: key))
    var batch = Batch(stamp: bytes.lastStamp + 1)
    try batch.put(Array(record.prefix(9)) + [0xFF], for: key)
    try bytes.commit(batch)
    try bytes.close()
    return try DocumentStore.open(
      "/store", options: DocumentStore.Options(), platform: disk.platform(seed: 3))
  }

  @Test func damagedFieldsCanBeReplacedOrDeletedButNotMerged() throws {
    var wrong: [String] = []
    for repair: Mutation in [
      .set(place, fields), .set(place, StoredMap()), .delete(place),
      .delete(place, precondition: .exists(true)), .set(place, fields, precondition: .exists(true)),
    ] {
      let disk = SimulatedDisk()
      let whole = try DocumentStore.open(
        "/store", options: DocumentStore.Options(), platform: disk.platform(seed: 1))
      let createTime = try whole.commit([.set(place, fields)])
      let store = try damage(whole, on: disk)
      for build: Mutation in [
        .merge(place, StoredMap()), try .update(place, []), .verify(place, .exists(true)),
      ] {
        guard case .corrupted = failure(of: { try store.commit([build]) }) else {
          wrong.append("a damaged document was built on: \(build)")
          continue
        }
      }
      let time = try store.commit([repair])
      if let document = try store.document(at: place) {
        if document.createTime != createTime || document.updateTime != time {
          wrong.append("\(repair) left \(document), created at \(createTime), changed at \(time)")
        }
      } else if repair.change != .delete {
        wrong.append("\(repair) left nothing")
      }
      try store.close()
    }
    #expect(wrong == [])
  }
}
