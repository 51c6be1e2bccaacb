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
    let change = IndexChanges.Change(
      path: path, key: DocumentKey.encode(path), before: .document(try document(1)), after: try document(2))
    var records = RecordPairKeys(
      try IndexDefinition("users", .collection, [.init("n")]),
      RecordPairKeys.firstRecord(in: [change])?.shapes.origin)
    #expect(records.compare(change) == .unchanged)
  }
}
