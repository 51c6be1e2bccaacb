// Tests of the document cache.

import FirebaseFirestore
import Foundation
import LayerHarness
import Testing

@testable import Ballcap

extension BallcapTests {
  @Suite final class Cache {
    private let app = TestApp()
    private var cache: DocumentCache { .shared }

    init() { cache.clear() }

    @Test func otherInstanceSeesTheCachedSave() async throws {
      try await Document<User>(id: "ada", from: User(name: "Ada")).save()
      #expect(Document<User>(id: "ada").cache == User(name: "Ada"))
      #expect(Document<User>(id: "eve").cache == nil)
    }

    @Test func cacheHoldsTheValuesThatTheCommitComputed() async throws {
      let counter = Document<Counter>(id: "c")
      try await counter.save()
      counter.data?.hits = .increment(2)
      counter.data?.names = .arrayUnion(["a"])
      try await counter.update()
      let cached = try #require(counter.cache)
      #expect(cached.hits == 2)
      #expect(cached.names == ["a"])
      #expect(cached.seen != .pending)
      #expect(cache.get(reference: counter.documentReference)?["createdAt"] is Timestamp)
    }

    @Test func updateKeepsTheCreateTimeAndMergeKeepsAllFields() async throws {
      let ada = Document<User>(id: "ada", from: User(name: "Ada"))
      try await ada.save()
      try await ada.update()
      #expect(cache.get(reference: ada.documentReference)?["createdAt"] is Timestamp)
      try await Firestore.firestore().document("users/ada").setData(["extra": 1], merge: true)
      try await Batch().save(ada, merge: true).commit()
      #expect(cache.get(reference: ada.documentReference)?["extra"] as? Int == 1)
      #expect(cache.get(reference: ada.documentReference)?["name"] as? String == "Ada")
    }

    @Test func rejectedCommitLeavesTheCacheUnchanged() async throws {
      let ada = Document<User>(id: "ada", from: User(name: "Ada"))
      try await ada.save()
      ada.data?.name = "Eve"
      await #expect(throws: (any Error).self) {
        try await Batch().save(ada).update(Document<User>(id: "nobody")).commit()
      }
      #expect(Document<User>(id: "ada").cache?.name == "Ada")
      #expect(Document<User>(id: "nobody").cache == nil)
    }

    @Test func deletionClearsTheCacheEntry() async throws {
      let ada = Document<User>(id: "ada")
      try await ada.save()
      let old = try await ada.documentReference.getDocument()
      try await ada.delete()
      #expect(ada.cache == nil)
      // A read that started before the deletion ends after the deletion.
      _ = try Document<User>(snapshot: old)
      #expect(ada.cache == nil)
      try await ada.save()
      #expect(ada.cache == User())
    }

    @Test func readsFillTheCacheAndOlderStatesDoNotReplaceNewer() async throws {
      let reference = Firestore.firestore().document("users/ada")
      try await reference.setData(["name": "Ada", "age": 1, "tags": []])
      let old = try await reference.getDocument()
      try await reference.updateData(["age": 2])
      _ = try await Document<User>.get(id: "ada")
      #expect(Document<User>(id: "ada").cache?.age == 2)
      _ = try Document<User>(snapshot: old)
      #expect(Document<User>(id: "ada").cache?.age == 2)
    }

    @Test func readOfAMissingDocumentClearsTheCacheEntry() async throws {
      let ada = Document<User>(id: "ada", from: User(name: "Ada"))
      typealias Look = (Document<User>) async throws -> Bool
      let looks: [Look] = [
        { try await Document<User>.get(id: $0.id) == nil },
        { ada in
          await withCheckedContinuation { done in
            Document<User>.get(id: ada.id) { found, _ in done.resume(returning: found == nil) }
          }
        },
        { try Document<User>(snapshot: try await $0.documentReference.getDocument()).data == nil },
        { ada in
          let heard = CallbackValues<Bool>()
          let disposer: Disposer = ada.listen { found, _ in heard.add(found == nil) }
          defer { disposer.dispose() }
          return await heard.next()
        },
        { ada in
          for try await found in Document<User>.updates(id: ada.id) { return found == nil }
          return false
        },
        { ada in
          for try await found in ada.updates { return found == nil }
          return false
        },
      ]
      var wrong: [String] = []
      for (index, look) in looks.enumerated() {
        try await ada.save()
        let saved = Document<User>(id: "ada").cache
        // Deletes the document through its reference, without an object.
        try await Firestore.firestore().document("users/ada").delete()
        let isAbsent = try await look(ada)
        let left = Document<User>(id: "ada").cache
        if saved != User(name: "Ada") || !isAbsent || left != nil {
          wrong.append("\(index): \(String(describing: saved)), \(isAbsent), \(String(describing: left))")
        }
      }
      #expect(wrong == [])
      // The cache finds a recreated document, although an earlier read found that the document did not exist.
      let absent = try await ada.documentReference.getDocument()
      try await ada.save()
      _ = try Document<User>(snapshot: absent)
      #expect(Document<User>(id: "ada").cache == User(name: "Ada"))
    }

    @Test func anyReadRefillsADroppedEntry() async throws {
      let ada = Document<User>(id: "ada", from: User(name: "Ada"))
      try await ada.save()
      let old = try await ada.documentReference.getDocument()
      let forgets: [() throws -> Void] = [
        { self.cache.delete(reference: ada.documentReference) }, { self.cache.delete(key: ada.path) },
        // This document has a value that only a commit can compute, so it is not cached.
        { try self.cache.set(Document<Counter>(id: "c"), reference: ada.documentReference) },
      ]
      var wrong: [String] = []
      for (index, forget) in forgets.enumerated() {
        let full = ada.cache
        try forget()
        let empty = ada.cache
        if full != User(name: "Ada") || empty != nil {
          wrong.append("\(index): \(String(describing: full)), \(String(describing: empty))")
        }
        _ = try Document<User>(snapshot: old)
      }
      #expect(wrong == [])
      // The commit's result is unknown, so the cache looks the document up in the database.
      cache.setCommitted(nil, at: ada.documentReference, time: 0)
      #expect(ada.cache == User(name: "Ada"))
      // Only a lookup that started after the commit resolves an unknown result, however old the document is.
      let before = try #require(CachedDocument.unknown(ada.documentReference).refreshed(at: nil))
      let unknown = CachedDocument.unknown(ada.documentReference)
      let time = CachedDocument.now
      while CachedDocument.now == time {}
      let behind = try #require(unknown.refreshed(at: nil))
      #expect(!before.canReplace(unknown) && behind.canReplace(unknown))
      // A deleted document does not reappear.
      try await ada.delete()
      _ = try Document<User>(snapshot: old)
      #expect(ada.cache == nil)
    }

    @Test func lateCommitNotificationDoesNotReplaceALaterRead() async throws {
      let reference = Firestore.firestore().document("users/ada")
      try await reference.setData(["name": "Ada", "age": 1, "tags": []])
      let committed = try await reference.getDocument()
      try await reference.updateData(["age": 2])
      _ = try await Document<User>.get(id: "ada")
      cache.setCommitted(committed, at: reference, time: 0)
      #expect(Document<User>(id: "ada").cache?.age == 2)
    }

    @Test func concurrentReadsAndWritesLeaveTheLastStateCached() async throws {
      let ids = ["ada", "eve"]
      await withTaskGroup(of: Void.self) { group in
        for id in ids {
          group.addTask {
            for age in 1...40 { try? await Document<User>(id: id, from: User(age: age)).save() }
          }
          for _ in 0..<2 {
            group.addTask {
              var last = 0
              for _ in 0..<60 {
                _ = try? await Document<User>.get(id: id)
                let age = Document<User>(id: id).cache?.age ?? last
                if age < last { Issue.record("\(id) was \(last) and is \(age)") }
                last = age
              }
            }
          }
        }
      }
      #expect(ids.map { Document<User>(id: $0).cache?.age } == [40, 40])
    }

    @Test func undecodableEntryIsNilAndTypedReadsThrow() throws {
      cache.set(key: "users/odd", data: ["name": 7])
      #expect(Document<User>(id: "odd").cache == nil)
      #expect(throws: DecodingError.self) { try cache.get(modelType: User.self, path: "users/odd") }
      #expect(try cache.get(modelType: User.self, path: "users/none") == nil)
    }

    @Test func plainIntegersDecodeIntoAllNumbers() throws {
      struct Numbers: Codable, Modelable {
        var a = 0.0
        var b: Float = 0
        var c: Int64 = 0
        var d: Int16 = 0
        var e: Int8 = 0
        var f: UInt8 = 0
      }
      cache.set(key: "numbers/n", data: ["a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6])
      #expect(
        try cache.get(modelType: Numbers.self, path: "numbers/n")
          == Numbers(a: 1, b: 2, c: 3, d: 4, e: 5, f: 6))
    }

    @Test func objectsAreSetAndFound() throws {
      let ada = Document<User>(id: "ada", from: User(name: "Ada"))
      try cache.set(ada)
      let found = cache.get(documentType: Document<User>.self, reference: ada.documentReference)
      #expect(found == ada)
      #expect(found?.createdAt == ada.createdAt)
      cache.delete(reference: ada.documentReference)
      #expect(cache.get(documentType: Document<User>.self, reference: ada.documentReference) == nil)
      // A document with a value that only a commit can compute is not cached.
      try cache.set(Document<Counter>(id: "c"))
      #expect(cache.get(reference: Document<Counter>(id: "c").documentReference) == nil)
    }

    @Test func databasesWithTheSamePathsAreKeptApart() throws {
      let other = Firestore.memory().document("users/ada")
      try cache.set(Document<User>(id: "ada", from: User(name: "Ada")))
      #expect(cache.get(reference: other) == nil)
    }

    @Test func cacheKeepsTheLastThousandEntries() throws {
      for index in 0..<1500 { cache.set(key: "users/\(index)", data: ["name": "\(index)"]) }
      #expect(Document<User>(id: "499").cache == nil)
      #expect(cache.get(reference: Firestore.firestore().document("users/500")) != nil)
      #expect(cache.get(reference: Firestore.firestore().document("users/1499")) != nil)
    }

    @Test func readsBeyondTheLimitKeepTheLastThousand() async throws {
      let batch = Firestore.firestore().batch()
      let users = Firestore.firestore().collection("users")
      for index in 0..<1200 {
        batch.setData(
          ["name": "\(index)", "age": index, "tags": []], forDocument: users.document("\(index)"))
      }
      try await batch.commit()
      for index in 0..<1200 { _ = try await Document<User>.get(id: "\(index)") }
      #expect(Document<User>(id: "199").cache == nil)
      #expect(Document<User>(id: "200").cache?.age == 200)
      #expect(Document<User>(id: "1199").cache?.age == 1199)
    }

    @Test func manyThreadsMayUseTheCache() async {
      await withTaskGroup(of: Void.self) { group in
        for thread in 0..<8 {
          group.addTask {
            for index in 0..<500 {
              let key = "users/\((index * 7 + thread) % 1500)"
              DocumentCache.shared.set(key: key, data: ["name": key, "age": 0, "tags": []])
              _ = try? DocumentCache.shared.get(modelType: User.self, path: key)
              if index % 50 == 0 { DocumentCache.shared.delete(key: key) }
            }
          }
        }
      }
      cache.set(key: "users/last", data: ["name": "last", "age": 0, "tags": []])
      #expect(try! cache.get(modelType: User.self, path: "users/last")?.name == "last")
    }
  }
}
