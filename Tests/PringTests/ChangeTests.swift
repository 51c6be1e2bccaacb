// Tests of the fields that an update writes.

import FirebaseFirestore
import Foundation
import LayerHarness
import Testing

@testable import Pring

extension PringTests {
  @Suite final class Changes {
    private let app = TestApp()

    @Test func changingANumbersTypeIsAChange() async throws {
      let saved = Everything(id: "numbers")
      try await saved.save()
      let found = try #require(try await Everything.get("numbers"))
      found.map["a"] = 1.0
      #expect(!found.updateValue.isEmpty)
      try await found.update()
      found.map["a"] = true
      #expect(!found.updateValue.isEmpty)
      found.map["a"] = 1.0
      #expect(found.updateValue.isEmpty)
    }

    @Test func canonicallyEquivalentTextIsAChange() {
      let all = Everything(
        id: "a", value: ["tags": ["\u{e9}": true], "counts": ["\u{e9}": 1], "map": ["\u{e9}": 1]])
      #expect(all.updateValue.isEmpty)
      all.tags = ["e\u{301}"]
      all.counts = ["e\u{301}": 1]
      all.map = ["e\u{301}": 1]
      #expect(Set(all.updateValue.keys) == ["tags", "counts", "map"])
    }

    @Test func anUpdateWritesOnlyChangedFields() async throws {
      let item = Item(id: "a")
      item.name = "n"
      #expect(Set(item.updateValue.keys) == ["name"])
      try await item.save()
      #expect(item.isSaved && item.updateValue.isEmpty)
      try await item.reference.updateData(["price": 9, "other": 1])
      item.name = "m"
      try await item.update()
      let stored = try #require(try await fields(item))
      #expect(stored["name"] as? String == "m" && stored["price"] as? Int == 9)
      #expect(stored["other"] as? Int == 1)
      let before = try await item.reference.getDocument().version
      try await item.update()
      #expect(try await item.reference.getDocument().version == before)
    }

    /// The bug: if the second update completed first, the first update was treated as the latest one. The
    /// next update then wrote the values of the second update again.
    @Test func updatesThatCompleteOutOfOrderWriteNothingTwice() async throws {
      let item = Item(id: "a")
      try await item.save()
      item.name = "first"
      let (_, first) = try #require(item.pringBeginUpdate())
      item.name = "second"
      let (_, second) = try #require(item.pringBeginUpdate())
      item.pringEndWrite(second, nil)
      #expect(item.pringBeginUpdate() == nil)
      item.price = 3
      let (changes, third) = try #require(item.pringBeginUpdate())
      #expect(changes.map(\.path) == [["price"]])
      item.pringEndWrite(third, nil)
      item.pringEndWrite(first, nil)
      #expect(item.updateValue.isEmpty && item.pringBeginUpdate() == nil)
    }

    @Test func anUpdateReplacesAMapAsAWhole() async throws {
      let item = Item(id: "a")
      item.tags = ["a", "b"]
      try await item.save()
      item.tags.remove("a")
      #expect(item.updateValue["tags"] as? [String: Bool] == ["b": true])
      try await item.update()
      #expect(try await fields(item)?["tags"] as? [String: Bool] == ["b": true])
    }

    @Test func aRevertedChangeIsNotAChange() {
      let item = Item(id: "a", value: ["price": 1.5])
      item.price = 2
      item.price = 1.5
      item.tags.insert("a")
      item.tags = []
      #expect(item.updateValue.isEmpty)
      item.price = .nan
      #expect(item.updateValue.count == 1)
    }

    @Test func anAssignmentMarksItsFieldAsChanged() async throws {
      let touched = Touched(id: "a")
      #expect(touched.updateValue.isEmpty && touched.rawValue["nick"] == nil)
      touched.nick = nil
      touched.tags.append("x")
      #expect(touched.updateValue["nick"] is NSNull && touched.updateValue["tags"] as? [String] == ["x"])
      touched.score = 5
      try await touched.save()
      #expect(touched.updateValue.isEmpty)
      let found = try #require(try await Touched.get("a"))
      #expect(found.nick == nil && found.score == 5 && found.tags == ["x"] && found.updateValue.isEmpty)
      found.score = 5
      #expect(found.updateValue["score"] as? Int == 5)
      try await found.update()
      #expect(found.updateValue.isEmpty)
      let query = Touched.where(\Touched.score, isEqualTo: 5).query
      #expect(query == Touched.reference.whereField("score", isEqualTo: 5))
    }

    @Test func manualUpdateEntriesAreWritten() async throws {
      let item = Item(id: "a")
      try await item.save()
      item.update(key: "extra.dot", value: 1)
      item.update(key: "price", value: FieldValue.increment(2.5))
      #expect(item.updateValue.count == 2)
      try await item.update()
      let stored = try #require(try await fields(item))
      #expect(stored["extra.dot"] as? Int == 1 && stored["price"] as? Double == 2.5)
      item.price = 8
      item.updateValue = ["name": "by hand"]
      #expect(item.updateValue.count == 1)
      item.updateValue = [:]
      #expect(item.updateValue.isEmpty)
    }

    @Test func changesDuringAnUpdateAreWrittenByTheNextUpdate() async throws {
      let item = Item(id: "a")
      try await item.save()
      item.name = "first"
      async let done: Void = withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
        item.update { _ in done.resume() }
        item.price = 3
      }
      await done
      #expect(item.updateValue["price"] as? Double == 3 && item.updateValue.count == 1)
      try await item.update()
      #expect(try await fields(item)?["price"] as? Double == 3)
    }

    @Test func concurrentUpdatesWriteEachChangeOnce() async throws {
      let item = Item(id: "a")
      try await item.save()
      item.name = "first"
      let first = item.reference.firestore.batch()
      item.pack(.update, batch: first)
      item.price = 3
      let second = item.reference.firestore.batch()
      item.pack(.update, batch: second)
      try await first.commit()
      try await item.reference.updateData(["name": "of another"])
      try await second.commit()
      let stored = try #require(try await fields(item))
      #expect(stored["name"] as? String == "of another" && stored["price"] as? Double == 3)
      #expect(item.updateValue.isEmpty)
    }

    @Test func changesOfAFailedUpdateAreWrittenByTheNextUpdate() async throws {
      let item = Item(id: "a")
      try await item.save()
      item.name = "n"
      item.update(key: "extra", value: 1)
      let failing = item.reference.firestore.batch()
      item.pack(.update, batch: failing)
      failing.updateData(["x": 1], forDocument: Item.reference.document("missing"))
      item.price = 2
      let second = item.reference.firestore.batch()
      item.pack(.update, batch: second)
      await #expect(throws: (any Error).self) { try await failing.commit() }
      try await second.commit()
      #expect(item.isSaved && Set(item.updateValue.keys) == ["name", "extra"])
      try await item.update()
      let stored = try #require(try await fields(item))
      #expect(stored["name"] as? String == "n" && stored["extra"] as? Int == 1)
      #expect(stored["price"] as? Double == 2)
      #expect(item.updateValue.isEmpty)
    }

    /// Returns a batch with an update of the object that fails at commit.
    private func failingUpdate(of object: Object) -> WriteBatch {
      let batch = object.reference.firestore.batch()
      object.pack(.update, batch: batch)
      return batch.updateData(["x": 1], forDocument: Item.reference.document("missing"))
    }

    /// The bug: when the second update completed, the object's state at that update was treated as completely
    /// stored. The changes of the failed first update were lost.
    @Test(arguments: [false, true])
    func listMembersOfAFailedUpdateAreWrittenByTheNextUpdate(otherIsOfTheList: Bool) async throws {
      let room = Room(id: "r")
      let (kept, gone) = (Item(id: "kept"), Item(id: "gone"))
      room.shelf.append(kept)
      room.shelf.append(gone)
      try await room.save()
      room.shelf.append(Item(id: "new"))
      room.shelf.remove(gone)
      kept.price = 1
      let first = failingUpdate(of: room)
      if otherIsOfTheList { room.shelf.append(Item(id: "other")) } else { room.title = "t" }
      let second = room.reference.firestore.batch()
      room.pack(.update, batch: second)
      await #expect(throws: (any Error).self) { try await first.commit() }
      try await second.commit()
      let pending = try #require(room.updateValue["shelf"] as? [String: Any])
      #expect(Set(pending.keys) == ["kept", "gone", "new"] && room.updateValue.count == 1)
      #expect(pending["gone"] is FieldValue)
      #expect((pending["kept"] as? [String: Any])?.keys.sorted() == ["price"])
      try await room.reference.updateData(["shelf.kept.name": "of another"])
      try await room.update()
      let shelf = try #require(try await fields(room)?["shelf"] as? [String: [String: Any]])
      #expect(shelf.keys.sorted() == (otherIsOfTheList ? ["kept", "new", "other"] : ["kept", "new"]))
      #expect(shelf["kept"]?["price"] as? Double == 1 && shelf["kept"]?["name"] as? String == "of another")
      #expect(shelf["new"]?["price"] as? Double == 0)
      #expect(room.updateValue.isEmpty && room.pringBeginUpdate() == nil)
    }

    @Test func aMemberWrittenConcurrentlyWithAFailedUpdateCanBeRemoved() async throws {
      let room = Room(id: "r")
      try await room.save()
      room.shelf.append(Item(id: "a"))
      let first = failingUpdate(of: room)
      let other = Item(id: "b")
      room.shelf.append(other)
      let second = room.reference.firestore.batch()
      room.pack(.update, batch: second)
      await #expect(throws: (any Error).self) { try await first.commit() }
      try await second.commit()
      room.shelf.remove(other)
      try await room.update()
      let shelf = try #require(try await fields(room)?["shelf"] as? [String: Any])
      #expect(shelf.keys.sorted() == ["a"])
    }

    private let failure = DocumentError(kind: .lostCompletion, description: "a test")

    @Test func anUpdateOmitsTheFieldsOfAnUpdateInProgress() async throws {
      let item = Item(id: "a")
      try await item.save()
      item.name = "n"
      let (_, first) = try #require(item.pringBeginUpdate())
      item.pringEndWrite(first, failure)
      let (again, second) = try #require(item.pringBeginUpdate())
      #expect(again.map(\.path) == [["name"]] && item.pringBeginUpdate() == nil)
      item.price = 1
      let (behind, third) = try #require(item.pringBeginUpdate())
      #expect(behind.map(\.path) == [["price"]])
      item.pringEndWrite(second, failure)
      item.pringEndWrite(third, nil)
      let (last, fourth) = try #require(item.pringBeginUpdate())
      #expect(last.map(\.path) == [["name"]])
      item.pringEndWrite(fourth, nil)
      #expect(item.updateValue.isEmpty && item.pringBeginUpdate() == nil)
    }

    @Test func anEarlierUpdateDoesNotClearTheChangesOfALaterFailedUpdate() async throws {
      let item = Item(id: "a")
      try await item.save()
      item.name = "first"
      let (_, first) = try #require(item.pringBeginUpdate())
      item.name = "second"
      let (_, second) = try #require(item.pringBeginUpdate())
      item.price = 1
      let (_, third) = try #require(item.pringBeginUpdate())
      item.pringEndWrite(second, failure)
      item.pringEndWrite(third, nil)
      item.pringEndWrite(first, nil)
      let (changes, _) = try #require(item.pringBeginUpdate())
      #expect(changes.map(\.path) == [["name"]] && changes[0].value as? String == "second")
    }

    @Test func savingUnstorableValuesIsAnError() async throws {
      let item = Item(id: "a")
      item.tags = [""]
      await #expect(throws: (any Error).self) { try await item.save() }
      #expect(!item.isSaved)
      item.tags = ["a"]
      try await item.save()
      #expect(item.isSaved)
    }

    @Test func updatingAnUnsavedObjectWritesAllFields() async throws {
      let item = Item(id: "a")
      item.name = "n"
      try await item.update()
      let stored = try #require(try await fields(item))
      #expect(item.isSaved && stored["name"] as? String == "n" && stored["createdAt"] is Timestamp)
      #expect(item.createdAt == stored["createdAt"] as? Timestamp)
    }

    @Test func completionsReportReferenceAndError() async throws {
      let item = Item(id: "a")
      let (reference, error, isThere) = await callbackValue { heard in
        item.save { heard(($0, $1, TestApp.isCallbackQueue)) }
      }
      #expect(reference == item.reference && error == nil && isThere)
      item.price = 1
      #expect(await callbackValue { heard in item.update { heard($0 == nil) } })
      let batch = Firestore.firestore().batch()
      batch.setData(["n": 1], forDocument: Item.reference.document("other"))
      let second = Item(id: "b")
      #expect(await callbackValue { heard in second.save(batch) { _, error in heard(error == nil) } })
      #expect(try await fields("version/1/item/other") != nil && second.isSaved)
      #expect(await callbackValue { heard in item.delete { heard($0 == nil) } })
      #expect(try await fields(item) == nil)
    }
  }
}
