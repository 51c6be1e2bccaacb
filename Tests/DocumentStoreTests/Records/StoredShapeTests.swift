// Shapes in a store: after crashes, rejected commits, backups and losses.

import ByteStore
import Harness
import StoreTools
import Testing

@testable import DocumentStore

@Suite struct StoredShapeTests {
  private let rooms = path("rooms", "eros").parent

  private func room(_ number: Int) -> DocumentPath { path("rooms", "\(number)") }

  private func fields(_ number: Int) -> StoredMap {
    StoredMap([
      ("name", .string("Room \(number)")), ("n", .integer(Int64(number))),
      ("place", .map(StoredMap([("street", .string("Harbour")), ("number", .integer(3))]))),
    ])
  }

  private func fill(_ store: DocumentStore, _ numbers: Range<Int> = 0..<10) throws {
    for number in numbers { try store.commit([.set(room(number), fields(number))]) }
  }

  private func expectAll(_ store: DocumentStore, _ numbers: Range<Int> = 0..<10) throws {
    let wrong = try numbers.filter { try store.document(at: room($0))?.fields != fields($0) }
    #expect(wrong == [])
    #expect(store.count == numbers.count)
    #expect(try store.documents(StructuredQuery(.collection(rooms))).count == numbers.count)
    #expect(try store.invariantBroken() == nil)
  }

  private var shapeNames: [[String]] { [["n", "name", "place"], ["number", "street"]] }

  private func shapes(_ store: DocumentStore) -> [[String]?] {
    store.indexes.shapes.table.shapes.map { $0?.names }
  }

  // MARK: Recovery

  @Test func shapesComeBackFromTheLogAndFromACheckpoint() throws {
    var machine = try SimulatedStore()
    try fill(machine.store)
    #expect(shapes(machine.store) == shapeNames)
    try expectAll(machine.store)
    machine = try machine.afterPowerLoss()
    #expect(shapes(machine.store) == shapeNames)
    try expectAll(machine.store)
    try machine.store.compact()
    machine = try machine.afterPowerLoss()
    #expect(shapes(machine.store) == shapeNames)
    try expectAll(machine.store)
    try fill(machine.store, 10..<12)
    machine = try machine.afterPowerLoss()
    #expect(shapes(machine.store) == shapeNames)
    try expectAll(machine.store, 0..<12)
  }

  @Test func recoveryAcceptsAShapeDefinedByALaterCommit() throws {
    var machine = try SimulatedStore()
    try machine.store.createIndex(IndexDefinition("rooms", .collection, [.init(field("n"))]))
    try machine.store.compact()
    try machine.store.commit([.set(room(0), fields(0))])
    try machine.store.commit([.set(room(0), fields(1))])
    machine = try machine.afterPowerLoss()
    #expect(try machine.store.document(at: room(0))?.fields == fields(1))
    #expect(try machine.store.invariantBroken() == nil)
  }

  @Test func aBackupHasTheShapesOfItsDocuments() throws {
    let machine = try SimulatedStore()
    try fill(machine.store)
    try machine.store.backup(to: "/backup")
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let copy = try DocumentStore.open("/backup", options: options, platform: machine.disk.platform(seed: 2))
    #expect(shapes(copy) == shapeNames)
    try expectAll(copy)
  }

  @Test func batchDefinesTheShapesOfItsDocuments() throws {
    var machine = try SimulatedStore()
    try machine.store.commit((0..<10).map { .set(room($0), fields($0)) })
    #expect(shapes(machine.store) == shapeNames)
    machine = try machine.afterPowerLoss()
    try expectAll(machine.store)
  }

  // MARK: Refused commits

  @Test func concurrentCommitsDoNotRelyOnEachOthersShapes() throws {
    var machine = try SimulatedStore()
    let inProgress = try (0..<4).map { try machine.store.begin([.set(room($0), fields($0))]) }
    // Each commit is finished separately, although finishing the last one would complete all four.
    for commit in inProgress.reversed() { try machine.store.finish(commit) }
    try expectAll(machine.store, 0..<4)
    machine = try machine.afterPowerLoss()
    try expectAll(machine.store, 0..<4)
  }

  @Test func aShapeOfARefusedCommitIsDefinedByTheNext() throws {
    var machine = try SimulatedStore(kibibytes: 1500)
    try machine.fillDisk()
    let before = shapes(machine.store)
    for _ in 0..<3 {
      guard case .full = failure(of: { try machine.store.commit([.set(room(0), fields(0))]) }) else {
        Issue.record("a put went to a full disk")
        return
      }
    }
    #expect(shapes(machine.store).count == before.count + 2)
    try machine.store.commit((0..<100).map { .delete(path("filler", "\($0)")) })
    try machine.store.compact()
    try machine.store.commit([.set(room(0), fields(0))])
    #expect(try machine.store.invariantBroken() == nil)
    machine = try machine.afterPowerLoss()
    #expect(try machine.store.document(at: room(0))?.fields == fields(0))
    #expect(try machine.store.invariantBroken() == nil)
  }

  // MARK: Losses

  /// A store that contains the given entries and whose checkpoint has no document store pages, as after a
  /// salvage.
  private func store(
    _ directory: TemporaryDirectory, _ entries: [(key: [UInt8], value: [UInt8])]
  ) throws -> DocumentStore {
    var options = ByteStore.Options()
    options.maintenance = .manual
    let bytes = try ByteStore.open(directory.path, options: options)
    for entry in entries {
      var batch = Batch(stamp: 1)
      try batch.put(entry.value, for: entry.key)
      try bytes.commit(batch)
      try bytes.flush()
    }
    try bytes.close()
    return try DocumentStore.open(directory.path)
  }

  private func records(_ shapes: ShapeDictionary) throws -> [(key: [UInt8], value: [UInt8])] {
    var encoder = RecordEncoder(shapes: shapes)
    let time = try #require(StoredTimestamp(microseconds: 1))
    let documents = (0..<3).map {
      StoredDocument(path: room($0), createTime: time, updateTime: time, fields: fields($0))
    }
    return documents.map { (DocumentKey.encode($0.path), encoder.encode($0)) }
  }

  @Test func withoutCheckpointPagesEachShapeIsLookedUp() throws {
    let directory = TemporaryDirectory()
    let dictionary = ShapeDictionary()
    dictionary.begin(from: 300)
    let records = try records(dictionary)
    let definitions = dictionary.table.shapes.compactMap { $0 }.map { (Shape.key($0.id), $0.definition) }
    #expect(definitions.count == 2)
    // The records come first, so that a check reads them before the shapes.
    let store = try store(directory, records + definitions)
    #expect(try store.document(at: room(2))?.fields == fields(2))
    try expectAll(store, 0..<3)
    try store.close()
    #expect(try DocumentStore.check(directory.path).isSound)
  }

  @Test func documentsWithALostShapeAreDamagedAndItsIDIsNotUsedAgain() throws {
    let directory = TemporaryDirectory()
    let dictionary = ShapeDictionary()
    dictionary.begin(from: 5)
    let store = try store(directory, try records(dictionary))
    // This document is encoded without a shape, because its names had not occurred before.
    #expect(try store.document(at: room(0))?.fields == fields(0))
    for number in 0..<3 {
      try store.commit([.set(path("others", "1"), StoredMap([("x", .integer(Int64(number)))]))])
    }
    #expect(shapes(store) == [], "it is not known yet which ids are free")
    func expectDamaged() throws {
      var expected: [String?] = []
      for number in 1..<3 {
        guard case .corrupted(let evidence) = failure(of: { try store.document(at: room(number)) }) else {
          Issue.record("a document without its shape was read")
          return
        }
        expected.append(evidence.expected)
      }
      #expect(expected == Array(repeating: "a map with names, or with a shape that exists", count: 2))
    }
    try expectDamaged()
    #expect(store.count == 4)
    for number in 3..<6 {
      try store.commit([.set(path("others", "1"), StoredMap([("x", .integer(Int64(number)))]))])
    }
    // Id 5 was the shape of the rooms, and id 6 was the shape of the nested places. Id 6 is reused, because
    // the record of a room that cannot be read does not reveal that it uses id 6.
    #expect(shapes(store) == Array(repeating: nil, count: 6) + [["x"]])
    try expectDamaged()
    try store.close()
    let report = try DocumentStore.check(directory.path)
    // There is one finding for all records that need the shape.
    #expect(report.findings.count == 1 && report.findingsOmitted == 0)
    #expect(report.findings.first?.found.hasSuffix("as in all 2 records with that shape") == true)
  }

  /// The definitions are on the first page of a segment. If this page is damaged, only the shapes in the
  /// checkpoint make the other documents readable.
  @Test func aSalvageRestoresShapesFromTheCheckpoint() throws {
    let directory = TemporaryDirectory()
    var options = DocumentStore.Options()
    options.maintenance = .manual
    var store = try DocumentStore.open(directory.path, options: options, platform: .real)
    try store.commit((0..<450).map { .set(room($0), fields($0)) })
    try store.commit((450..<900).map { .set(room($0), fields($0)) })
    try store.compact()
    try store.close()
    let name = try #require(try directory.names.first { $0.hasPrefix("segment-") })
    var bytes = try directory.read(name)
    let dictionary = Int(bytes[84]) | Int(bytes[85]) << 8
    bytes[8192 + (dictionary + 8191) / 8192 * 8192 + 1] ^= 1
    try directory.write(bytes, to: name)
    // The other documents are readable, because the checkpoint also has the shapes.
    let findings = try DocumentStore.check(directory.path).findings
    #expect(findings.map(\.file) == ["\(directory.path)/\(name)"])
    #expect(findings.allSatisfy { $0.expected != "a record" }, "\(findings)")
    _ = try DocumentStore.salvage(directory.path)
    store = try DocumentStore.open(directory.path, options: options, platform: .real)
    #expect(shapes(store) == shapeNames)
    let left = try (0..<900).filter { try store.document(at: room($0)) != nil }
    #expect((500..<900).contains(left.count), "\(left.count) of 900 are left")
    let wrong = try left.filter { try store.document(at: room($0))?.fields != fields($0) }
    #expect(wrong == [])
    #expect(try store.invariantBroken() == nil)
    try store.close()
    #expect(try DocumentStore.check(directory.path).isSound)
  }

  /// Three commits define each shape, because any one place in the WAL may be damaged. The commit of the
  /// second document is the first of the three.
  @Test func aForgedIDOfAShapeIsAnInvalidDefinition() throws {
    let definition = Shape(id: 0, names: ["a"]).definition
    #expect(Shape(id: Shape.idMax, definition: definition.rawSpan) != nil)
    #expect(Shape(id: Shape.idMax + 1, definition: definition.rawSpan) == nil)
    let directory = TemporaryDirectory()
    try DocumentStore.open(directory.path).close()
    var options = ByteStore.Options()
    options.maintenance = .manual
    let bytes = try ByteStore.open(directory.path, options: options)
    var batch = Batch(stamp: bytes.lastStamp + 1)
    try batch.put(definition, for: Shape.key(0xFFFF))
    try bytes.commit(batch)
    try bytes.close()
    let store = try DocumentStore.open(directory.path)
    try fill(store)
    #expect(try (0..<10).allSatisfy { try store.document(at: room($0))?.fields == fields($0) })
    #expect(try store.check().undecodable.names == ["the shape 65535"])
    try store.close()
  }

  @Test func fieldsThatAreNeverCommittedUseUpNoIDs() throws {
    let directory = TemporaryDirectory()
    var store = try DocumentStore.open(directory.path)
    try fill(store)
    let known = shapes(store)
    let encoder = store.fieldsEncoder
    for number in 0..<20 {
      for _ in 0..<2 {
        _ = encoder.encode { writer, map in
          writer.field("rejected\(number)", in: map)
          writer.null()
        }
      }
    }
    #expect(shapes(store).count == known.count + 20)
    try store.compact()
    try store.close()
    store = try DocumentStore.open(directory.path)
    for _ in 0..<2 { try store.commit([.set(room(100), StoredMap([("new", .integer(1))]))]) }
    #expect(shapes(store) == known + [["new"]])
    #expect(try (0..<10).allSatisfy { try store.document(at: room($0))?.fields == fields($0) })
    try store.close()
  }

  @Test func threeCommitsDefineAShape() throws {
    let store = try SimulatedStore().store
    var due: [[Int]] = []
    for number in 0..<4 {
      due.append(store.indexes.shapes.definitionsDue(for: [0, 1]).map(\.id))
      try fill(store, number..<number + 1)
    }
    #expect(due == [[], [], [0, 1], [0, 1]])
    #expect(store.indexes.shapes.definitionsDue(for: [0, 1]).isEmpty)
    let definition = try store.bytes.value(for: Shape.key(0))
    #expect(definition == Shape(id: 0, names: shapeNames[0]).definition)
  }
}
