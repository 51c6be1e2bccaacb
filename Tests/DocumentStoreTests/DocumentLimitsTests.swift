// The limits of a document, computed by hand: the largest allowed and the smallest refused sizes.

import Harness
import Testing

@testable import DocumentStore

@Suite struct DocumentLimitsTests {
  /// The name of this document counts (1 + 1) + (1 + 1) + 16 = 20 bytes.
  private let place = path("a", "b")

  private func complaint(_ fields: StoredMap, at path: DocumentPath? = nil) -> String? {
    let document = StoredDocument(
      path: path ?? place, createTime: .first, updateTime: .first, fields: fields)
    return failure { try DocumentLimits.check(document) }?.complaint
  }

  private func bytes(_ count: Int) -> StoredValue { .bytes([UInt8](repeating: 0, count: count)) }
  private func text(_ count: Int) -> String { String(repeating: "n", count: count) }

  // MARK: The arithmetic

  /// A document of `total` bytes, given that `value` counts `size` bytes.
  private func document(of total: Int, with value: StoredValue, of size: Int) -> StoredMap {
    // The name counts 20 bytes, the document 32, and each of the field names "f", "g" and "v" 2 bytes.
    let filler = total - 20 - 32 - 2 - 2 - 2 - size
    return StoredMap([("f", bytes(filler / 2)), ("g", bytes(filler - filler / 2)), ("v", value)])
  }

  /// Sizes computed by hand from §6 of the contract.
  static let sizes: [(value: StoredValue, bytes: Int)] = [
    (.null, 1), (.boolean(false), 1), (.boolean(true), 1), (.integer(0), 8), (.integer(.min), 8),
    (.double(0), 8), (.double(.nan), 8), (.timestamp(.last), 8),
    (.string(""), 1), (.string("abc"), 4), (.string("é€😀"), 2 + 3 + 4 + 1), (.string("e\u{301}"), 4),
    (.string("\0"), 2), (.bytes([]), 0), (.bytes([1, 2, 3]), 3),
    // The target's name, users/jeff/tasks/my_task_id, counts 6 + 5 + 6 + 11 + 16 bytes.
    (.reference(task), 44), (Values.geoPoints.map(StoredValue.geoPoint)[0], 16),
    (.vector([]), 0), (.vector([1, 2, 3]), 24),
    (.array([]), 0), (.array([.null, .integer(1), .string("ab")]), 1 + 8 + 3),
    (.map(StoredMap()), 32), (.map(StoredMap([("n", .null)])), 2 + 1 + 32),
    (.map(StoredMap([("type", .string("Personal")), ("done", .boolean(false))])), 5 + 9 + 5 + 1 + 32),
    (.array([.map(StoredMap([("é", .array([.map(StoredMap())]))]))]), 3 + 32 + 32),
  ]

  private static let task = StoredReference(
    projectID: "a project does not count", databaseID: "(default)",
    path: path("users", "jeff", "tasks", "my_task_id"))

  @Test(arguments: sizes) func valueSizesMatchTheContract(value: StoredValue, bytes: Int) throws {
    #expect(complaint(document(of: 1_048_576, with: value, of: bytes)) == nil)
    let message = try #require(complaint(document(of: 1_048_577, with: value, of: bytes)))
    #expect(message.contains("The document has 1048577 bytes"))
  }

  /// The example from Firestore's documentation, extended: 44 + 32 + 14 + 6 + 17 + 34 = 147.
  @Test func documentSizeIncludesItsNameFieldNamesAndValues() throws {
    let fields: [StoredMap.Entry] = [
      ("type", .string("Personal")), ("done", .boolean(false)), ("priority", .integer(1)),
      ("description", .string("Learn Cloud Firestore")),
    ]
    let full = 1_048_576 - 147 - 2
    #expect(complaint(StoredMap(fields + [("f", bytes(full))]), at: Self.task.path) == nil)
    let message = try #require(
      complaint(StoredMap(fields + [("f", bytes(full + 1))]), at: Self.task.path))
    #expect(message.contains("1048577 bytes, and the limit is 1048576"))
    #expect(message.contains("users/jeff/tasks/my_task_id"))
  }

  // MARK: Shared contents

  /// Such fields take little memory, but a copy of them would take more than a record can have.
  @Test(arguments: 0..<4)
  func fieldsFarBeyondTheLimitAreNotCopied(kind: Int) throws {
    let shared: [StoredValue] = [
      .string(text(10 << 20)), bytes(10 << 20), .vector(Array(repeating: 1, count: 2 << 20)),
      .array(Array(repeating: .string(text(1000)), count: 4000)),
    ]
    let many = StoredValue.array(Array(repeating: shared[kind], count: 300))
    let entries: [StoredMap.Entry] = (0..<300).map { ("f\($0 + 1000)", shared[kind]) }
    let map = StoredMap(entries)
    let directory = TemporaryDirectory()
    let store = try DocumentStore.open(directory.path)
    for fields in [StoredMap([("a", many)]), map, StoredMap([("m", .map(map))])] {
      let refusal = failure { try store.commit([.set(place, fields)]) }
      #expect(refusal?.complaint != nil, "\(String(describing: refusal))")
      let encoded = store.fieldsEncoder.encode { writer, map in
        for (name, value) in fields.entries {
          writer.field(name, in: map)
          writer.value(value)
        }
        #expect(writer.bytes.count < 4 << 20)
      }
      #expect(encoded == nil)
    }
    try store.close()
  }

  /// Each level has the same array four times, so a walk over all of them would never end.
  @Test func sharedArraysInsideArraysAreNotWalked() throws {
    var nested = StoredValue.array([])
    for _ in 0..<19 { nested = .array([nested, nested, nested, nested]) }
    let directory = TemporaryDirectory()
    let store = try DocumentStore.open(directory.path)
    #expect(failure { try store.commit([.set(place, StoredMap([("a", nested)]))]) }?.complaint != nil)
    try store.close()
  }

  // MARK: One value

  @Test func aFieldsValueHasAMebibyteLess89BytesAndNoMore() {
    let limit = 1_048_576 - 89
    let inner: [(Int) -> StoredValue] = [
      bytes,
      { [self] in .string(text($0 - 1)) },
      { [self] in .map(StoredMap([("m", bytes($0 - 32 - 2))])) },
      { [self] in .array([.null, bytes($0 - 1)]) },
      { [self] in .map(StoredMap([("m", .array([.map(StoredMap([("m", bytes($0 - 68))]))]))])) },
    ]
    #expect(inner.compactMap { complaint(StoredMap([("v", $0(limit))])) } == [])
    let messages = inner.map { complaint(StoredMap([("v", $0(limit + 1))])) ?? "accepted" }
    let expected = "field \"v\" has 1048488 bytes, and the limit is 1048487"
    #expect(messages.filter { !$0.contains(expected) } == [])
  }

  @Test func documentSizeSumsAllFields() {
    // The last name is 4 bytes longer than the others: 20 + 32 + 5 × (2 + 209,702) + 4 = 1,048,576.
    var fields = StoredMap(["a", "b", "c", "d", "e1234"].map { ($0, bytes(209_702)) })
    #expect(complaint(fields) == nil)
    fields["a"] = bytes(209_703)
    #expect(complaint(fields) != nil)
    fields["a"] = nil
    #expect(complaint(fields) == nil)
  }

  // MARK: Names

  @Test(arguments: ["n", "é", "€", "😀"]) func aFieldsNameHas1500BytesAndNoMore(letter: String) {
    let longest = String(repeating: letter, count: 1500 / letter.utf8.count)
    let places: [(String) -> StoredMap] = [
      { StoredMap([($0, .null)]) },
      { StoredMap([("m", .map(StoredMap([($0, .null)])))]) },
      { StoredMap([("a", .array([.null, .map(StoredMap([($0, .null)]))]))]) },
    ]
    #expect(places.compactMap { complaint($0(longest)) } == [])
    let messages = places.map { complaint($0(longest + "n")) ?? "accepted" }
    #expect(messages.filter { !$0.contains("1501 bytes, and the limit is 1500") } == [])
  }

  @Test func fieldNamesBeyondTheRecordFormatAreRefused() {
    let counts = [65_535, 65_536, 70_000]
    #expect(counts.filter { complaint(StoredMap([(text($0), .null)])) == nil } == [])
  }

  // MARK: Depth

  @Test(arguments: [(19, true), (20, true), (21, false), (22, false), (500, false)])
  func twentyLevelsAreAllowedAndTwentyOneAreNot(depth: Int, isAllowed: Bool) {
    let maps = (0..<depth).reduce(StoredValue.null) { inner, _ in .map(StoredMap([("m", inner)])) }
    let values: [String: StoredValue] = [
      "maps": maps,
      "arrays and maps in turn": Values.tower(depth),
      "around an empty map": Values.tower(depth - 1, around: .map(StoredMap())),
      // An array cannot directly contain an array, so the lowest level of this nest is a map.
      "around an empty array": Values.tower(depth - 2, around: .map(StoredMap([("m", .array([]))]))),
      "in the second field": .map(StoredMap([("a", .null), ("z", Values.tower(depth - 1))])),
    ]
    var wrong: [String] = []
    for (name, value) in values {
      if (complaint(StoredMap([("v", value)])) == nil) != isAllowed { wrong.append(name) }
      let second = StoredMap([("a", .null), ("z", value)])
      if (complaint(second) == nil) != isAllowed { wrong.append("\(name), after another field") }
    }
    #expect(wrong == [])
  }

  // MARK: References

  @Test(
    arguments: [["a"], ["a", "b", "c"], ["a", ""], ["a", "b/c"], ["a", "__b__"], ["a", ".."], []]
      as [[String]])
  func referencesObeyThePathRulesAtAnyDepth(segments: [String]) {
    let reference = StoredValue.reference(
      StoredReference(
        projectID: "p", databaseID: "d", path: DocumentPath(unchecked: segments)))
    #expect(complaint(StoredMap([("r", reference)]))?.contains("is not valid") == true)
    #expect(complaint(StoredMap([("r", .array([reference]))])) != nil)
    #expect(complaint(StoredMap([("m", .map(StoredMap([("r", reference)])))])) != nil)
  }

  // MARK: Limits besides the size

  @Test func aVectorHas2048DimensionsAndMayHaveNone() {
    var wrong: [String] = []
    for (count, isAllowed) in [(0, true), (1, true), (2048, true), (2049, false), (100_000, false)] {
      let vector = StoredValue.vector([Double](repeating: 0.5, count: count))
      let documents = [
        StoredMap([("v", vector)]), StoredMap([("m", .map(StoredMap([("v", vector)])))]),
        StoredMap([("a", .array([vector]))]),
      ]
      let verdicts = documents.map { complaint($0) == nil }
      if verdicts.contains(!isAllowed) { wrong.append("\(count) dimensions: \(verdicts)") }
    }
    #expect(wrong == [])
    #expect(
      complaint(StoredMap([("v", .vector([Double](repeating: 0, count: 2049)))]))
        == "A vector has 2049 dimensions, and the limit is 2048 (found in field v in document a/b)")
  }

  @Test func arrayDirectlyInAnArrayIsRefusedButAllowedBelowAMap() {
    let inner = StoredValue.array([.integer(1)])
    let message = "Nested arrays are not supported (found in document a/b)"
    #expect(complaint(StoredMap([("a", .array([inner]))])) == message)
    #expect(complaint(StoredMap([("a", .array([.null, .array([])]))])) == message)
    #expect(complaint(StoredMap([("m", .map(StoredMap([("a", .array([inner]))])))])) == message)
    #expect(complaint(StoredMap([("a", .array([.map(StoredMap([("b", .array([inner]))]))]))])) == message)
    #expect(complaint(StoredMap([("a", .array([.map(StoredMap([("b", inner)]))]))])) == nil)
    #expect(complaint(StoredMap([("a", .array([.vector([1]), .vector([])]))])) == nil)
  }

  @Test func aFieldMustHaveAName() {
    let message = "Invalid data. Document fields must not be empty"
    let inner = StoredMap([("", .null)])
    #expect(complaint(inner) == message + " (found in field `` in document a/b)")
    #expect(
      complaint(StoredMap([("m", .map(inner))])) == message + " (found in field m.`` in document a/b)")
    #expect(complaint(StoredMap([("a", .array([.map(inner)]))])) == message + " (found in document a/b)")
  }

  @Test(arguments: ["__", "___", "____", "__a__", "__name__", "__id7__", "__\u{301}__", "__é__"])
  func aNameThatBeginsAndEndsWithTwoUnderscoresIsReserved(name: String) {
    let message = "Invalid data. Document fields cannot begin and end with \"__\""
    let text = StoredFieldPath.canonical([name])
    let inner = StoredMap([(name, .integer(1))])
    #expect(complaint(inner) == message + " (found in field \(text) in document a/b)")
    #expect(
      complaint(StoredMap([("a b", .map(inner))]))
        == message + " (found in field `a b`.\(text) in document a/b)")
    #expect(complaint(StoredMap([("a", .array([.map(inner)]))])) == message + " (found in document a/b)")
  }

  @Test(arguments: ["_", "__a", "a__", "_a_", "__a_", "_a__", "a__b__", "__type__x", "\u{5F}\u{301}_"])
  func otherUnderscoresAreAllowedInFieldNames(name: String) {
    #expect(complaint(StoredMap([(name, .null)])) == nil)
  }

  // MARK: Pending times

  /// A record with a nested pending time could be written, but never read.
  @Test func nestedOrOversizedPendingTimestampIsRefused() throws {
    let time = StoredTimestamp.first
    func nest(_ depth: Int) -> StoredValue {
      (0..<depth).reduce(.null) { value, _ in .map(StoredMap([("d", value)])) }
    }
    let refused: [StoredValue?] = [
      .pendingTimestamp(time, previous: nil), .pendingTimestamp(time, previous: .null), nest(21),
      .map(StoredMap([(text(1501), .null)])), .array([.array([])]), .string(text(1 << 20)),
    ]
    let store = try DocumentStore.openInMemory()
    var accepted: [String] = []
    for previous in refused {
      let value = StoredValue.pendingTimestamp(time, previous: previous)
      let union = FieldTransform(StoredFieldPath(unchecked: ["a"]), .arrayUnion([value]))
      var mutations: [Mutation] = [.set(place, StoredMap(), transforms: [union])]
      for fields in [StoredMap([("v", value)]), StoredMap([("a", .array([value]))])] {
        if complaint(fields) == nil { accepted.append("\(fields)") }
        let mask = FieldMask(fields.entries.map { StoredFieldPath(unchecked: [$0.name]) })
        mutations += [.set(place, fields), .patch(place, fields, mask: mask)]
      }
      for mutation in mutations {
        let refusal = failure { try store.commit([mutation]) }
        if refusal == nil { accepted.append("\(mutation)") }
      }
    }
    #expect(accepted == [])
    let previous: [StoredValue?] = [nil, .integer(1), nest(20)]
    let allowed = previous.map { StoredMap([("v", .pendingTimestamp(time, previous: $0))]) }
    var stored: [StoredMap] = []
    for fields in allowed {
      try store.commit([.set(place, fields)])
      stored.append(try #require(try store.document(at: place)).fields)
    }
    #expect(stored == allowed)
  }

  // MARK: Foreign documents

  @Test func foreignDocumentNeedsAStorablePathAndRecordWithoutPendingTimes() {
    func isForeign(_ fields: StoredMap, at path: DocumentPath? = nil) -> Bool {
      let document = StoredDocument(
        path: path ?? place, createTime: .first, updateTime: .first, fields: fields)
      return failure { try DocumentLimits.checkForeign(document) } == nil
    }
    let pending = StoredValue.pendingTimestamp(.first, previous: nil)
    let long = text(9 << 20)
    let reference = StoredReference(projectID: long, databaseID: "", path: place)
    #expect(isForeign(StoredMap([("n", .integer(1))])))
    #expect(!isForeign(StoredMap([("p", pending)])))
    #expect(!isForeign(StoredMap([("a", .array([.map(StoredMap([("p", pending)]))]))])))
    // The project id of a reference does not count toward the size of a document, and neither do empty byte
    // strings. The records of both documents are too large nevertheless.
    #expect(!isForeign(StoredMap([("r", .reference(reference))])))
    #expect(!isForeign(StoredMap([("b", .array([StoredValue](repeating: .bytes([]), count: 1_700_000)))])))
    let strange: [[String]] = [
      [], ["rooms"], ["rooms", ""], ["__sync__", "globals"], ["rooms", text(1501)], [long, long],
    ]
    let accepted = strange.filter { isForeign(StoredMap(), at: DocumentPath(unchecked: $0)) }
    #expect(accepted.map(\.count) == [])
  }

  @Test func allowedDocumentsHaveStorableRecords() {
    let nulls = StoredValue.array([StoredValue](repeating: .null, count: 1_048_487))
    let shortNames = StoredMap(
      (0..<100_000).map { (name: String(100_000 + $0), value: StoredValue.boolean(true)) })
    let documents = [StoredMap([("n", nulls)]), shortNames]
    #expect(documents.compactMap { complaint($0) } == [])
    let sizes = documents.map { fields in
      RecordCodec.encode(createTime: .first, updateTime: .first, fields: fields).count
    }
    #expect(sizes.filter { $0 > 8 << 20 } == [])
  }
}
