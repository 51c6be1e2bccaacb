// Keys made from the bytes of records equal keys made from decoded documents.

import ByteStore
import Testing

@testable import DocumentStore

@Suite struct RecordKeysTests {
  /// Documents of similar forms, their records, and definitions over their fields.
  struct Sample {
    let dictionary = ShapeDictionary()
    private var forms: [StoredMap] = []

    init(_ rng: inout SeededRNG) {
      dictionary.begin(from: 0)
      forms = (0..<6).map { _ in Self.form(&rng) }
    }

    private static let names = ["a", "b", "c", "d", "e", "\u{E9}", "__name__", "z"]

    private static func form(_ rng: inout SeededRNG) -> StoredMap {
      StoredMap((0..<rng.roll(7)).map { _ in (name: rng.pick(names), value: .null) })
    }

    /// Values of the kinds that keys distinguish, and arrays and maps of them.
    static func value(_ rng: inout SeededRNG, depthLeft: Int = 2) -> StoredValue {
      switch rng.roll(12) {
      case 0: .array((0..<rng.roll(6)).map { _ in rng.oneIn(2) ? .integer(1) : Values.scalar(&rng) })
      case 1 where depthLeft > 0:
        .map(
          StoredMap(form(&rng).entries.map { (name: $0.name, value: value(&rng, depthLeft: depthLeft - 1)) }))
      case 2: .pendingTimestamp(rng.pick(Values.timestamps), previous: rng.oneIn(2) ? .integer(1) : nil)
      case 3: .string(String(repeating: rng.pick(["x", "\0", "\u{E9}"]), count: rng.roll(900)))
      case 4: .integer((1 << 53) + Int64(rng.roll(9)) - 4)
      case 5: .integer(Int64(rng.roll(300)))
      case 6: .double(Double(rng.roll(8)) / 2)
      default: Values.any(&rng, depthLeft: 2)
      }
    }

    func document(_ rng: inout SeededRNG, at path: DocumentPath) -> StoredDocument {
      let form = rng.oneIn(8) ? Self.form(&rng) : rng.pick(forms)
      return StoredDocument(
        path: path, createTime: rng.pick(Values.timestamps), updateTime: rng.pick(Values.timestamps),
        fields: StoredMap(form.entries.map { (name: $0.name, value: Self.value(&rng)) }))
    }

    func record(_ document: StoredDocument) -> [UInt8] {
      var encoder = RecordEncoder(shapes: dictionary)
      return encoder.encode(document)
    }

    func definition(_ rng: inout SeededRNG, of collectionID: String) throws -> IndexDefinition {
      var hasElements = false
      let fields = try (0...(rng.oneIn(2) ? 0 : rng.roll(3))).map { _ in
        let path = try StoredFieldPath(
          (0...(rng.oneIn(3) ? 1 + rng.roll(2) : 0)).map { _ in rng.pick(Self.names) })
        switch rng.roll(5) {
        case 0 where !hasElements:
          hasElements = true
          return IndexDefinition.Field(path, .element)
        case 1: return IndexDefinition.Field(path, .value(.descending))
        case 2: return IndexDefinition.Field(path, .valueOrNull(rng.oneIn(2) ? .ascending : .descending))
        default: return IndexDefinition.Field(path)
        }
      }
      let definition = IndexDefinition(
        unchecked: collectionID, rng.oneIn(2) ? .collection : .collectionGroup, fields: fields)
      return rng.oneIn(2) ? definition : definition.planned
    }
  }

  private func keys(_ keys: borrowing DocumentKeys) -> [[UInt8]] {
    (0..<keys.count).map { [UInt8](copying: keys[$0]) }
  }

  private func sorted(_ keys: [[UInt8]]) -> [[UInt8]] { keys.sorted { $0.lexicographicallyPrecedes($1) } }

  @Test(arguments: 1...6 as ClosedRange<UInt64>) func recordsHaveTheKeysOfTheirDocuments(seed: UInt64) throws
  {
    var rng = SeededRNG(seed: seed)
    var (wrong, found, long): ([String], Int, Int) = ([], 0, 0)
    let sample = Sample(&rng)
    for _ in 0..<60 {
      let path = DocumentPath.any(&rng)
      let definition = try sample.definition(&rng, of: path.collectionID)
      var reader = RecordKeys(definition, sample.dictionary.table.origin)
      var made = DocumentKeys()
      for _ in 0..<40 {
        let document = sample.document(&rng, at: path)
        let record = sample.record(document)
        let key = DocumentKey.encode(path)
        guard let parts = DocumentKeyParts(key.rawSpan, inGroup: reader.group.rawSpan) else {
          wrong.append("\(path)")
          continue
        }
        let isReadable = reader.makeKeys(
          of: parts, record.rawSpan, shapes: sample.dictionary.table, into: &made)
        let entries = try definition.entries(
          ofRecord: record.rawSpan, at: path, shapes: sample.dictionary.table)
        let expected = sorted(StoredKey.of(entries.keys))
        if !isReadable || sorted(keys(made)) != expected || made.numbers != entries.numbers {
          wrong.append("\(definition), \(document.fields)")
        }
        found += expected.count
        long += expected.count { $0.count > StoredKey.keptBytes }
      }
    }
    #expect(wrong == [], "seed \(seed)")
    #expect(found > 200 && long > 0, "\(found) keys, \(long) long ones")
  }

  /// Index builds report the error of the decoder, so both must agree on which records are damaged.
  @Test(arguments: 1...6 as ClosedRange<UInt64>) func damagedRecordsAreUnreadableOrHaveTheDecodedKeys(
    seed: UInt64
  ) throws {
    var rng = SeededRNG(seed: seed)
    var (wrong, readable, unreadable): ([String], Int, Int) = ([], 0, 0)
    let sample = Sample(&rng)
    let path = path("c", "d", "users", "name")
    let key = DocumentKey.encode(path)
    for _ in 0..<200 {
      let definition = try sample.definition(&rng, of: path.collectionID)
      let records = (0..<4).map { _ in sample.record(sample.document(&rng, at: path)) }
      let table = sample.dictionary.table
      var reader = RecordKeys(definition, table.origin)
      var made = DocumentKeys()
      guard let parts = DocumentKeyParts(key.rawSpan, inGroup: reader.group.rawSpan) else { return }
      for _ in 0..<100 {
        let record = rng.pick(records).damaged(&rng, splicing: rng.pick(records))
        let isReadable = reader.makeKeys(of: parts, record.rawSpan, shapes: table, into: &made)
        let entries = try? definition.entries(ofRecord: record.rawSpan, at: path, shapes: table)
        if isReadable != (entries != nil) {
          wrong.append("\(definition): \(record.hexadecimal) is readable: \(isReadable)")
        } else if let entries {
          readable += 1
          if sorted(keys(made)) != sorted(StoredKey.of(entries.keys)) || made.numbers != entries.numbers {
            wrong.append("\(definition): \(record.hexadecimal)")
          }
        } else {
          unreadable += 1
        }
      }
    }
    #expect(wrong == [], "seed \(seed)")
    #expect(readable > 500 && unreadable > 500, "\(readable) readable, \(unreadable) unreadable")
  }

  @Test func everyPrefixOfARecordIsReadAlike() throws {
    var rng = SeededRNG(seed: 9)
    let sample = Sample(&rng)
    let path = path("users", "name")
    let key = DocumentKey.encode(path)
    var wrong: [String] = []
    for _ in 0..<60 {
      let definition = try sample.definition(&rng, of: path.collectionID)
      let record = sample.record(sample.document(&rng, at: path))
      let table = sample.dictionary.table
      var reader = RecordKeys(definition, table.origin)
      var made = DocumentKeys()
      guard let parts = DocumentKeyParts(key.rawSpan, inGroup: reader.group.rawSpan) else { return }
      for count in 0..<min(record.count, 300) {
        let part = Array(record.prefix(count))
        let isReadable = reader.makeKeys(of: parts, part.rawSpan, shapes: table, into: &made)
        let entries = try? definition.entries(ofRecord: part.rawSpan, at: path, shapes: table)
        if isReadable != (entries != nil) { wrong.append("\(definition): \(part.hexadecimal)") }
      }
    }
    #expect(wrong == [])
  }

  /// Plans belong to the shapes of one database. Shapes of another database have other names for the same id.
  @Test func recordsOfAnotherDatabaseAreReadByName() throws {
    let (one, two) = (ShapeDictionary(), ShapeDictionary())
    one.add(Shape(id: 0, names: ["a", "b"]))
    two.add(Shape(id: 0, names: ["b", "c"]))
    let definition = try IndexDefinition("users", .collection, [.init("b")]).planned
    let path = path("users", "name")
    func record(_ names: [String], _ dictionary: ShapeDictionary) -> [UInt8] {
      let fields = StoredMap(
        names.map { (name: $0, value: .integer(Int64($0.utf8.reduce(0) { $0 + Int($1) }))) })
      var encoder = RecordEncoder(shapes: dictionary)
      return encoder.encode(
        StoredDocument(path: path, createTime: .epoch, updateTime: .epoch, fields: fields))
    }
    let records = [
      (record(["a", "b"], one), one), (record(["b", "c"], two), two),
    ]
    var reader = RecordKeys(definition, one.table.origin)
    var made = DocumentKeys()
    let key = DocumentKey.encode(path)
    guard let parts = DocumentKeyParts(key.rawSpan, inGroup: reader.group.rawSpan) else { return }
    for _ in 0..<2 {
      for (record, dictionary) in records {
        #expect(reader.makeKeys(of: parts, record.rawSpan, shapes: dictionary.table, into: &made))
        let entries = try definition.entries(ofRecord: record.rawSpan, at: path, shapes: dictionary.table)
        #expect(keys(made) == entries.keys)
      }
    }
  }

  @Test func moreShapesThanCachedPlansAreReadCorrectly() throws {
    let dictionary = ShapeDictionary()
    for id in 0..<40 { dictionary.add(Shape(id: id, names: ["a\(id)", "m", "z\(id)"])) }
    let definition = try IndexDefinition("users", .collection, [.init("m")]).planned
    let path = path("users", "name")
    let key = DocumentKey.encode(path)
    let group = KeyPlans(definition).group
    guard let parts = DocumentKeyParts(key.rawSpan, inGroup: group.rawSpan) else { return }
    var made = DocumentKeys()
    for round in 0..<3 {
      var reader = RecordKeys(definition, dictionary.table.origin)
      for id in 0..<40 {
        let fields = StoredMap(
          ["a\(id)", "m", "z\(id)"].map { (name: $0, value: .integer(Int64(id + round))) })
        var encoder = RecordEncoder(shapes: dictionary)
        let record = encoder.encode(
          StoredDocument(path: path, createTime: .epoch, updateTime: .epoch, fields: fields))
        #expect(reader.makeKeys(of: parts, record.rawSpan, shapes: dictionary.table, into: &made))
        let entries = try definition.entries(ofRecord: record.rawSpan, at: path, shapes: dictionary.table)
        #expect(keys(made) == entries.keys)
      }
    }
  }
}
