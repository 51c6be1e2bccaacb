// The limits of a document, computed by hand: the largest allowed and the smallest refused sizes.

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

  // MARK: One value

  @Test func aFieldsValueHasAMebibyteLess89BytesAndNoMore() throws {
    let limit = 1_048_576 - 89
    let inner: [(Int) -> StoredValue] = [
      bytes,
      { [self] in .string(text($0 - 1)) },
      { [self] in .map(StoredMap([("m", bytes($0 - 32 - 2))])) },
      { [self] in .array([.null, bytes($0 - 1)]) },
      { [self] in .map(StoredMap([("m", .array([.map(StoredMap([("m", bytes($0 - 68))]))]))])) },
    ]
    for value in inner {
      #expect(complaint(StoredMap([("v", value(limit))])) == nil)
      let message = try #require(complaint(StoredMap([("v", value(limit + 1))])))
      #expect(message.contains("field \"v\" has 1048488 bytes, and the limit is 1048487"))
    }
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

  @Test func aFieldsNameHas1500BytesAndNoMore() {
    for letter in ["n", "é", "€", "😀"] {
      let longest = String(repeating: letter, count: 1500 / letter.utf8.count)
      let places: [(String) -> StoredMap] = [
        { StoredMap([($0, .null)]) },
        { StoredMap([("m", .map(StoredMap([($0, .null)])))]) },
        { StoredMap([("a", .array([.null, .map(StoredMap([($0, .null)]))]))]) },
      ]
      for place in places {
        #expect(complaint(place(longest)) == nil)
        #expect(complaint(place(longest + "n"))?.contains("1501 bytes, and the limit is 1500") == true)
      }
    }
  }

  @Test func fieldNamesBeyondTheRecordFormatAreRefused() {
    for count in [65_535, 65_536, 70_000] {
      #expect(complaint(StoredMap([(text(count), .null)])) != nil)
    }
  }

  // MARK: Depth

  @Test func twentyLevelsAreAllowedAndTwentyOneAreNot() {
    for (depth, isAllowed) in [(19, true), (20, true), (21, false), (22, false), (500, false)] {
      let maps = (0..<depth).reduce(StoredValue.null) { inner, _ in .map(StoredMap([("m", inner)])) }
      let byTurns = Values.tower(depth)
      let emptyMap = Values.tower(depth - 1, around: .map(StoredMap()))
      // An array cannot directly contain an array, so the lowest level of this nest is a map.
      let onMap = Values.tower(depth - 2, around: .map(StoredMap([("m", .array([]))])))
      for value in [maps, byTurns, emptyMap, onMap] {
        #expect((complaint(StoredMap([("v", value)])) == nil) == isAllowed, "\(depth) floors")
        #expect((complaint(StoredMap([("a", .null), ("z", value)])) == nil) == isAllowed)
      }
      let beside = StoredValue.map(StoredMap([("a", .null), ("z", Values.tower(depth - 1))]))
      #expect((complaint(StoredMap([("v", beside)])) == nil) == isAllowed)
    }
  }

  // MARK: References

  @Test func referencesObeyThePathRulesAtAnyDepth() {
    for segments in [["a"], ["a", "b", "c"], ["a", ""], ["a", "b/c"], ["a", "__b__"], ["a", ".."], []] {
      let reference = StoredValue.reference(
        StoredReference(
          projectID: "p", databaseID: "d", path: DocumentPath(unchecked: segments)))
      #expect(complaint(StoredMap([("r", reference)]))?.contains("is not valid") == true, "\(segments)")
      #expect(complaint(StoredMap([("r", .array([reference]))])) != nil, "\(segments)")
      #expect(complaint(StoredMap([("m", .map(StoredMap([("r", reference)])))])) != nil, "\(segments)")
    }
  }

  // MARK: Limits besides the size

  @Test func aVectorHas2048DimensionsAndMayHaveNone() {
    for (count, isAllowed) in [(0, true), (1, true), (2048, true), (2049, false), (100_000, false)] {
      let vector = StoredValue.vector([Double](repeating: 0.5, count: count))
      for fields in [
        StoredMap([("v", vector)]), StoredMap([("m", .map(StoredMap([("v", vector)])))]),
        StoredMap([("a", .array([vector]))]),
      ] {
        #expect((complaint(fields) == nil) == isAllowed, "\(count) dimensions")
      }
    }
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
    for previous in refused {
      let value = StoredValue.pendingTimestamp(time, previous: previous)
      for fields in [StoredMap([("v", value)]), StoredMap([("a", .array([value]))])] {
        #expect(complaint(fields) != nil, "\(String(describing: previous))")
        #expect(throws: DocumentStoreError.self) { try store.commit([.set(place, fields)]) }
        let mask = FieldMask(fields.entries.map { StoredFieldPath(unchecked: [$0.name]) })
        #expect(throws: DocumentStoreError.self) { try store.commit([.patch(place, fields, mask: mask)]) }
      }
      let union = FieldTransform(StoredFieldPath(unchecked: ["a"]), .arrayUnion([value]))
      #expect(throws: DocumentStoreError.self) {
        try store.commit([.set(place, StoredMap(), transforms: [union])])
      }
    }
    for previous in [nil, StoredValue.integer(1), nest(20)] {
      let fields = StoredMap([("v", .pendingTimestamp(time, previous: previous))])
      try store.commit([.set(place, fields)])
      #expect(try store.document(at: place)?.fields == fields)
    }
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
    for segments in strange {
      #expect(!isForeign(StoredMap(), at: DocumentPath(unchecked: segments)), "\(segments.count)")
    }
  }

  @Test func allowedDocumentsHaveStorableRecords() {
    let nulls = StoredValue.array([StoredValue](repeating: .null, count: 1_048_487))
    let shortNames = StoredMap(
      (0..<100_000).map { (name: String(100_000 + $0), value: StoredValue.boolean(true)) })
    for fields in [StoredMap([("n", nulls)]), shortNames] {
      #expect(complaint(fields) == nil)
      let record = RecordCodec.encode(createTime: .first, updateTime: .first, fields: fields)
      #expect(record.count <= 8 << 20)
    }
  }
}
