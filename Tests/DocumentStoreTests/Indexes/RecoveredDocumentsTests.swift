// The key changes of recovered documents equal those of decoded documents.

import Testing

@testable import ByteStore
@testable import DocumentStore

@Suite struct RecoveredDocumentsTests {
  private func index(_ definition: IndexDefinition) -> RecoveredParts.Index {
    RecoveredParts.Index(id: 1, definition: definition)
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>) func recoveredKeysEqualThoseOfDecodedDocuments(
    seed: UInt64
  ) throws {
    var rng = SeededRNG(seed: seed)
    let sample = RecordKeysTests.Sample(&rng)
    var (wrong, entries): ([String], Int) = ([], 0)
    for _ in 0..<100 {
      let place = DocumentPath.any(&rng)
      let definition = try sample.definition(&rng, of: place.collectionID)
      // Indexes of document ids do not exist.
      guard !definition.fields.contains(where: { $0.path == .documentID }) else { continue }
      var recovered: [ByteStore.RecoveredChange] = []
      var changes: [IndexChanges.Change] = []
      var ordinals: [UInt32] = []
      for _ in 0..<8 {
        let path = rng.oneIn(4) ? DocumentPath.any(&rng) : place
        let key = DocumentKey.encode(path)
        let before: StoredDocument? = rng.oneIn(3) ? nil : sample.document(&rng, at: path)
        let after: StoredDocument? = before != nil && rng.oneIn(4) ? nil : sample.document(&rng, at: path)
        let (old, new) = (UInt32(rng.roll(2)), UInt32(rng.roll(2)))
        recovered.append(
          ByteStore.RecoveredChange(
            key: key, before: before.map { (old, sample.record($0)) },
            after: after.map { (new, sample.record($0)) }))
        func add(_ before: StoredDocument?, _ after: StoredDocument?, _ ordinal: UInt32) {
          changes.append(
            IndexChanges.Change(
              path: path, key: key, before: before.map { .document($0) } ?? .none, after: after))
          ordinals.append(ordinal)
        }
        if before != nil, after != nil, old != new {
          add(before, nil, .max)
          add(nil, after, new)
        } else {
          add(before, after, after == nil ? .max : new)
        }
      }
      let documents = RecoveredDocuments(recovered, [index(definition)], shapes: sample.dictionary.table)
      let names = KeyChanges(namesOf: changes)
      let keys = KeyChanges(decoding: changes, definition)
      keys.forEach { _, _ in entries += 1 }
      if !documents.names.isSame(as: names) { wrong.append("names") }
      if !(documents.keys[1] ?? KeyChanges()).isSame(as: keys) { wrong.append("\(definition)") }
      if documents.ordinals != ordinals { wrong.append("\(ordinals)") }
      names.forEach { entry, _ in
        let id = NameKey.nestedID(changes[entry.place].path)
        if documents.nestedIDs[entry.place] != id { wrong.append("\(changes[entry.place].path)") }
      }
    }
    #expect(wrong == [], "seed \(seed)")
    #expect(entries > 20, "\(entries) keys")
  }

  @Test func onlyDamageToIndexedFieldsMakesKeysUnknown() throws {
    let path = path("users", "name")
    let document = StoredDocument(
      path: path, createTime: .epoch, updateTime: .epoch,
      fields: StoredMap([("city", .string("Kyoto")), ("name", .string("Ada")), ("score", .integer(7))]))
    let indexes = [
      RecoveredParts.Index(id: 1, definition: try IndexDefinition("users", .collection, [.init("city")])),
      RecoveredParts.Index(id: 2, definition: try IndexDefinition("users", .collection, [.init("name")])),
      RecoveredParts.Index(id: 3, definition: try IndexDefinition("other", .collection, [.init("name")])),
    ]
    var damaged = document.record
    let place = try #require(damaged.indices.first { damaged[$0...].starts(with: Array("Ada".utf8)) })
    damaged[place] = 0xFF
    for (before, after) in [(document.record, damaged), (damaged, document.record)] {
      let change = ByteStore.RecoveredChange(
        key: DocumentKey.encode(path), before: (1, before), after: (1, after))
      let documents = RecoveredDocuments([change], indexes, shapes: .empty)
      #expect(documents.keys[1]?.isUnknown == false)
      #expect(documents.keys[2]?.isUnknown == true)
      #expect(documents.keys[3] == nil)
    }
  }

  @Test func emptyAndHeadlessRecordsHaveUnknownKeys() throws {
    let path = path("users", "name")
    let indexes = [index(try IndexDefinition("users", .collection, [.init("city")]))]
    for record in [[], [1], [9, 0, 0, 0, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 0]] as [[UInt8]] {
      let added = ByteStore.RecoveredChange(key: DocumentKey.encode(path), before: nil, after: (1, record))
      let removed = ByteStore.RecoveredChange(key: DocumentKey.encode(path), before: (1, record), after: nil)
      for change in [added, removed] {
        #expect(RecoveredDocuments([change], indexes, shapes: .empty).keys[1]?.isUnknown == true, "\(record)")
      }
    }
  }

  @Test func changesWithInvalidKeysAreLeftOut() throws {
    let record = StoredDocument(
      path: path("users", "name"), createTime: .epoch, updateTime: .epoch, fields: StoredMap()
    ).record
    let change = ByteStore.RecoveredChange(
      key: [DocumentKey.keyspace, 2, 0x61, 0, 1, 0], before: nil, after: (1, record))
    let documents = RecoveredDocuments([change], [], shapes: .empty)
    #expect(documents.ordinals == [])
  }
}
