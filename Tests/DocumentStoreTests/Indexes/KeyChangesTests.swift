// The key changes of commits whose documents are records.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct KeyChangesTests {
  private func encoded(_ document: StoredDocument, _ sample: RecordKeysTests.Sample) throws -> StoredDocument
  {
    let record = try CheckedRecord(sample.record(document), sample.dictionary.table)
    return StoredDocument(
      path: document.path, createTime: document.createTime, updateTime: document.updateTime,
      fields: StoredMap(record))
  }

  /// A changed document, in which most fields are often as before.
  private func changed(
    _ document: StoredDocument, _ sample: RecordKeysTests.Sample, _ rng: inout SeededRNG
  ) -> StoredDocument {
    guard !rng.oneIn(4) else { return sample.document(&rng, at: document.path) }
    var fields = document.fields
    for entry in fields.entries where rng.oneIn(3) {
      fields[entry.name] = rng.oneIn(6) ? nil : RecordKeysTests.Sample.value(&rng)
    }
    return StoredDocument(
      path: document.path, createTime: document.createTime, updateTime: document.updateTime, fields: fields)
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>) func recordsAndDecodedDocumentsHaveEqualChanges(
    seed: UInt64
  ) throws {
    var rng = SeededRNG(seed: seed)
    let sample = RecordKeysTests.Sample(&rng)
    var (wrong, entries): ([String], Int) = ([], 0)
    for _ in 0..<150 {
      let place = DocumentPath.any(&rng)
      let definition = try sample.definition(&rng, of: place.collectionID)
      var trees: [IndexChanges.Change] = []
      var records: [IndexChanges.Change] = []
      for _ in 0..<8 {
        let path = rng.oneIn(8) ? DocumentPath.any(&rng) : place
        let document = sample.document(&rng, at: path)
        let before: StoredDocument? = rng.oneIn(4) ? nil : document
        let after: StoredDocument? =
          before != nil && rng.oneIn(5) ? nil : changed(document, sample, &rng)
        let key = DocumentKey.encode(path)
        func change(_ form: (StoredDocument) throws -> StoredDocument) rethrows -> IndexChanges.Change {
          IndexChanges.Change(
            path: path, key: key, before: try before.map { .document(try form($0)) } ?? .none,
            after: try after.map(form))
        }
        trees.append(change { $0 })
        // Some documents have one state that is a record and one that is not.
        records.append(try change { rng.oneIn(6) ? $0 : try encoded($0, sample) })
      }
      let expected = KeyChanges(decoding: trees, definition)
      let found = KeyChanges(records, definition)
      expected.forEach { _, _ in entries += 1 }
      if !found.isSame(as: expected) { wrong.append("\(definition)") }
    }
    #expect(wrong == [], "seed \(seed)")
    #expect(entries > 50, "\(entries) keys")
  }

  @Test func anIntegerThatBecomesAnEqualDoubleChangesOnlyTheCounts() throws {
    var rng = SeededRNG(seed: 1)
    let sample = RecordKeysTests.Sample(&rng)
    let path = path("users", "name")
    func document(_ value: StoredValue) throws -> StoredDocument {
      try encoded(
        StoredDocument(
          path: path, createTime: .epoch, updateTime: .epoch, fields: StoredMap([("n", value)])), sample)
    }
    let change = IndexChanges.Change(
      path: path, key: DocumentKey.encode(path), before: .document(try document(.integer(1))),
      after: try document(.double(1)))
    let keys = KeyChanges([change], try IndexDefinition("users", .collection, [.init("n")]))
    var count = 0
    keys.forEach { _, _ in count += 1 }
    #expect(count == 0)
    #expect(keys.numbers.counts == [NumberCounts.Count(integers: -1, doubles: 1)])
  }

  @Test func anUnchangedFieldHasNoKeyChange() throws {
    var rng = SeededRNG(seed: 1)
    let sample = RecordKeysTests.Sample(&rng)
    let path = path("users", "name")
    func document(_ other: Int64) throws -> StoredDocument {
      try encoded(
        StoredDocument(
          path: path, createTime: .epoch, updateTime: .epoch,
          fields: StoredMap([("n", 7), ("other", .integer(other))])), sample)
    }
    let (before, after) = (try document(1), try document(2))
    let records = RecordStates(before: before.fields.record, after: after.fields.record)
    var pair = RecordPairKeys(
      try IndexDefinition("users", .collection, [.init("n")]).keyPlans, records.after?.shapes.origin)
    #expect(pair.compare(DocumentKey.encode(path).rawSpan, records) == .unchanged)
  }

  @Test func theIndexesOfACommitHaveTheKeysThatEachHasAlone() throws {
    var rng = SeededRNG(seed: 3)
    let sample = RecordKeysTests.Sample(&rng)
    var wrong: [String] = []
    for _ in 0..<60 {
      let paths = [DocumentPath.any(&rng), DocumentPath.any(&rng)]
      let definitions = try (0..<4).map { try sample.definition(&rng, of: paths[$0 % 2].collectionID) }
      var changes: [IndexChanges.Change] = []
      for number in 0..<12 {
        let path = paths[number % 2]
        let document = sample.document(&rng, at: path)
        let before = rng.oneIn(4) ? nil : document
        let after = before != nil && rng.oneIn(6) ? nil : changed(document, sample, &rng)
        changes.append(
          IndexChanges.Change(
            path: path, key: DocumentKey.encode(path),
            before: try before.map { .document(try encoded($0, sample)) } ?? .none,
            after: try after.map { rng.oneIn(8) ? $0 : try encoded($0, sample) }))
      }
      var maker = CommitKeyMaker()
      var names: KeyChanges?
      var keys: [IndexKeys] = []
      // The second run uses the buffers of the first one.
      for _ in 0..<2 {
        names = KeyChanges()
        keys = definitions.map { IndexKeys(index: 0, plans: $0.keyPlans, keys: KeyChanges()) }
        maker.add(changes, to: &keys, names: &names)
      }
      for (definition, keys) in zip(definitions, keys)
      where !keys.keys.isSame(as: KeyChanges(decoding: changes, definition)) {
        wrong.append("\(definition)")
      }
      if names?.isSame(as: KeyChanges(namesOf: changes)) != true { wrong.append("names") }
    }
    #expect(wrong == [])
  }

  @Test func slotsWithDifferentBytesAreFound() throws {
    var rng = SeededRNG(seed: 1)
    let sample = RecordKeysTests.Sample(&rng)
    let path = path("users", "name")
    func record(_ text: String, _ number: Int64) throws -> CheckedRecord? {
      try encoded(
        StoredDocument(
          path: path, createTime: .epoch, updateTime: .epoch,
          fields: StoredMap([("n", .integer(number)), ("other", .string(text)), ("z", .string("last"))])),
        sample
      ).fields.record
    }
    func changed(_ left: CheckedRecord?, _ right: CheckedRecord?) throws -> [Bool] {
      let (left, right) = (try #require(left), try #require(right))
      var old = RecordSlots()
      var new = RecordSlots()
      let set = left.withSpans { oldRecord, shapes -> SlotSet? in
        right.withSpans { newRecord, newShapes -> SlotSet? in
          guard old.locate(oldRecord, shapes: shapes), new.locate(newRecord, shapes: newShapes) else {
            return nil
          }
          return RecordSlots.differences(old, in: oldRecord, to: new, in: newRecord)
        }
      }
      let found = try #require(set)
      return (0..<3).map { slot in
        var one = SlotSet()
        one.insert(slot)
        return !found.isDisjoint(with: one)
      }
    }
    let text = "a text of many bytes"
    // A shape is created when its names occur for the second time.
    for _ in 0..<2 { _ = try record(text, 1) }
    #expect(try changed(try record(text, 1), try record(text, 1)) == [false, false, false])
    #expect(try changed(try record(text, 1), try record(text, 300)) == [true, false, false])
    #expect(try changed(try record(text, 1), try record(text + "s", 1)) == [false, true, false])
    #expect(try changed(try record(text, 1), try record("a text of many bytez", 1)) == [false, true, false])
  }
}
