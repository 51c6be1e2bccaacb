// Settings that may be chosen before the first use, and their effects.

import FirebaseFirestore
import Foundation
import Testing

@Suite struct SettingsTests {
  @Test func defaultSettingsMatchFirestore() throws {
    let settings = FirestoreSettings()
    #expect(settings.host == "firestore.googleapis.com")
    #expect(settings.isSSLEnabled)
    #expect(settings.dispatchQueue.label == DispatchQueue.main.label)
    #expect(settings == FirestoreSettings() && settings.hash == FirestoreSettings().hash)
    #expect(settings.cacheSettings as? PersistentCacheSettings == PersistentCacheSettings())
    #expect(PersistentCacheSettings() == PersistentCacheSettings(sizeBytes: 104_857_600))
    #expect(MemoryLRUGCSettings() == MemoryLRUGCSettings(sizeBytes: 104_857_600))
    #expect(FirestoreCacheSizeUnlimited == -1)
    _ = PersistentCacheSettings(sizeBytes: NSNumber(value: FirestoreCacheSizeUnlimited))
  }

  @Test func settingsAreCopiedAndComparedByValue() throws {
    let database = try TestDatabase()
    let settings = database.firestore.settings
    #expect(settings == database.firestore.settings)
    #expect(settings !== database.firestore.settings)
    settings.host = "elsewhere"
    #expect(database.firestore.settings.host != "elsewhere")
    #expect(settings != database.firestore.settings)
    let copy = try #require(settings.copy() as? FirestoreSettings)
    #expect(copy == settings && copy.hash == settings.hash)
    copy.cacheSettings = MemoryCacheSettings()
    #expect(copy != settings)
    let eager = MemoryCacheSettings(garbageCollectorSettings: MemoryEagerGCSetting())
    #expect(MemoryCacheSettings() != eager)
    copy.cacheSettings = eager
    #expect(copy.cacheSettings as? MemoryCacheSettings == eager)
  }

  @Test func theMemoryBudgetIsCopiedAndCompared() throws {
    let settings = FirestoreSettings()
    #expect(settings.memoryBudget == nil)
    settings.memoryBudget = 64 << 20
    #expect(settings != FirestoreSettings())
    let copy = try #require(settings.copy() as? FirestoreSettings)
    #expect(copy == settings && copy.memoryBudget == 64 << 20)
    copy.memoryBudget = 65 << 20
    #expect(copy != settings && settings.memoryBudget == 64 << 20)
  }

  @Test func equalSettingsMayBeSetAtAnyTime() async throws {
    let database = try TestDatabase()
    try await database.firestore.document("a/b").setData(["n": 1])
    database.firestore.settings = database.firestore.settings
    await database.close()
  }

  @Test func useEmulatorSetsAHostWithoutEncryption() throws {
    let database = try TestDatabase()
    database.firestore.useEmulator(withHost: "localhost", port: 8080)
    #expect(database.firestore.settings.host == "localhost:8080")
    #expect(!database.firestore.settings.isSSLEnabled)
  }

  @Test func memorySettingsLeaveNothingOnDisk() async throws {
    let database = try TestDatabase()
    let settings = database.firestore.settings
    settings.cacheSettings = MemoryCacheSettings()
    database.firestore.settings = settings
    try await database.firestore.document("a/b").setData(["n": 1])
    #expect(
      try await database.firestore.collection("a").whereField("n", isEqualTo: 1).getDocuments().count == 1)
    #expect(database.firestore.persistentCacheIndexManager == nil)
    #expect(!FileManager.default.fileExists(atPath: database.folder.path))
    await database.close()
  }

  @Test func bufferedWritesSurviveARestart() async throws {
    let database = try TestDatabase()
    let settings = database.firestore.settings
    #expect(settings.durability == .synced)
    settings.durability = .buffered
    #expect(settings != database.firestore.settings)
    database.firestore.settings = settings
    for n in 0..<50 { try await database.firestore.document("a/\(n)").setData(["n": n]) }
    await database.restart()
    #expect(try await database.firestore.collection("a").getDocuments().count == 50)
    await database.close()
  }

  @Test func indexHintsChangeNoResult() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let manager = try #require(firestore.persistentCacheIndexManager)
    let batch = firestore.batch()
    for n in 0..<200 { batch.setData(["n": n, "m": n % 7], forDocument: firestore.document("a/\(n)")) }
    try await batch.commit()
    let query = firestore.collection("a").whereField("m", isEqualTo: 3).order(by: "n").limit(to: 5)
    var found: [[Int]] = []
    for step in [manager.disableIndexAutoCreation, manager.enableIndexAutoCreation, manager.deleteAllIndexes]
    {
      step()
      found.append(try await query.getDocuments().documents.compactMap { $0["n"] as? Int })
    }
    #expect(found == Array(repeating: [3, 10, 17, 24, 31], count: 3))
    await database.close()
  }

  @Test func indexesAreReadFromTheCommandLineToolsJSON() async throws {
    let database = try TestDatabase()
    let firestore: any OldConfiguration = database.firestore
    let json = """
      {"indexes": [{"collectionGroup": "a", "queryScope": "COLLECTION", "fields": [
        {"fieldPath": "m", "order": "ASCENDING"}, {"fieldPath": "`n.o`", "order": "DESCENDING"},
        {"fieldPath": "__name__", "order": "DESCENDING"}]}], "fieldOverrides": []}
      """
    #expect(await firestore.configured(json) == nil)
    #expect(await firestore.configured("{") == "Invalid Json format.")
    #expect(await firestore.configured("{\"indexes\": [{\"fields\": 1}]}") == "Invalid Json format.")
    await database.close()
  }

  @Test func theLaterOfTwoConcurrentIndexConfigurationsWins() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let batch = firestore.batch()
    for n in 0..<200 {
      batch.setData(
        ["a": n, "b": n, "c": n, "d": n, "e": n, "f": n], forDocument: firestore.document("x/\(n)"))
    }
    try await batch.commit()
    func json(_ fields: [String]) -> String {
      let indexes = fields.map { field in
        "{\"collectionGroup\": \"x\", \"fields\": [{\"fieldPath\": \"\(field)\", \"order\": \"ASCENDING\"}]}"
      }
      return "{\"indexes\": [\(indexes.joined(separator: ", "))]}"
    }
    let old: any OldConfiguration = firestore
    let (earlier, later) = (json(["a", "b", "c", "d"]), json(["e", "f"]))
    #expect(await old.configured(later) == nil)
    let expected = Set(try await firestore.indexes())
    #expect(expected.count == 2)
    var wrong: [String] = []
    for _ in 0..<10 {
      old.setIndexConfiguration(earlier, completion: nil)
      let message = await old.configured(later)
      let indexes = Set(try await firestore.indexes())
      if message != nil || indexes != expected { wrong.append("\(String(describing: message)), \(indexes)") }
    }
    #expect(wrong == [])
    await database.close()
  }

  @Test func configuredIndexesServeTheirQueries() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let batch = firestore.batch()
    for n in 0..<200 { batch.setData(["a": n % 5, "b": n], forDocument: firestore.document("x/\(n)")) }
    try await batch.commit()
    let json =
      #"{"indexes": [{"collectionGroup": "x", "queryScope": "COLLECTION", "fields": "#
      + #"[{"fieldPath": "a", "order": "ASCENDING"}, {"fieldPath": "b", "order": "DESCENDING"}]}]}"#
    let old: any OldConfiguration = firestore
    #expect(await old.configured(json) == nil)
    #expect(try await firestore.indexes() == ["x(a, b desc)"])
    let documents = firestore.collection("x")
    var wrong: [String] = []
    for query in [
      documents.whereField("a", isEqualTo: 3).order(by: "b", descending: true),
      documents.order(by: "a").order(by: "b", descending: true),
    ] {
      let explanation = try await query.limit(to: 5).explain()
      if !explanation.indexesMade.isEmpty || explanation.results != 5 { wrong.append("\(explanation)") }
    }
    #expect(wrong == [])
    await database.close()
  }

  @Test func deletingAllIndexesIncludesThoseDeclaredJustBefore() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    let batch = firestore.batch()
    for n in 0..<200 { batch.setData(["a": n, "b": n], forDocument: firestore.document("x/\(n)")) }
    try await batch.commit()
    let indexes = ["a", "b"].map { field in
      "{\"collectionGroup\": \"x\", \"fields\": [{\"fieldPath\": \"\(field)\", \"order\": \"ASCENDING\"}]}"
    }
    let json = "{\"indexes\": [\(indexes.joined(separator: ", "))]}"
    let old: any OldConfiguration = firestore
    let manager = try #require(firestore.persistentCacheIndexManager)
    var wrong: [String] = []
    for _ in 0..<10 {
      old.setIndexConfiguration(json, completion: nil)
      manager.deleteAllIndexes()
      // This invalid configuration is refused only after both earlier calls have run.
      let message = await old.configured("{")
      let left = try await firestore.indexes()
      if message != "Invalid Json format." || !left.isEmpty {
        wrong.append("\(String(describing: message)), \(left)")
      }
    }
    #expect(wrong == [])
    await database.close()
  }
}

/// Declares the deprecated method, so that tests can call it without a warning.
protocol OldConfiguration {
  func setIndexConfiguration(_ json: String, completion: (((any Error)?) -> Void)?)
}

extension OldConfiguration {
  func configured(_ json: String) async -> String? {
    await withCheckedContinuation { done in
      setIndexConfiguration(json) { done.resume(returning: $0?.localizedDescription) }
    }
  }
}

extension Firestore: OldConfiguration {}
