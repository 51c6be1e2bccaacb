// Writes that wait while others change their records: what is refused is tried again, and counted once.

import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@testable import StreamBaseKit

extension StreamBaseKitTests {
  @Suite struct Retries {
    private let authority: DocumentStore
    private let remote: LoopbackRemote
    private let note = DocumentPath(unchecked: ["notes", "b", "items", "1"])
    private let board = DocumentPath(unchecked: ["boards", "b"])

    init() throws {
      authority = try DocumentStore.openInMemory()
      remote = try LoopbackRemote(authority: authority)
    }

    /// One client of the remote.
    private struct Client {
      let world: StreamWorld
      let base: HearingBase
      let context: ResourceContext

      init(_ remote: LoopbackRemote, _ acknowledgement: FirestoreAcknowledgement) {
        world = StreamWorld {
          $0.remote = remote
          $0.acknowledgement = acknowledgement
        }
        base = HearingBase(firebase: world.firestore)
        base.errorHandler = { _ in }
        base.resource(Board.self, path: "/boards/@")
        base.resource(Note.self, path: "/notes/$board/@")
        base.counter(Board.self, name: "note_count", countingType: Note.self)
        base.counter(Board.self, name: "high_count", countingType: Note.self) {
          (($0 as? Note)?.rank ?? 0) > 10
        }
        context = ResourceContext(base: base, resources: ["board": Board(key: "b")])
      }

      /// With all that the authority has, and without a network.
      func readAndGoOffline(_ paths: String...) async throws {
        for path in paths { _ = try await world.firestore.document(path).getDocument(source: .server) }
        try await world.firestore.disableNetwork()
      }

      /// Until this is on its way.
      func issue(_ heard: String, _ body: () -> Void) async {
        let target = world.on { base.heard.count { $0 == heard } + 1 }
        world.on(body)
        await world.wait { base.heard.count { $0 == heard } == target }
      }

      func finish(_ count: Int) async throws {
        try await world.firestore.enableNetwork()
        await world.wait { base.finished >= count }
        try await world.firestore.waitForPendingWrites()
      }
    }

    /// Two notes, and how many are more than 10.
    private func begin(_ rank: Int64 = 5) throws {
      func fields(_ rank: Int64, _ text: String) -> StoredMap {
        StoredMap([("rank", .integer(rank)), ("text", .string(text))])
      }
      try authority.commit([
        .set(note, fields(rank, "0")),
        .set(DocumentPath(unchecked: ["notes", "b", "items", "2"]), fields(20, "0")),
        .set(board, StoredMap([("note_count", .integer(2)), ("high_count", .integer(rank > 10 ? 2 : 1))])),
      ])
    }

    /// Another client changes the first note, and counts it.
    private func change(_ rank: Int64, text: String = "another", high: Int64 = 0) throws {
      try authority.commit([
        .set(note, StoredMap([("rank", .integer(rank)), ("text", .string(text))])),
        .patch(
          board, StoredMap(), mask: FieldMask([]),
          transforms: [FieldTransform(StoredFieldPath(unchecked: ["high_count"]), .increment(.integer(high)))]
        ),
      ])
    }

    private func counts() throws -> [StoredValue?] {
      let fields = try authority.document(at: board)?.fields
      return [fields?["note_count"], fields?["high_count"]]
    }

    private func field(_ name: String) throws -> StoredValue? {
      try authority.document(at: note)?.fields[name]
    }

    /// Without an answer, as after a restart, nothing is tried again.
    @Test(arguments: [true, false]) func whatFollowsARefusedUpdateIsRefusedTooAndTriedAgain(isTold: Bool)
      async throws
    {
      try begin()
      let client = Client(remote, isTold ? .server : .local)
      try await client.readAndGoOffline("notes/b/items/1", "boards/b")
      await client.issue("did update") { client.context.update(Note("1", text: "1", rank: 20)) }
      try change(1)
      await client.issue("did destroy") { client.context.destroy(Note("1")) }
      #expect(client.world.on { client.base.logs.last?.old } == true)
      try await client.finish(2)
      #expect(try authority.document(at: note) == nil || !isTold)
      #expect(try field("rank") == (isTold ? nil : .integer(1)))
      #expect(try counts() == [.integer(isTold ? 1 : 2), .integer(1)])
      try await client.world.firestore.terminate()
    }

    @Test func aWriteThatIsTriedAgainWritesWhatItWasGiven() async throws {
      try begin()
      let client = Client(remote, .server)
      try await client.readAndGoOffline("notes/b/items/1", "boards/b")
      let mine = Note("1", text: "given", rank: 20)
      await client.issue("did update") { client.context.update(mine) }
      (mine.text, mine.rank) = ("never given", 1)
      try change(1)
      try await client.finish(1)
      #expect(try field("text") == .string("given") && field("rank") == .integer(20))
      #expect(try counts() == [.integer(2), .integer(2)])
      #expect(client.world.on { client.base.logs.count } == 1)
      try await client.world.firestore.terminate()
    }

    @Test func writesThatAreTriedAgainKeepTheirOrder() async throws {
      try begin()
      let client = Client(remote, .server)
      try await client.readAndGoOffline("notes/b/items/1", "boards/b")
      for text in ["1", "2", "3"] {
        await client.issue("did update") { client.context.update(Note("1", text: text, rank: 20)) }
      }
      await client.issue("did destroy") { client.context.destroy(Note("1")) }
      await client.issue("did create true") { client.context.create(Note("1", text: "new", rank: 30)) }
      try change(1)
      try await client.finish(5)
      #expect(try field("text") == .string("new"))
      #expect(try counts() == [.integer(2), .integer(2)])
      // A write that later ones have covered is over when they are:
      // of updates, only that each is told once is certain.
      let told = client.world.on { client.base.heard.filter { $0.hasPrefix("persisted") } }
      let others = told.filter { $0 != "persisted update 0" }
      #expect(others == ["persisted destruction 0", "persisted creation 0"])
      #expect(told.count { $0 == "persisted update 0" } == 3)
      try await client.world.firestore.terminate()
    }

    @Test func ifItCannotBeReadAgainTheLastHookHearsOfIt() async throws {
      try begin()
      let client = Client(remote, .server)
      try await client.readAndGoOffline("notes/b/items/1", "boards/b")
      await client.issue("did update") { client.context.update(Note("1", text: "1", rank: 20)) }
      try change(1)
      var rules = LoopbackRules()
      rules.mayRead = { _, _ in RemoteError(.permissionDenied, "no") }
      remote.setRules(rules)
      try await client.finish(1)
      #expect(client.world.on { client.base.heard.last } == "persisted update 7")
      #expect(try field("text") == .string("another"))
      try await client.world.firestore.terminate()
    }

    // MARK: Owners

    @Test(arguments: [true, false]) func theEndOfARecordBringsNoOwnerBackThatCouldNotBeRead(isThere: Bool)
      async throws
    {
      try begin()
      let client = Client(remote, .server)
      try await client.readAndGoOffline("notes/b/items/1")
      await client.issue("did destroy") { client.context.destroy(Note("1")) }
      if !isThere { try authority.commit([.delete(board)]) }
      try await client.finish(1)
      #expect(client.world.on { client.base.heard.last } == "persisted destruction 0")
      #expect(try authority.document(at: note) == nil)
      #expect(try counts() == (isThere ? [.integer(1), .integer(1)] : [nil, nil]))
      try await client.world.firestore.terminate()
    }

    @Test func anOwnerThatHasComeIsCountedInAlthoughItWasReadAsAbsent() async throws {
      let client = Client(remote, .server)
      _ = try await client.world.firestore.document("boards/b").getDocument(source: .server)
      try begin()
      try await client.readAndGoOffline("notes/b/items/1")
      await client.issue("did destroy") { client.context.destroy(Note("1")) }
      try await client.finish(1)
      #expect(try authority.document(at: note) == nil)
      #expect(try counts() == [.integer(1), .integer(1)])
      try await client.world.firestore.terminate()
    }

    // MARK: Lanes

    @Test func whatIsRefusedComesBeforeThoseThatWaitAndSparesWhatLaterOnesHaveWritten() {
      let lanes = ResourceLanes()
      let turns = (0..<4).map { _ in lanes.turn(at: "x") }
      var order: [String] = []
      var leaveThird: () -> Void = {}
      func enter(_ index: Int) {
        lanes.enter(turns[index]) { leave in
          order.append("\(index)")
          lanes.issue(turns[index], .fields(["\(index)"]))
          if index == 2 { leaveThird = leave } else { leave() }
        }
      }
      for index in 0..<4 { enter(index) }
      #expect(order == ["0", "1", "2"])
      lanes.refuse(turns[0]) { leave in
        order.append("0 again")
        if case .fields(let names)? = lanes.written(after: turns[0]) { order += names.map { "not \($0)" } }
        leave()
      }
      // What becomes of 1 and 2 is not known, and 2 is in the lane.
      lanes.refuse(turns[1]) { leave in
        order.append("1 again")
        leave()
      }
      lanes.end(turns[2], hasHappened: true)
      #expect(order == ["0", "1", "2"])
      leaveThird()
      #expect(order == ["0", "1", "2", "0 again", "not 2", "1 again", "3"])
      lanes.end(turns[3], hasHappened: false)
      lanes.end(turns[0], hasHappened: true)
      #expect(lanes.isBehindOthers(turns[3]))
      lanes.end(turns[1], hasHappened: true)
      #expect(lanes.isEmpty)
    }
  }
}
