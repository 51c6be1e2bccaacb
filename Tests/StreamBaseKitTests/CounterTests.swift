// Tests that each counter equals the number of the records that it counts.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import StreamHarness
import Testing

@testable import StreamBaseKit

extension StreamBaseKitTests {
  @Suite struct Counters {
    private let world = StreamWorld()
    private let base: HearingBase
    private let context: ResourceContext
    private let errors = Errors()

    private final class Errors { var codes: [Int] = [] }

    private final class TellingBase: HearingBase {
      var skipped: [String] = []
      override func didSkipCounter(
        _ name: String, of type: any BaseItemProtocol.Type, counting instance: any BaseItemProtocol,
        context: ResourceContext
      ) {
        skipped.append("\(type).\(name)")
      }
    }

    init() {
      (base, context) = Self.open(world.firestore, errors)
    }

    private static func open(
      _ firestore: Firestore, _ errors: Errors
    ) -> (base: HearingBase, context: ResourceContext) {
      let base = TellingBase(firebase: firestore)
      base.errorHandler = { [errors] in errors.codes.append($0.code) }
      base.resource(Board.self, path: "/boards/@")
      base.resource(Note.self, path: "/notes/$board/@")
      base.counter(Board.self, name: "note_count", countingType: Note.self)
      base.counter(Board.self, name: "high_count", countingType: Note.self) {
        (($0 as? Note)?.rank ?? 0) > 10
      }
      return (base, ResourceContext(base: base, resources: ["board": Board(key: "b")]))
    }

    private func run(_ count: Int = 1, _ body: () -> Void) async {
      let target = world.on {
        let target = base.finished + count
        body()
        return target
      }
      await world.wait { base.finished >= target }
    }

    private func counts(_ board: String = "b") async throws -> [Int] {
      let snapshot = try await world.firestore.document("boards/\(board)").getDocument()
      return ["note_count", "high_count"].map { snapshot.get($0) as? Int ?? 0 }
    }

    @Test func creationsAndDestructionsAreCounted() async throws {
      await run { context.create(Board(key: "b")) }
      let notes = [Note("1", rank: 5), Note("2", rank: 15), Note("3")]
      await run(3) { for note in notes { context.create(note) } }
      #expect(try await counts() == [3, 1])
      await run { context.destroy(notes[1]) }
      #expect(try await counts() == [2, 0])
      #expect(errors.codes.isEmpty)
    }

    @Test func anUpdateRecountsByTheCounterPredicate() async throws {
      let note = Note("1", rank: 5)
      await run { context.create(note) }
      note.rank = 20
      await run { context.update(note) }
      #expect(try await counts() == [1, 1])
      note.rank = 1
      await run(2) {
        context.update(note)
        context.update(note)
      }
      #expect(try await counts() == [1, 0])
    }

    @Test func fault14DestroyingARecordTwiceIsCountedOnce() async throws {
      let note = Note("1")
      await run { context.create(note) }
      await run { context.create(Note("2")) }
      await run(3) { for _ in 0..<3 { context.destroy(note) } }
      #expect(try await counts() == [1, 0])
      #expect(base.logs.filter { !$0.new }.count == 1)
      #expect(errors.codes.isEmpty)
    }

    @Test func fault14CreatingAnExistingRecordIsRefusedAndNotCounted() async throws {
      await run { context.create(Note("1", text: "first")) }
      await run { context.create(Note("1", text: "second")) }
      #expect(try await counts() == [1, 0])
      let stored = try await world.firestore.document("notes/b/items/1").getDocument()
      #expect(stored.get("text") as? String == "first")
      #expect(errors.codes == [FirestoreErrorCode.Code.alreadyExists.rawValue])
      #expect(base.heard.last == "persisted creation 6")
    }

    @Test func anUpdateThatCreatesARecordCountsIt() async throws {
      await run { context.update(Note("1", rank: 11)) }
      #expect(try await counts() == [1, 1])
    }

    @Test func racingDestructionsAndUpdatesOfARecordAreCountedOnce() async throws {
      // The two bases have separate lanes, so neither base sees the pending writes of the other. They behave
      // as if they belonged to two databases.
      let (other, otherContext) = Self.open(world.firestore, errors)
      other.kitLanes = ResourceLanes()
      for round in 0..<30 {
        let key = "\(round)"
        await run { context.create(Note(key, rank: round % 2 == 0 ? 20 : 1)) }
        let target = world.on { other.finished + 2 }
        await run(2) {
          let (one, two) = (Note(key, rank: 5), Note(key, rank: 30))
          context.update(one)
          otherContext.update(two)
          context.destroy(Note(key))
          if round % 3 == 0 {
            otherContext.destroy(Note(key))
          } else {
            otherContext.update(Note(key, rank: 12))
          }
        }
        await world.wait { other.finished >= target }
      }
      let notes = try await world.firestore.collection("notes/b/items").getDocuments().documents
      let high = notes.filter { ($0.get("rank") as? Int ?? 0) > 10 }.count
      #expect(try await counts() == [notes.count, high])
      #expect(errors.codes.isEmpty)
    }

    @Test func fault15ACounterNeverFallsBelowZero() async throws {
      await run { context.create(Note("1")) }
      try await world.firestore.document("boards/b").updateData(["note_count": 0])
      await run { context.destroy(Note("1")) }
      #expect(try await counts() == [0, 0])
      await run { context.create(Note("1")) }
      try await world.firestore.document("boards/b").updateData(["note_count": FieldValue.delete()])
      await run { context.destroy(Note("1")) }
      #expect(try await counts() == [0, 0])
    }

    @Test func destroyingARecordDoesNotRecreateItsDestroyedOwner() async throws {
      await run { context.create(Board(key: "b")) }
      await run { context.create(Note("1", rank: 20)) }
      await run { context.destroy(Board(key: "b")) }
      await run { context.destroy(Note("1")) }
      #expect(try await !world.firestore.document("boards/b").getDocument().exists)
      #expect(try await !world.firestore.document("notes/b/items/1").getDocument().exists)
    }

    @Test func savingTheOwnerDoesNotOverwriteItsCounter() async throws {
      let board = Board(key: "b")
      board.noteCount = 7
      await run { context.create(board) }
      #expect(try await counts() == [0, 0])
      await run { context.create(Note("1")) }
      board.title = "new"
      board.noteCount = 99
      await run { context.update(board) }
      #expect(try await counts() == [1, 0])
      await run { context.create(board) }
      #expect(try await counts() == [1, 0])
      #expect(errors.codes == [FirestoreErrorCode.Code.alreadyExists.rawValue])
    }

    @Test func theCounterOwnerIsTheObjectInThePath() async throws {
      let inner = context.push(["another": Board(key: "c")])
      await run { inner.create(Note("1")) }
      #expect(try await counts("b") == [1, 0])
      #expect(try await counts("c") == [0, 0])
    }

    @Test func fault16ACounterWithoutAnOwnerInTheContextIsReported() async throws {
      final class Tag: BaseItem {}
      base.resource(Tag.self, path: "/tags/@")
      base.counter(Board.self, name: "tag_count", countingType: Tag.self)
      let outside = ResourceContext(base: base, resources: nil)
      await run { outside.create(Tag()) }
      #expect((base as? TellingBase)?.skipped == ["Board.tag_count"])
      #expect(errors.codes.isEmpty)
    }

    // MARK: Values that the commit computes

    /// A class whose fields, when read back, differ from the values that it wrote.
    private final class Parcel: BaseItem {
      // Safe without isolation, because only one test creates parcels, and this test reads the count only
      // after its writes have ended.
      nonisolated(unsafe) static var clones = 0
      var due: Timestamp?
      var stamps = 0

      override func update(_ dict: [String: Any]?) {
        due = dict?["due"] as? Timestamp
        stamps = dict?["stamps"] as? Int ?? 0
      }

      override var dict: [String: Any] {
        [
          "due": Date(timeIntervalSince1970: 1), "sentAt": FieldValue.serverTimestamp(),
          "stamps": FieldValue.increment(Int64(1)),
        ]
      }

      override func clone() -> any BaseItemProtocol {
        Self.clones += 1
        return super.clone()
      }
    }

    /// The predicate must receive the fields as they are stored. Otherwise each update would count the record
    /// again.
    @Test func aCounterPredicateReceivesTheStoredFields() async throws {
      base.resource(Parcel.self, path: "/parcels/@")
      let before = Parcel.clones
      await run { context.create(Parcel(key: "1")) }
      #expect(Parcel.clones == before, "the predicate does not run for uncounted records")
      await run { context.destroy(Parcel(key: "1")) }
      base.counter(Board.self, name: "due_count", countingType: Parcel.self) {
        ($0 as? Parcel)?.due == Timestamp(seconds: 1, nanoseconds: 0)
      }
      base.counter(Board.self, name: "stamped_count", countingType: Parcel.self) {
        (($0 as? Parcel)?.stamps ?? 0) >= 2
      }
      func parcels() async throws -> [Int] {
        let snapshot = try await world.firestore.document("boards/b").getDocument()
        return ["due_count", "stamped_count"].map { snapshot.get($0) as? Int ?? 0 }
      }
      await run { context.create(Parcel(key: "1")) }
      #expect(try await parcels() == [1, 0])
      var counts: [[Int]] = []
      for _ in 0..<2 {
        await run { context.update(Parcel(key: "1")) }
        counts.append(try await parcels())
      }
      #expect(counts == [[1, 1], [1, 1]])
      await run { context.destroy(Parcel(key: "1")) }
      #expect(try await parcels() == [0, 0])
      #expect(errors.codes.isEmpty)
    }

    // MARK: With a remote

    /// A class with a server timestamp.
    private final class Letter: BaseItem {
      var sentAt: Timestamp?

      override func update(_ dict: [String: Any]?) { sentAt = dict?["sentAt"] as? Timestamp }

      override var dict: [String: Any] { ["sentAt": sentAt as Any? ?? FieldValue.serverTimestamp()] }
    }

    /// If the predicate received the pending server timestamp as null, each update would count the record
    /// again.
    @Test func aPredicateOnAPendingServerTimestampCountsOnceOffline() async throws {
      let authority = try DocumentStore.openInMemory()
      let remote = try LoopbackRemote(authority: authority)
      let world = StreamWorld {
        $0.remote = remote
        $0.acknowledgement = .local
      }
      let (base, context) = Self.open(world.firestore, errors)
      base.resource(Letter.self, path: "/letters/$board/@")
      base.counter(Board.self, name: "sent_count", countingType: Letter.self) {
        ($0 as? Letter)?.sentAt != nil
      }
      func run(_ body: () -> Void) async {
        let target = world.on {
          let target = base.finished + 1
          body()
          return target
        }
        await world.wait { base.finished >= target }
      }
      func sent() throws -> StoredValue? {
        try authority.document(at: DocumentPath(["boards", "b"]))?.fields["sent_count"]
      }
      await run { context.create(Board(key: "b")) }
      try await world.firestore.waitForPendingWrites()
      try await world.firestore.disableNetwork()
      let letter = Letter(key: "1")
      await run { context.create(letter) }
      // First updates the object as it was created, then updates an object as a stream would read it.
      await run { context.update(letter) }
      let stored = try await world.firestore.document("letters/b/items/1").getDocument(source: .cache)
      let taken = world.on {
        let taken = Letter(key: "1")
        taken.kitTake(stored)
        return taken
      }
      #expect(taken.sentAt != nil)
      for _ in 0..<2 { await run { context.update(taken) } }
      try await world.firestore.enableNetwork()
      try await world.firestore.waitForPendingWrites()
      #expect(try sent() == .integer(1))
      await run { context.destroy(letter) }
      try await world.firestore.waitForPendingWrites()
      #expect(try sent() == .integer(0))
      #expect(errors.codes.isEmpty)
      try await world.firestore.terminate()
    }

    @Test func theSecondOfTwoOfflineDestructionsIsRefusedAndNotCounted() async throws {
      let authority = try DocumentStore.openInMemory()
      let remote = try LoopbackRemote(authority: authority)
      let worlds = (0..<2).map { _ in
        StreamWorld {
          $0.remote = remote
          $0.acknowledgement = .local
        }
      }
      let bases = worlds.map { Self.open($0.firestore, errors) }
      func run(_ client: Int, _ body: () -> Void) async {
        let target = worlds[client].on {
          let target = bases[client].base.finished + 1
          body()
          return target
        }
        await worlds[client].wait { bases[client].base.finished >= target }
      }
      await run(0) { bases[0].context.create(Note("1", rank: 20)) }
      await run(0) { bases[0].context.create(Note("2", rank: 20)) }
      try await worlds[0].firestore.waitForPendingWrites()
      for world in worlds {
        _ = try await world.firestore.document("notes/b/items/1").getDocument(source: .server)
        _ = try await world.firestore.document("boards/b").getDocument(source: .server)
        try await world.firestore.disableNetwork()
      }
      for client in 0..<2 { await run(client) { bases[client].context.destroy(Note("1")) } }
      for world in worlds {
        try await world.firestore.enableNetwork()
        try await world.firestore.waitForPendingWrites()
      }
      let board = try authority.document(at: DocumentPath(["boards", "b"]))
      #expect(board?.fields["note_count"] == .integer(1) && board?.fields["high_count"] == .integer(1))
      for world in worlds { try await world.firestore.terminate() }
    }
  }
}
