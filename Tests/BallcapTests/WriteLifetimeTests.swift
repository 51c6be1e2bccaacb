// Tests that a write does not keep its object alive, and that the object gets the outcome of the write even
// if the write has no completion.

import FirebaseFirestore
import FirebaseStorage
import Foundation
import LayerHarness
import Testing

@testable import Ballcap

extension BallcapTests {
  @Suite final class WriteLifetimes {
    private let app = TestApp()
    private var queue: DispatchQueue { Firestore.firestore().settings.dispatchQueue }

    private class Visitor: Object {
      struct Model: Codable, Modelable { var name = "Ada" }

      override class var name: String { "visitors" }

      var data: Model?
    }

    private final class Timed: Visitor, DataRepresentable {}

    private final class Plain: Visitor, DataRepresentable {
      var shouldIncludedInTimestamp: Bool { false }
    }

    enum Write: CaseIterable {
      case save, saveElsewhere, update, updateAtRemote, delete, deleteElsewhere, merge, mergeElsewhere
      case batchSave, batchUpdate, batchDelete, batchCopy, failingUpdate, failingEncoding

      var fails: Bool { self == .failingUpdate || self == .failingEncoding }
    }

    private var elsewhere: DocumentReference { Firestore.firestore().document("elsewhere/a") }

    private func issue<T: Object & DataRepresentable>(
      _ write: Write, of object: T, _ completion: @escaping ((any Error)?) -> Void
    ) {
      switch write {
      case .save: object.save(completion: completion)
      case .saveElsewhere: object.save(reference: elsewhere, completion: completion)
      case .update: object.update(completion: completion)
      case .updateAtRemote: object.update(reference: elsewhere, completion: completion)
      case .delete: object.delete(completion: completion)
      case .deleteElsewhere: object.delete(reference: elsewhere, completion: completion)
      case .merge: object.merge(data: ["name": "Eve"], completion: completion)
      case .mergeElsewhere: object.merge(reference: elsewhere, data: ["name": "Eve"], completion: completion)
      case .batchSave: Batch().save(object).commit(completion)
      case .batchUpdate: Batch().update(object).commit(completion)
      case .batchDelete: Batch().delete(object).commit(completion)
      case .batchCopy: Batch().save([object], to: elsewhere.parent).commit(completion)
      case .failingUpdate:
        object.set(documentReference: elsewhere.parent.document("nothing"))
        object.update(completion: completion)
      case .failingEncoding:
        object.data = nil
        object.save(completion: completion)
      }
    }

    private final class Observed { weak var object: Visitor? }

    /// Issues a write of an object that only the write could keep alive. Returns whether the write failed.
    private func isFailure<T: Visitor & DataRepresentable>(
      of write: Write, _ type: T.Type
    ) async throws -> Bool where T.Model == Visitor.Model {
      try await T(id: "a").save()
      try await T(id: "a").save(reference: elsewhere)
      return await withCheckedContinuation { done in
        queue.suspend()
        let observed = Observed()
        do {
          let object = T(id: "a")
          observed.object = object
          issue(write, of: object) { error in done.resume(returning: error != nil) }
        }
        // No callback has run yet.
        #expect(observed.object == nil, "the write keeps its object")
        queue.resume()
      }
    }

    @Test(arguments: Write.allCases)
    func writeCompletesAfterItsObjectIsFreed(write: Write) async throws {
      #expect(try await isFailure(of: write, Timed.self) == write.fails)
      #expect(try await isFailure(of: write, Plain.self) == write.fails)
    }

    @Test func writeOfAFreedObjectIsStored() async throws {
      await withCheckedContinuation { done in
        queue.suspend()
        do {
          let object = Timed(id: "freed")
          object.data = Visitor.Model(name: "Eve")
          object.save { _ in done.resume() }
        }
        queue.resume()
      }
      let stored = try #require(try await Timed.get(id: "freed"))
      #expect(stored.data?.name == "Eve")
    }

    /// Waits until the completions of all earlier writes have run.
    private func waitForCompletions() async {
      _ = await outcome { Batch().set([:], reference: elsewhere).commit($0) }
    }

    /// Calls `body` in a synchronous context, where a save without `await` is the form with a completion.
    private func issue(_ body: () -> Void) { body() }

    @Test func saveWithoutACompletionSetsTheCommitTimes() async throws {
      let ada = Document<User>(id: "ada")
      let old = Timestamp(seconds: 1, nanoseconds: 0)
      (ada.createdAt, ada.updatedAt) = (old, old)
      issue { ada.save() }
      await waitForCompletions()
      let stored = try #require(try await Document<User>.get(id: "ada"))
      #expect((ada.createdAt, ada.updatedAt) == (stored.createdAt, stored.updatedAt))
      ada.data?.age = 36
      issue { ada.update() }
      await waitForCompletions()
      let updated = try #require(try await Document<User>.get(id: "ada"))
      #expect(ada.updatedAt == updated.updatedAt && updated.updatedAt > stored.updatedAt)
    }

    @Test func failedSaveWithoutACompletionRestoresTheTimes() async {
      let ada = Document<User>(id: "ada")
      let times = (ada.createdAt, ada.updatedAt)
      issue { ada.update() }
      await waitForCompletions()
      #expect((ada.createdAt, ada.updatedAt) == times)
    }

    enum Transfer: CaseIterable { case save, reload, delete }

    private final class ObservedFile { weak var file: File? }

    @Test(arguments: Transfer.allCases)
    func transferRetainsItsFileUntilItsCompletionReturns(transfer: Transfer) async {
      let reference = Storage.storage().reference(withPath: "files/a.txt")
      let callbackQueue = Storage.storage().callbackQueue
      let hadFile = await withCheckedContinuation { done in
        callbackQueue.suspend()
        let observed = ObservedFile()
        do {
          let file = File(reference, data: Data("x".utf8), mimeType: .plain)
          observed.file = file
          switch transfer {
          case .save: file.save { _, _ in done.resume(returning: observed.file != nil) }
          case .reload: file.reload { _, _ in done.resume(returning: observed.file != nil) }
          case .delete: file.delete { _ in done.resume(returning: observed.file != nil) }
          }
        }
        #expect(observed.file != nil, "freed while the transfer was under way")
        callbackQueue.resume()
      }
      #expect(hadFile)
    }
  }
}
