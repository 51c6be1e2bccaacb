// Dugout's additions to the Firestore API.

import DocumentStore
import FirebaseFirestore
import Foundation
import Testing

@Suite struct AdditionsTests {
  private static func filled(_ firestore: Firestore, _ count: Int = 300) async throws {
    let batch = firestore.batch()
    for n in 0..<count {
      batch.setData(["n": n, "m": n % 10, "l": [n % 3]], forDocument: firestore.document("a/\(n)"))
    }
    try await batch.commit()
  }

  @Test func blockingReadsSeeEarlierWrites() throws {
    let firestore = Firestore.memory()
    let document = firestore.document("a/b")
    var wrong: [String] = []
    for n in 0..<20 {
      document.setData(["n": n])
      let read = try document.read()["n"] as? Int
      let count = try firestore.collection("a").whereField("n", isEqualTo: n).read().count
      if read != n || count != 1 { wrong.append("\(n): \(String(describing: read)), found \(count) times") }
    }
    #expect(wrong == [])
    struct Value: Codable {
      var n: Int
    }
    #expect(try document.read(as: Value.self).n == 19)
    #expect(try document.read(source: .cache).metadata.isFromCache)
    #expect(try !firestore.document("a/none").read().exists)
    do {
      _ = try firestore.document("a/__bad__").read()
      Issue.record("it was read")
    } catch FirestoreErrorCode.invalidArgument {}
  }

  @Test func explainReportsResultsReadsAndIndexes() async throws {
    let firestore = Firestore.memory()
    try await Self.filled(firestore)
    let query = firestore.collection("a").whereField("m", isEqualTo: 3).order(by: "n").limit(to: 5)
    let first = try await query.explain()
    #expect(first.results == 5 && first.documentsRead <= 5 && !first.indexesMade.isEmpty)
    let second = try await query.explain()
    #expect(
      second.indexesMade.isEmpty && second.plan.contains("index") && second.description.contains("5 results"))
    try await firestore.terminate()
  }

  @Test func indexesAreDeclaredListedAndDropped() async throws {
    let firestore = Firestore.memory()
    try await Self.filled(firestore)
    let index = FirestoreIndex("a", [.ascending("m"), .descending("n")])
    let group = FirestoreIndex("a", [.elements("l")], scope: .collectionGroup)
    try await firestore.createIndex(index)
    try await firestore.createIndex(group)
    #expect(try await firestore.indexes() == ["\(index)", "\(group)"])
    let all = firestore.collection("a")
    var wrong: [String] = []
    for descends in [true, false] {
      let query = all.whereField("m", isEqualTo: 3).order(by: "n", descending: descends)
      let built = try await query.explain().indexesMade
      let mixed = all.order(by: "m", descending: !descends).order(by: "n", descending: descends)
      let builtForMixed = try await mixed.explain().indexesMade
      if !built.isEmpty || !builtForMixed.isEmpty { wrong.append("\(descends): \(built), \(builtForMixed)") }
    }
    #expect(wrong == [])
    #expect(try await firestore.dropIndex(index))
    #expect(try await !firestore.dropIndex(index))
    do {
      try await firestore.createIndex(FirestoreIndex("a", []))
      Issue.record("it was created")
    } catch FirestoreErrorCode.invalidArgument {}
    try await firestore.terminate()
  }

  @Test func aDamagedIndexIsMarkedAsLostUntilAQueryRebuildsIt() async throws {
    let database = try TestDatabase()
    try await Self.filled(database.firestore)
    let index = FirestoreIndex("a", [.ascending("m")])
    try await database.firestore.createIndex(index)
    let directory = database.firestore.storeDirectory
    await database.close()
    try Self.damageIndexes(in: directory)
    await database.restart()
    #expect(try await database.firestore.indexes() == ["\(index) (lost)"])
    let query = database.firestore.collection("a").whereField("m", isEqualTo: 3)
    #expect(try await query.getDocuments().count == 30)
    #expect(try await database.firestore.indexes() == ["\(index)"])
    await database.close()
  }

  /// Corrupts every index page of the checkpoint; docs/format.md describes how a page ends.
  private static func damageIndexes(in directory: String) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: directory)
    let name = try #require(names.first { $0.hasPrefix("checkpoint-") })
    let file = URL(fileURLWithPath: "\(directory)/\(name)")
    var bytes = try Data(contentsOf: file)
    for end in stride(from: 8192, through: bytes.count, by: 4096) {
      let region = bytes[end - 8..<end - 4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      if region > 257 { bytes[end - 4096] ^= 0xFF }
    }
    try bytes.write(to: file)
  }

  @Test func backupOpensAsADatabase() async throws {
    let database = try TestDatabase()
    try await Self.filled(database.firestore)
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try await database.firestore.backup(to: folder)
    let backup = try Firestore.open(at: folder)
    #expect(try await backup.collection("a").getDocuments().count == 300)
    try await backup.terminate()
    do {
      try await database.firestore.backup(to: folder)
      Issue.record("it was written over another")
    } catch FirestoreErrorCode.failedPrecondition {}
    do {
      try await Firestore.memory().backup(to: folder)
      Issue.record("a database in memory was backed up")
    } catch FirestoreErrorCode.failedPrecondition {}
    await database.close()
  }

  /// Guards against treating the path of a web URL as a local directory.
  @Test func aBackupNeedsALocalDirectory() async throws {
    let database = try TestDatabase()
    try await database.firestore.document("a/b").setData(["n": 1])
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
      .path
    let urls = [
      try #require(URL(string: "http://localhost" + path)),
      try #require(URL(string: "file://elsewhere" + path)),
      URL(fileURLWithPath: path + "\0tail"),
    ]
    for url in urls {
      do {
        try await database.firestore.backup(to: url)
        Issue.record("it was written to \(url)")
      } catch FirestoreErrorCode.invalidArgument {}
      do {
        try await Firestore.open(at: url).terminate()
        Issue.record("\(url) was opened")
      } catch FirestoreErrorCode.invalidArgument {}
    }
    let created = [path, path + "%00tail"].filter { FileManager.default.fileExists(atPath: $0) }
    #expect(created == [])
    await database.close()
  }

  @Test func statisticsCountDocumentsAndBytes() async throws {
    let database = try TestDatabase()
    try await Self.filled(database.firestore)
    let statistics = try await database.firestore.statistics()
    #expect(statistics.documentCount == 300)
    #expect(statistics.byteCount > 10_000)
    // Guards against a size of zero while all documents are still in the memtable.
    #expect(statistics.documentByteCount > 300 * 4 && statistics.documentByteCount < statistics.byteCount)
    #expect(statistics.contentByteCount == 0)
    await database.close()
  }

  /// Guards against references that a tool creates with an empty project and database. Such references would
  /// equal no reference of an app.
  @Test func toolReferencesEqualAppReferencesWithoutAProject() async throws {
    let firestore = Firestore.memory()
    let document = firestore.document("users/ada")
    #expect(document.stored == StoredReference(inDefaultDatabase: try document.storedPath))
    try await firestore.terminate()
  }

  @Test func backupIntoItsOwnDatabaseIsRefused() async throws {
    let manager = FileManager.default
    let folder = manager.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
    let link = manager.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
    defer {
      try? manager.removeItem(at: link)
      try? manager.removeItem(at: folder)
    }
    let firestore = try Firestore.open(at: folder)
    try await firestore.document("a/b").setData(["n": 1])
    try manager.createSymbolicLink(at: link, withDestinationURL: folder)
    let within = ["", "copies/today"].map { folder.appendingPathComponent($0) }
    for place in within + [link.appendingPathComponent("today")] {
      do {
        try await firestore.backup(to: place)
        Issue.record("a backup was created in \(place.path)")
      } catch FirestoreErrorCode.failedPrecondition {}
    }
    let names = try manager.contentsOfDirectory(atPath: folder.path)
    #expect(!names.contains("copies") && !names.contains("today"))
    try await firestore.terminate()
  }

  @Test func tooOldDocumentsAreEvicted() async throws {
    let firestore = Firestore.memory()
    try await Self.filled(firestore, 700)
    try await firestore.document("b/keep").setData(["n": 1])
    #expect(try await firestore.evict(collection: "a", olderThan: Date(timeIntervalSinceNow: -86_400)) == 0)
    let border = Date(timeIntervalSinceNow: 86_400)
    #expect(try await firestore.evict(collection: "a", olderThan: border) == 700)
    #expect(try await firestore.collection("a").getDocuments().isEmpty)
    #expect(try await firestore.document("b/keep").getDocument().exists)
    try await firestore.terminate()
  }

  @Test func evictByADateOutOfRangeEvictsNothing() async throws {
    let firestore = Firestore.memory()
    try await Self.filled(firestore, 3)
    var wrong: [String] = []
    for seconds in [-1e12, -Double.greatestFiniteMagnitude, -.infinity] {
      let date = Date(timeIntervalSince1970: seconds)
      let evicted = try await firestore.evict(collection: "a", olderThan: date)
      if evicted != 0 { wrong.append("\(seconds): \(evicted)") }
    }
    #expect(wrong == [])
    for seconds in [253_402_300_800, Double.greatestFiniteMagnitude, .infinity, .nan] {
      do {
        _ = try await firestore.evict(collection: "a", olderThan: Date(timeIntervalSince1970: seconds))
        Issue.record("it went by \(seconds)")
      } catch FirestoreErrorCode.invalidArgument {}
    }
    #expect(try await firestore.collection("a").getDocuments().count == 3)
    try await firestore.terminate()
  }
}
