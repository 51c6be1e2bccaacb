// Tests of the cache of a database with a remote. Pending changes are visible, and rejected changes are
// dropped.

import Authority
import Ballcap
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

extension BallcapTests {
  @Suite final class RemoteCache {
    private let folder = Foundation.FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-test-\(UUID().uuidString)")
    private let authority: DocumentStore
    private let remote: LoopbackRemote

    init() throws {
      authority = try DocumentStore.openInMemory()
      remote = try LoopbackRemote(authority: authority)
      FirebaseApp.configure(options: FirebaseOptions(directory: folder))
      let settings = FirestoreSettings()
      settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
      settings.remote = remote
      settings.acknowledgement = .local
      Firestore.firestore().settings = settings
    }

    deinit {
      FirebaseApp.app()?.delete { _ in }
      try? Foundation.FileManager.default.removeItem(at: folder)
    }

    private func rejectEverything() {
      var rules = LoopbackRules()
      rules.mayWrite = { _, _ in RemoteError(.permissionDenied, "no") }
      remote.setRules(rules)
    }

    @Test func rejectedCreationIsRemovedFromTheCache() async throws {
      rejectEverything()
      let firestore = Firestore.firestore()
      try await firestore.disableNetwork()
      try await Document<User>(id: "eve", from: User(name: "Eve")).save()
      #expect(Document<User>(id: "eve").cache == User(name: "Eve"), "it is pending")
      try await firestore.enableNetwork()
      try await firestore.waitForPendingWrites()
      #expect(Document<User>(id: "eve").cache == nil)
    }

    @Test func rejectedChangeIsRolledBackInTheCache() async throws {
      let firestore = Firestore.firestore()
      let ada = Document<User>(id: "ada", from: User(name: "Ada"))
      try await ada.save()
      try await firestore.waitForPendingWrites()
      rejectEverything()
      try await firestore.disableNetwork()
      ada.data?.name = "Eve"
      try await ada.save()
      #expect(Document<User>(id: "ada").cache?.name == "Eve")
      try await firestore.enableNetwork()
      try await firestore.waitForPendingWrites()
      #expect(Document<User>(id: "ada").cache?.name == "Ada")
    }

    @Test func rejectedDeletionIsRolledBackInTheCache() async throws {
      let firestore = Firestore.firestore()
      let ada = Document<User>(id: "ada", from: User(name: "Ada"))
      try await ada.save()
      try await firestore.waitForPendingWrites()
      rejectEverything()
      try await firestore.disableNetwork()
      try await ada.delete()
      #expect(ada.cache == nil)
      try await firestore.enableNetwork()
      try await firestore.waitForPendingWrites()
      #expect(ada.cache == User(name: "Ada"))
    }

    private struct Found: @unchecked Sendable {
      // Created once and handed over; its creator does not use it again.
      var document: Document<User>?
      var error: (any Error)?
    }

    private func get(_ document: Document<User>, _ policy: CachePolicy) async -> Found {
      await withCheckedContinuation { done in
        document.get(policy) { done.resume(returning: Found(document: $0, error: $1)) }
      }
    }

    /// A document that is not in the cache may exist at the remote.
    @Test func cacheOnlyReadOfAnUnknownDocumentIsUnavailable() async throws {
      let fields = StoredMap([("name", .string("Ada")), ("age", .integer(1)), ("tags", .array([]))])
      try authority.commit([.set(DocumentPath(["users", "ada"]), fields)])
      let ada = Document<User>(Firestore.firestore().document("users/ada"))
      let edited = Document<User>(id: "ada", from: User(name: "Eve"))
      var wrong: [String] = []
      for document in [ada, edited] {
        let found = await get(document, .cacheOnly)
        let error = found.error as NSError?
        if found.document != nil || error?.domain != FirestoreErrorDomain || error?.code != 14 {
          wrong.append("\(String(describing: document.data)): \(found)")
        }
        do {
          _ = try await document.get(.cacheOnly)
          wrong.append("\(String(describing: document.data)) was found")
        } catch FirestoreErrorCode.unavailable {}
      }
      #expect(wrong == [])
      #expect(ada.data == nil && edited.data?.name == "Eve")
      #expect(try await ada.get(.cacheElseServer) === ada)
      #expect(ada.data?.name == "Ada")
      #expect(await get(edited, .cacheOnly).error == nil)
      #expect(edited.data?.name == "Ada")
    }

    @Test func cacheOnlyReadKnowsThatTheRemoteLacksADocument() async throws {
      let eve = Document<User>(id: "eve")
      #expect(try await Document<User>.get(id: "eve", source: .server) == nil)
      let found = await get(eve, .cacheOnly)
      #expect(found.document == nil && found.error == nil)
      #expect(eve.data == nil)
    }

    @Test func pendingChangeReplacesEarlierReads() async throws {
      let firestore = Firestore.firestore()
      let reference = firestore.document("users/ada")
      try await reference.setData(["name": "Ada", "age": 1, "tags": []])
      try await firestore.waitForPendingWrites()
      let old = try #require(try await Document<User>.get(id: "ada", source: .server)?.snapshot)
      try await firestore.disableNetwork()
      try await reference.updateData(["age": 2])
      _ = try await Document<User>.get(id: "ada")
      #expect(Document<User>(id: "ada").cache?.age == 2)
      // A read that started before the change ends after the change.
      _ = try Document<User>(snapshot: old)
      #expect(Document<User>(id: "ada").cache?.age == 2)
    }
  }
}
