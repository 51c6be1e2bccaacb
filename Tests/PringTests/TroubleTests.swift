// Tests of operations that run concurrently or are interrupted, and of documents that other apps wrote.

import FirebaseFirestore
import FirebaseStorage
import Foundation
import LayerHarness
import LayerKit
import Testing

@testable import Pring

/// Formats a change together with the ids that the source has after the change.
private func text(_ change: CollectionChange, _ source: DataSource<Item>) -> String {
  let name: String =
    switch change {
    case .initial: "initial"
    case .update: "update"
    case .error(let error): "\(error)"
    }
  return ([name] + source.documents.keys).joined(separator: " ")
}

extension PringTests {
  @Suite final class Troubles {
    private let app = TestApp()

    private var options: Options {
      let options = Options()
      options.includeMetadataChanges = false
      return options
    }

    private func put(_ items: [String: Double]) async throws {
      let batch = Firestore.firestore().batch()
      for (id, price) in items { batch.setData(["price": price], forDocument: Item.reference.document(id)) }
      try await batch.commit()
    }

    // MARK: Concurrent writes

    @Test func changesOfAnUncommittedBatchAreWrittenByTheNextUpdate() async throws {
      let item = Item(id: "a")
      try await item.save()
      item.name = "n"
      item.update(key: "extra", value: 1)
      Firestore.firestore().batch().add(.update, object: item)
      #expect(Set(item.updateValue.keys) == ["name", "extra"])
      item.price = 2
      try await item.update()
      let stored = try #require(try await fields(item))
      #expect(stored["name"] as? String == "n" && stored["extra"] as? Int == 1)
      #expect(stored["price"] as? Double == 2 && item.updateValue.isEmpty)
    }

    @Test func concurrentSavesLeaveTheLastStateAndNoPendingChange() async throws {
      let item = Item(id: "a")
      let heard = CallbackValues<Bool>()
      // No save can complete while this block runs.
      app.onCallbackQueue {
        for round in 0..<5 {
          item.price = Double(round)
          if round < 3 {
            item.save { _, error in heard.add(error == nil) }
          } else {
            item.update { heard.add($0 == nil) }
          }
        }
      }
      #expect(await heard.next(5) == [true, true, true, true, true])
      #expect(try await fields(item)?["price"] as? Double == 4)
      #expect(app.onCallbackQueue { item.isSaved && item.updateValue.isEmpty })
    }

    @Test func linksAndTransactionCountsAreExactUnderConcurrentJoins() async throws {
      let room = Room(id: "r")
      try await room.save()
      let (place, links) = (room.reference, room.members.reference)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<24 {
          group.addTask {
            // Two tasks try each id.
            let id = "\(number % 12)"
            let joined = Room(id: "r", value: [:])
            joined.members.insert(Member(id: id))
            try await joined.update()
            // A transaction can fail because conflicts have used up its attempts.
            var isDone = false
            while !isDone {
              do {
                _ = try await Firestore.firestore().runTransaction { transaction, errorPointer -> Any? in
                  do {
                    let seat = place.collection("seats").document(id)
                    let count = try transaction.getDocument(place).get("count") as? Int ?? 0
                    guard try !transaction.getDocument(seat).exists else { return nil }
                    transaction.setData([:], forDocument: seat)
                    transaction.updateData(["count": count + 1], forDocument: place)
                  } catch let error as NSError {
                    errorPointer?.pointee = error
                  }
                  return nil
                }
                isDone = true
              } catch let error as NSError {
                guard error.code == FirestoreErrorCode.Code.aborted.rawValue else { throw error }
              }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await fields(room)?["count"] as? Int == 12)
      #expect(try await links.getDocuments().count == 12)
      #expect(try await Member.reference.getDocuments().count == 12)
    }

    // MARK: Termination of the database

    private func memberWithPicture() -> Member {
      let member = Member(id: "m")
      member.picture = File(data: Data("p".utf8), name: "p.txt", mimeType: .plain)
      return member
    }

    private func isCancelled(_ error: (any Error)?) -> Bool {
      error.map { ($0 as NSError).code } == FirestoreErrorCode.Code.cancelled.rawValue
    }

    /// The database is terminated after the transfers have ended, but before the suspended queue reports the
    /// end of the transfers.
    @Test(arguments: [false, true])
    func terminationDuringUploadsFailsTheSave(intoABatch: Bool) async throws {
      let firestore = Firestore.firestore()
      let (member, other) = (memberWithPicture(), Item(id: "other"))
      try await other.save()
      other.price = 1
      let batch = intoABatch ? firestore.batch().add(.update, object: other) : nil
      let queue = firestore.settings.dispatchQueue
      let heard = CallbackValues<(DocumentReference?, (any Error)?, Bool)>()
      queue.suspend()
      member.save(batch) { heard.add(($0, $1, other.pringBeginUpdate() != nil)) }
      firestore.terminate { _ in }
      queue.resume()
      let (reference, error, isPending) = await heard.next()
      #expect(reference == nil && isCancelled(error) && isPending && !member.isSaved)
    }

    @Test func terminationDuringFileDeletionFailsTheDeletion() async throws {
      let (firestore, member) = (Firestore.firestore(), memberWithPicture())
      try await member.save()
      let queue = firestore.settings.dispatchQueue
      let heard = CallbackValues<(any Error)?>()
      queue.suspend()
      member.delete { heard.add($0) }
      firestore.terminate { _ in }
      queue.resume()
      let error = await heard.next()
      #expect(isCancelled(error) && member.isSaved)
    }

    @Test func terminationDuringUploadsFailsAnAwaitedSave() async throws {
      let (firestore, member) = (Firestore.firestore(), memberWithPicture())
      let queue = firestore.settings.dispatchQueue
      queue.suspend()
      let end = Task {
        defer { queue.resume() }
        // The upload is in progress until the uploaded bytes can be read.
        try await waitForBytes("version/1/members/m/picture/p.txt")
        firestore.terminate { _ in }
      }
      do {
        try await member.save()
        Issue.record("it was saved")
      } catch {
        #expect(isCancelled(error) && !member.isSaved)
      }
      try await end.value
    }

    /// The bug: the save of an object of a terminated database ended the process.
    @Test func savesAndDeletionsAfterTerminationFail() async throws {
      let (firestore, member) = (Firestore.firestore(), memberWithPicture())
      try await member.save()
      let item = Item(id: "late")
      _ = item.reference
      try await firestore.terminate()
      let errors = CallbackValues<(any Error)?>()
      item.save { errors.add($1) }
      member.update { errors.add($0) }
      member.delete { errors.add($0) }
      var codes: [Int] = []
      for _ in 0..<3 { codes.append(((await errors.next()) as NSError?)?.code ?? 0) }
      do { try await item.save() } catch { codes.append((error as NSError).code) }
      do { try await member.update() } catch { codes.append((error as NSError).code) }
      do { try await member.delete() } catch { codes.append((error as NSError).code) }
      #expect(codes == Array(repeating: FirestoreErrorCode.Code.failedPrecondition.rawValue, count: 6))
      #expect(!item.isSaved && member.isSaved)
      // The files are deleted only together with the document.
      #expect(member.picture?.downloadURL != nil)
    }

    // MARK: Removed listeners

    @Test func stoppingDuringASnapshotSuppressesItsRemainingChanges() async throws {
      let heard = CallbackValues<String>()
      let source = Item.order(by: \Item.price).dataSource(options: options)
      source.on { [unowned source] _, change in
        if case .update(let change) = change, change.insertions == [1] { source.stop() }
        heard.add(text(change, source))
      }
      .onBatch { _, change in heard.add("batch of \(change.insertions.count)") }
      try await put(["a": 1])
      source.listen()
      #expect(await heard.next() == "initial a")
      #expect(await heard.next() == "batch of 1")
      try await put(["b": 2, "c": 3, "d": 4])
      #expect(await heard.next() == "update a b")
      app.onCallbackQueue { heard.add("nothing more") }
      #expect(await heard.next() == "nothing more")
      // A new listener gets all documents.
      app.onCallbackQueue { _ = source.listen() }
      #expect(await heard.next() == "initial a b c d")
      app.onCallbackQueue { source.stop() }
    }

    @Test func objectsParsedAfterTheListenerStoppedAreNotAdded() async throws {
      try await put(["a": 1, "b": 2])
      let answers = CallbackValues<(Item, (Item) -> Void)>()
      let heard = CallbackValues<String>()
      let source = Item.query.dataSource(options: options)
      log(source, heard)
      source.on(parse: { _, item, done in answers.add((item, done)) }).listen()
      let (first, second) = (await answers.next(), await answers.next())
      app.onCallbackQueue { source.stop() }
      first.1(first.0)
      second.1(second.0)
      app.onCallbackQueue {}
      app.onCallbackQueue { heard.add("nothing") }
      #expect(await heard.next() == "nothing")
      #expect(app.onCallbackQueue { source.isEmpty && source.arriving.isEmpty })
      source.on(parse: nil)
      app.onCallbackQueue { _ = source.listen() }
      #expect(await heard.next() == "initial a b")
      app.onCallbackQueue { source.stop() }
    }

    @Test func listeningAgainInACallbackStartsOver() async throws {
      try await put(["a": 1])
      let heard = CallbackValues<String>()
      let source = Item.query.dataSource(options: options)
      var isSecond = false
      source.on { [unowned source] _, change in
        heard.add(text(change, source))
        if case .update = change, !isSecond {
          isSecond = true
          source.listen()
        }
      }
      source.listen()
      #expect(await heard.next() == "initial a")
      try await put(["b": 1, "c": 1])
      #expect(await heard.next() == "update a b")
      #expect(await heard.next() == "initial a b c")
      try await put(["d": 1])
      #expect(await heard.next() == "update a b c d")
      app.onCallbackQueue { source.stop() }
    }

    @Test func aDisposerMayBeReleasedInItsOwnCallback() async throws {
      let item = Item(id: "a")
      try await item.save()
      final class Holder: @unchecked Sendable { var disposer: Disposer<Item>? }
      let (holder, heard) = (Holder(), CallbackValues<Double>())
      app.onCallbackQueue {
        holder.disposer = item.listen { item, _ in
          heard.add(item?.price ?? -1)
          if item?.price == 1 { holder.disposer = nil }
        }
      }
      // A listener may receive several changes in one snapshot.
      #expect(await heard.next() == 0)
      try await item.reference.updateData(["price": 1])
      #expect(await heard.next() == 1)
      for price in [2.0, 3] { try await item.reference.updateData(["price": price]) }
      app.onCallbackQueue { heard.add(99) }
      #expect(await heard.next() == 99)
    }

    // MARK: Deleted targets

    @Test func danglingReferencesAreNeitherErrorsNorTraps() async throws {
      let room = Room(id: "r")
      let (ada, eve) = (Member(id: "ada"), Member(id: "eve"))
      room.owner.set(ada)
      room.guest.set(eve)
      room.members.insert([ada, eve])
      try await room.save()
      for member in [ada, eve] { try await member.reference.delete() }
      let found = try #require(try await Room.get("r"))
      let owner = await callbackValue { heard in found.owner.get { heard(($0, $1)) } }
      let guest = await callbackValue { heard in found.guest.get { heard(($0, $1)) } }
      #expect(owner.0 == nil && owner.1 == nil && guest.0 == nil && guest.1 == nil)
      let (_, members) = await callbackValue { heard in found.members.get { heard(($0, $1)) } }
      #expect(members.isEmpty && found.owner.id == "ada" && found.guest.id == "eve")
      found.title = "t"
      try await found.update()
      let stored = try #require(try await fields(found))
      #expect(stored["owner"] as? DocumentReference == ada.reference && stored["guest"] as? String == "eve")
      #expect(try await fields(ada) == nil)
    }

    // MARK: Documents of other apps

    /// Unusual values that a document can hold.
    private var strangeValues: [Any] {
      [
        NSNull(), true, 7, -1.5, Double.nan, "text", "", "a/b", Data([1]), [Any](),
        [1, "a", NSNull(), ["x": 1]] as [Any],
        [String: Any](), ["name": 5, "url": 7],
        ["name": "", "url": "::", "mimeType": 3, "additionalData": 1] as [String: Any],
        ["a/b": ["name": "x"], "c": 5, "d": ["price": [1], "tags": [2]], ".": ["name": "z"]] as [String: Any],
        ["_path": ["segments": ["a", ""]]], ["_path": 1], Timestamp(seconds: 1, nanoseconds: 0),
        GeoPoint(latitude: 1, longitude: 1), Firestore.firestore().document("x/y"),
        FieldValue.vector([1.0, 2] as [Double]),
      ]
    }

    @Test func fieldsOfUnexpectedTypesNeverTrap() async throws {
      let names = ["createdAt", "updatedAt", "snapshot", "unknown"]
      let types: [(Object.Type, [String])] = [
        (Everything.self, Everything().pringSchema.properties.map(\.name)),
        (Room.self, Room().pringSchema.properties.map(\.name)), (Shop.self, ["home", "branch"]),
        (Member.self, Member().pringSchema.properties.map(\.name)),
      ]
      let place = Firestore.firestore().document("strange/value")
      var wrong: [String] = []
      for value in strangeValues + ([["": ["name": "y"]], [[1], [2]]] as [Any]) {
        for (type, properties) in types {
          let all = Dictionary(uniqueKeysWithValues: (properties + names).map { ($0, value) })
          let object = type.init(id: "x", value: all)
          if !object.isSaved || !object.updateValue.isEmpty { wrong.append("\(type) \(value)") }
          _ = (object.rawValue, object.description, object.shouldUploadFiles("1"), object.createdAt)
        }
      }
      for value in strangeValues {
        try await place.setData(["text": value, "names": value, "map": ["a": value], "date": value])
        let read = Everything(snapshot: try await place.getDocument())
        if read == nil { wrong.append("\(value) was not read") }
      }
      #expect(wrong == [])
    }
  }
}
