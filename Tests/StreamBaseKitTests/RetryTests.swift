// Tests of pending writes to records that other clients change meanwhile. A refused write is retried, and the
// counters count it once.

import Authority
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

    /// A client of the remote.
    private struct Client {
      let world: StreamWorld
      let base: HearingBase
      let context: ResourceContext

      init(
        _ remote: any Remote, _ acknowledgement: FirestoreAcknowledgement,
        _ change: (FirestoreSettings) -> Void = { _ in }
      ) {
        world = StreamWorld {
          $0.remote = remote
          $0.acknowledgement = acknowledgement
          change($0)
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

      /// Reads these documents from the authority, then goes offline.
      func readAndGoOffline(_ paths: String...) async throws {
        for path in paths { _ = try await world.firestore.document(path).getDocument(source: .server) }
        try await world.firestore.disableNetwork()
      }

      /// Runs an operation and waits until the base has recorded another call of the hook `heard`.
      func issue(_ heard: String, _ body: () -> Void) async {
        let target = world.on { base.heard.count { $0 == heard } + 1 }
        world.on(body)
        await world.wait { base.heard.count { $0 == heard } == target }
      }

      /// Writes the field `mark` of the note directly, bypassing the base. No counter's predicate uses this
      /// field.
      func mark() {
        world.on { world.firestore.document("notes/b/items/1").updateData(["mark": true]) { _ in } }
      }

      func finish(_ count: Int) async throws {
        try await world.firestore.enableNetwork()
        await world.wait { base.finished >= count }
        try await world.firestore.waitForPendingWrites()
      }
    }

    /// Creates two notes, and a board with two counts: the number of all notes, and the number of notes with
    /// a rank above 10.
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

    /// Commits another client's change of the first note, together with the counts.
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

    /// With the acknowledgement `.local`, the base receives no refusals, so it does not retry. After a
    /// restart it receives none either.
    @Test(arguments: [true, false]) func writesAfterARefusedUpdateAreRefusedAndRetried(awaitsServer: Bool)
      async throws
    {
      try begin()
      let client = Client(remote, awaitsServer ? .server : .local)
      try await client.readAndGoOffline("notes/b/items/1", "boards/b")
      await client.issue("did update") { client.context.update(Note("1", text: "1", rank: 20)) }
      try change(1)
      await client.issue("did destroy") { client.context.destroy(Note("1")) }
      #expect(client.world.on { client.base.logs.last?.old } == true)
      try await client.finish(2)
      #expect(try authority.document(at: note) == nil || !awaitsServer)
      #expect(try field("rank") == (awaitsServer ? nil : .integer(1)))
      #expect(try counts() == [.integer(awaitsServer ? 1 : 2), .integer(1)])
      try await client.world.firestore.terminate()
    }

    @Test func aRetriedWriteWritesItsOriginalValues() async throws {
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

    @Test func retriedWritesKeepTheirOrder() async throws {
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
      // If later writes replace the fields of an earlier write, the earlier write ends together with the
      // later ones. The order of the results is therefore undetermined, but each update ends exactly once.
      let results = client.world.on { client.base.heard.filter { $0.hasPrefix("persisted") } }
      let others = results.filter { $0 != "persisted update 0" }
      #expect(others == ["persisted destruction 0", "persisted creation 0"])
      #expect(results.count { $0 == "persisted update 0" } == 3)
      try await client.world.firestore.terminate()
    }

    @Test func aRetryWhoseReadFailsCallsThePersistHook() async throws {
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

    /// A retry does not wait for the pending write of a user who is signed out, because that write completes
    /// only after its user has signed in again.
    @Test func aRetryDoesNotWaitForASignedOutUsersWrites() async throws {
      try begin()
      let client = Client(remote, .server)
      let firestore = client.world.firestore
      try await firestore.changeUser("ada")
      try await client.readAndGoOffline("notes/b/items/1", "boards/b")
      await client.issue("did update") { client.context.update(Note("1", text: "of ada", rank: 20)) }
      try await firestore.changeUser("bob")
      await client.issue("did update") { client.context.update(Note("1", text: "of bob", rank: 1)) }
      try await firestore.changeUser("ada")
      try change(1)
      try await client.finish(1)
      #expect(client.world.on { client.base.heard.last } == "persisted update 0")
      #expect(try field("text") == .string("of ada"))
      #expect(try counts() == [.integer(2), .integer(2)])
      try await firestore.changeUser("bob")
      try await client.finish(2)
      #expect(try field("text") == .string("of bob"))
      #expect(try counts() == [.integer(2), .integer(1)])
      try await firestore.terminate()
    }

    /// A refused write belongs to the user who issued it, so it is retried only while that user is signed in.
    @Test func aRetryWaitsUntilItsUserSignsInAgain() async throws {
      try begin()
      let client = Client(remote, .server)
      let firestore = client.world.firestore
      try await firestore.changeUser("ada")
      try await client.readAndGoOffline("notes/b/items/1", "boards/b")
      await client.issue("did update") { client.context.update(Note("1", text: "of ada", rank: 20)) }
      try change(1)
      let writers = Writers()
      var rules = LoopbackRules()
      rules.mayWrite = { user, _ in
        writers.add(user)
        return nil
      }
      remote.setRules(rules)
      // The callback queue is suspended, so the refusal is delivered only after ada has signed out.
      client.world.queue.suspend()
      try await firestore.enableNetwork()
      for try await progress in firestore.writeQueueProgress where progress.pendingCount == 0 { break }
      try await firestore.changeUser("bob")
      client.world.queue.resume()
      // After these round trips, every pending request for the current user has completed.
      for _ in 0..<3 {
        try await firestore.waitForPendingWrites()
        client.world.on {}
      }
      #expect(try field("text") == .string("another"))
      #expect(client.world.on { client.base.finished } == 0)
      try await firestore.changeUser("ada")
      try await client.finish(1)
      #expect(client.world.on { client.base.heard.last } == "persisted update 0")
      #expect(try field("text") == .string("of ada") && counts() == [.integer(2), .integer(2)])
      #expect(Set(writers.all) == ["ada"])
      try await firestore.terminate()
    }

    /// The bug: an update first reads its record. If another user signed in during this read, the update was
    /// issued as that other user. A creation whose hook ended late had the same fault.
    @Test(arguments: [true, false]) func aFirstAttemptIsIssuedAsItsOwnUser(isUpdate: Bool) async throws {
      try begin()
      let client = Client(remote, .server)
      let (base, firestore) = (client.base, client.world.firestore)
      try await firestore.changeUser("ada")
      try await client.readAndGoOffline("notes/b/items/1", "boards/b")
      let writers = Writers()
      var rules = LoopbackRules()
      rules.mayWrite = { user, _ in
        writers.add(user)
        return nil
      }
      remote.setRules(rules)
      var endHook: ResourceDoneHandler?
      client.world.on {
        if isUpdate {
          client.context.update(Note("1", text: "of ada", rank: 20))
        } else {
          base.decide = { endHook = $0 }
          client.context.create(Note("3", text: "of ada", rank: 20))
        }
        // The callback queue stays suspended until bob has signed in.
        client.world.queue.suspend()
      }
      try await firestore.changeUser("bob")
      client.world.queue.resume()
      client.world.on { endHook?(nil) }
      await client.world.wait {
        base.kitLanes.refusedCount == 1 || base.heard.contains { $0.hasPrefix("did") }
      }
      try #require(client.world.on { !base.heard.contains { $0.hasPrefix("did") } })
      try await firestore.changeUser("ada")
      try await client.finish(1)
      #expect(client.world.on { base.heard.last } == "persisted \(isUpdate ? "update" : "creation") 0")
      #expect(client.world.on { base.heard.count { $0.hasPrefix("did") } } == 1)
      #expect(client.world.on { base.logs.count == 1 && base.kitLanes.isEmpty })
      #expect(Set(writers.all) == ["ada"])
      try await firestore.terminate()
    }

    private final class Writers: @unchecked Sendable {
      // Unchecked, because the lock protects all mutable state.
      private let lock = NSLock()
      private var users: [String?] = []

      func add(_ user: String?) { lock.withLock { users.append(user) } }

      var all: [String?] { lock.withLock { users } }
    }

    // MARK: After the app's own writes

    /// The app's direct write is applied after another client's change. The later writes of the base were
    /// computed from the state before that change, so they are retried.
    @Test(arguments: [true, false]) func writesAfterAContestedUpdateDataAreRetried(
      awaitsServer: Bool
    ) async throws {
      try begin()
      let client = Client(remote, awaitsServer ? .server : .local)
      try await client.readAndGoOffline("notes/b/items/1", "boards/b")
      client.mark()
      await client.issue("did update") { client.context.update(Note("1", text: "1", rank: 20)) }
      await client.issue("did destroy") { client.context.destroy(Note("1")) }
      try change(15, high: 1)
      try await client.finish(2)
      #expect(try field("rank") == (awaitsServer ? nil : .integer(15)))
      #expect(try field("mark") == (awaitsServer ? nil : .boolean(true)))
      #expect(try counts() == [.integer(awaitsServer ? 1 : 2), .integer(awaitsServer ? 1 : 2)])
      try await client.world.firestore.terminate()
    }

    /// No other client has changed the record, so the remote must not refuse the write. With `.local`,
    /// the base would not retry a refused write.
    @Test(arguments: [true, false]) func writesAfterAnUncontestedUpdateDataSucceed(endsIt: Bool)
      async throws
    {
      try begin()
      let client = Client(remote, .local)
      try await client.readAndGoOffline("notes/b/items/1", "boards/b")
      client.mark()
      await client.issue("did update") { client.context.update(Note("1", text: "1", rank: 20)) }
      client.mark()
      if endsIt { await client.issue("did destroy") { client.context.destroy(Note("1")) } }
      try await client.finish(endsIt ? 2 : 1)
      #expect(try field("rank") == (endsIt ? nil : .integer(20)))
      #expect(try counts() == [.integer(endsIt ? 1 : 2), .integer(endsIt ? 1 : 2)])
      try await client.world.firestore.terminate()
    }

    /// A remote that can hold back the events of the watch stream until `release` is called. It can also omit
    /// from its answers the version to which a write was applied.
    private final class HoldingRemote: Remote, @unchecked Sendable {
      // Unchecked, because the lock protects all mutable state.
      private let remote: LoopbackRemote
      private let lock = NSLock()
      private var held: [() -> Void]?
      private let saysBefore: Bool

      init(_ remote: LoopbackRemote, saysBefore: Bool = true) {
        self.remote = remote
        self.saysBefore = saysBefore
      }

      func hold() { lock.withLock { held = held ?? [] } }

      func release() {
        lock.withLock {
          for tell in held ?? [] { tell() }
          held = nil
        }
      }

      var documentsName: String { remote.documentsName }

      func openWatchStream(
        as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
      ) -> any WatchStream {
        remote.openWatchStream(as: user) { [self] event in
          lock.withLock { if held == nil { handler(event) } else { held?.append { handler(event) } } }
        }
      }

      func openWriteStream(
        as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
      ) -> any WriteStream {
        remote.openWriteStream(as: user) { [saysBefore] event in
          guard !saysBefore, case .answered(let version, var results, let token) = event else {
            return handler(event)
          }
          for index in results.indices { results[index].versionBefore = nil }
          handler(.answered(version, results, token: token))
        }
      }

      func documents(
        at paths: [DocumentPath], as user: String?,
        _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
      ) {
        remote.documents(at: paths, as: user, answer)
      }

      func commit(
        _ mutations: [Mutation], as user: String?,
        _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
      ) {
        remote.commit(mutations, as: user, answer)
      }

      func aggregate(
        _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
        _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
      ) {
        remote.aggregate(aggregates, over: query, as: user, answer)
      }
    }

    /// Opens a client that listens to the note and its board, and writes the note. On return, the remote has
    /// accepted this write, but the watch stream has not delivered it.
    private func openBetweenAnswerAndSnapshot(
      _ holding: HoldingRemote, others change: () throws -> Void = {}
    ) async throws -> (client: Client, writers: Writers) {
      try begin()
      let client = Client(holding, .server)
      let note = client.world.firestore.document("notes/b/items/1")
      var received: Set<String> = []
      for document in [note, client.world.firestore.document("boards/b")] {
        client.world.on {
          _ = document.addSnapshotListener(includeMetadataChanges: true) { snapshot, _ in
            if snapshot?.metadata.isFromCache == false { received.insert(document.path) }
          }
        }
      }
      await client.world.wait { received.count == 2 }
      let writers = Writers()
      var rules = LoopbackRules()
      rules.mayWrite = { user, _ in
        writers.add(user)
        return nil
      }
      remote.setRules(rules)
      holding.hold()
      try change()
      try await note.updateData(["mark": true])
      return (client, writers)
    }

    /// Until the watch stream delivers an accepted write, listeners still see the note with a pending write.
    /// The bug: a write computed from this state was refused five times in a row.
    @Test(arguments: [true, false]) func anAcceptedWriteIsReadBeforeTheWatchStreamDeliversIt(
      isUpdate: Bool
    )
      async throws
    {
      let holding = HoldingRemote(remote)
      let (client, writers) = try await openBetweenAnswerAndSnapshot(holding)
      client.world.on {
        if isUpdate {
          client.context.update(Note("1", text: "1", rank: 20))
        } else {
          client.context.destroy(Note("1"))
        }
      }
      await client.world.wait { client.base.finished == 1 }
      #expect(
        client.world.on { client.base.heard.last } == "persisted \(isUpdate ? "update" : "destruction") 0")
      #expect(writers.all.count == 2, "that of the app and this one")
      #expect(try counts() == [.integer(isUpdate ? 2 : 1), .integer(isUpdate ? 2 : 1)])
      holding.release()
      try await client.world.firestore.terminate()
    }

    /// The accepted write was applied after another client's change, which this client has not received yet.
    /// The base therefore waits for the watch stream before it writes.
    @Test func aWriteWaitsForStateOnlyTheWatchStreamHas() async throws {
      let holding = HoldingRemote(remote)
      let (client, writers) = try await openBetweenAnswerAndSnapshot(holding) { try change(15, high: 1) }
      client.world.on { client.context.update(Note("1", text: "1", rank: 20)) }
      var wrong: [String] = []
      for _ in 0..<5 {
        try await client.world.firestore.waitForPendingWrites()
        let heard = client.world.on { client.base.heard }
        if !heard.allSatisfy({ $0 == "will update" }) { wrong.append("\(heard)") }
      }
      #expect(wrong == [])
      holding.release()
      await client.world.wait { client.base.finished == 1 }
      #expect(client.world.on { client.base.heard.last } == "persisted update 0")
      #expect(writers.all.count == 2, "no try was wasted")
      #expect(try counts() == [.integer(2), .integer(2)])
      try await client.world.firestore.terminate()
    }

    /// Offline, the base does not wait for the watch stream. Instead, it reports an error for a write that
    /// the remote would certainly refuse.
    @Test func anOfflineWriteThatWouldBeRefusedIsUnavailable() async throws {
      let holding = HoldingRemote(remote)
      let (client, _) = try await openBetweenAnswerAndSnapshot(holding) { try change(15, high: 1) }
      var codes: [Int] = []
      client.world.on {
        client.base.errorHandler = { codes.append($0.code) }
        client.context.update(Note("1", text: "1", rank: 20))
      }
      try await client.world.firestore.disableNetwork()
      await client.world.wait { !codes.isEmpty }
      #expect(client.world.on { codes } == [FirestoreErrorCode.Code.unavailable.rawValue])
      #expect(client.world.on { client.base.heard.last } == "will update")
      holding.release()
      try await client.world.firestore.enableNetwork()
      client.world.on { client.context.update(Note("1", text: "1", rank: 20)) }
      try await client.finish(1)
      #expect(client.world.on { client.base.heard.last } == "persisted update 0")
      #expect(try field("rank") == .integer(20) && counts() == [.integer(2), .integer(2)])
      try await client.world.firestore.terminate()
    }

    /// No other client's change before the accepted write is known: there was none, and with `saysBefore:
    /// false` the remote would not report it. The offline update is therefore visible at once, and is applied
    /// later.
    @Test(arguments: [true, false]) func anAcceptedRecordIsUpdatedImmediatelyOffline(saysBefore: Bool)
      async throws
    {
      let holding = HoldingRemote(remote, saysBefore: saysBefore)
      let (client, writers) = try await openBetweenAnswerAndSnapshot(holding)
      try await client.world.firestore.disableNetwork()
      await client.issue("did update") { client.context.update(Note("1", text: "1", rank: 20)) }
      let shown = try await client.world.firestore.document("notes/b/items/1").getDocument(source: .cache)
      #expect(shown.get("rank") as? Int == 20)
      holding.release()
      try await client.finish(1)
      #expect(client.world.on { client.base.heard.last } == "persisted update 0")
      #expect(writers.all.count == 2, "that of the app and this one")
      #expect(try counts() == [.integer(2), .integer(2)])
      try await client.world.firestore.terminate()
    }

    /// Like the test above with `saysBefore: false`, but here the app's own write is still pending.
    @Test func anUpdateAfterUpdateDataSucceedsWithoutReportedBaseVersions() async throws {
      try begin()
      let client = Client(HoldingRemote(remote, saysBefore: false), .local)
      try await client.readAndGoOffline("notes/b/items/1", "boards/b")
      client.mark()
      await client.issue("did update") { client.context.update(Note("1", text: "1", rank: 20)) }
      try await client.finish(1)
      #expect(try field("rank") == .integer(20) && field("mark") == .boolean(true))
      #expect(try counts() == [.integer(2), .integer(2)])
      try await client.world.firestore.terminate()
    }

    /// A conflict resolver that drops writes must drop the write of a record and the change of its counter
    /// together.
    @Test(arguments: [true, false]) func aResolverDropsARecordAndItsCounterChangeTogether(awaitsServer: Bool)
      async throws
    {
      try begin()
      let client = Client(remote, awaitsServer ? .server : .local) {
        $0.conflictResolver = { _ in .dropWrites }
      }
      try await client.readAndGoOffline("notes/b/items/1", "boards/b")
      await client.issue("did destroy") { client.context.destroy(Note("1")) }
      try change(15, high: 1)
      try await client.finish(1)
      #expect(try (authority.document(at: note) == nil) == awaitsServer)
      #expect(try counts() == [.integer(awaitsServer ? 1 : 2), .integer(awaitsServer ? 1 : 2)])
      try await client.world.firestore.terminate()
    }

    // MARK: Termination

    /// The base reads the record before it writes. Here the database is terminated before the result of that
    /// read arrives.
    @Test(arguments: [true, false]) func aWriteInterruptedByTerminationFails(isUpdate: Bool) async throws {
      let world = StreamWorld()
      try await world.put([("1", 5)])
      let base = HearingBase(firebase: world.firestore)
      base.errorHandler = { _ in }
      base.resource(Note.self, path: "/notes/@")
      let context = ResourceContext(base: base, resources: nil)
      world.on {
        if isUpdate { context.update(Note("1", text: "late", rank: 7)) } else { context.destroy(Note("1")) }
        world.firestore.terminate()
      }
      await world.wait { base.finished == 1 }
      #expect(world.on { base.heard.last } == "persisted \(isUpdate ? "update" : "destruction") 1")
    }

    /// The second update would read its record after the termination, so this update never starts. Only the
    /// error handler is called for it.
    @Test func aFirstAttemptWhoseReadFailsCallsOnlyTheErrorHandler() async throws {
      let world = StreamWorld()
      try await world.put([("1", 5)])
      let base = HearingBase(firebase: world.firestore)
      var codes: [Int] = []
      base.errorHandler = { codes.append($0.code) }
      base.resource(Note.self, path: "/notes/@")
      let context = ResourceContext(base: base, resources: nil)
      world.on {
        for text in ["first", "second"] { context.update(Note("1", text: text, rank: 7)) }
        world.firestore.terminate()
      }
      await world.wait { codes.count == 2 }
      let cancelled = FirestoreErrorCode.Code.cancelled.rawValue
      #expect(world.on { codes } == [cancelled, cancelled])
      #expect(world.on { base.finished == 1 && base.kitLanes.isEmpty })
    }

    /// The bug: a write that starts a moment after the termination ended the process.
    @Test func aWriteAfterTerminationCallsOnlyTheErrorHandler() async throws {
      let world = StreamWorld()
      try await world.firestore.terminate()
      let base = HearingBase(firebase: world.firestore)
      var codes: [Int] = []
      base.errorHandler = { codes.append($0.code) }
      base.resource(Note.self, path: "/notes/@")
      let context = ResourceContext(base: base, resources: nil)
      world.on {
        context.create(Note("1", text: "late", rank: 7))
        context.update(Note("1", text: "late", rank: 7))
        context.destroy(Note("1"))
      }
      let failed = FirestoreErrorCode.Code.failedPrecondition.rawValue
      #expect(world.on { codes } == [failed, failed, failed])
      #expect(world.on { base.heard.isEmpty && base.kitLanes.isEmpty })
    }

    @Test func terminationEndsTheRetryOfASignedOutUsersWrite() async throws {
      try begin()
      let client = Client(remote, .server)
      let firestore = client.world.firestore
      try await firestore.changeUser("ada")
      try await client.readAndGoOffline("notes/b/items/1", "boards/b")
      await client.issue("did update") { client.context.update(Note("1", text: "of ada", rank: 20)) }
      try change(1)
      client.world.queue.suspend()
      try await firestore.enableNetwork()
      for try await progress in firestore.writeQueueProgress where progress.pendingCount == 0 { break }
      try await firestore.changeUser("bob")
      client.world.queue.resume()
      try await firestore.terminate()
      await client.world.wait { client.base.finished == 1 }
      #expect(client.world.on { client.base.heard.last } == "persisted update 1")
      #expect(client.world.on { client.base.kitLanes.isEmpty })
    }

    // MARK: Owners

    @Test(arguments: [true, false]) func destroyingARecordDoesNotRecreateAnUnreadableOwner(isThere: Bool)
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

    @Test func anOwnerCreatedAfterItWasReadAsAbsentIsCounted() async throws {
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

    @Test func refusedWritesPrecedeWaitingWritesAndKeepLaterFields() {
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
      } whenFree: {
        lanes.resume(turns[0])
      }
      // The results of turns 1 and 2 are not known yet, and turn 2 still occupies the lane.
      lanes.refuse(turns[1]) { leave in
        order.append("1 again")
        leave()
      } whenFree: {
        lanes.resume(turns[1])
      }
      lanes.end(turns[2], hasHappened: true)
      #expect(order == ["0", "1", "2"])
      leaveThird()
      #expect(order == ["0", "1", "2", "0 again", "not 2", "1 again", "3"])
      lanes.end(turns[3], hasHappened: false)
      lanes.end(turns[0], hasHappened: true)
      #expect(lanes.hasPendingPredecessor(turns[3]))
      lanes.end(turns[1], hasHappened: true)
      #expect(lanes.isEmpty)
    }

    /// Issues one turn for each of these users, and returns the turns.
    private func issued(_ lanes: ResourceLanes, by users: String...) -> [ResourceLanes.Turn] {
      let turns = users.map { _ in lanes.turn(at: "x") }
      for (index, turn) in turns.enumerated() {
        lanes.enter(turn) { leave in
          lanes.issue(turn, .fields(["\(index)"]))
          leave()
        }
        lanes.note(turn, isOwnedBy: users[index])
      }
      return turns
    }

    private func names(_ written: ResourceLanes.Written?) -> Set<String>? {
      guard case .fields(let names)? = written else { return nil }
      return names
    }

    @Test func aRetryWaitsOnlyForItsUsersWritesAndSeesOthersWhenApplied() {
      let lanes = ResourceLanes()
      let turns = issued(lanes, by: "ada", "ada", "bob", "ada")
      var free = 0
      var again = 0
      func refuse() {
        lanes.refuse(turns[0]) { leave in
          again += 1
          leave()
        } whenFree: {
          free += 1
        }
      }
      refuse()
      #expect(free == 0)
      lanes.end(turns[1], hasHappened: true)
      lanes.end(turns[3], hasHappened: false)
      #expect(free == 1 && again == 0)
      lanes.resume(turns[0])
      #expect(again == 1 && names(lanes.written(after: turns[0])) == ["1"])
      lanes.issue(turns[0], .fields(["0"]))
      // The other user's write is applied before the next attempt.
      lanes.end(turns[2], hasHappened: true)
      refuse()
      #expect(free == 2 && names(lanes.written(after: turns[0])) == ["1", "2"])
      #expect(lanes.withdraw(turns[0]) && !lanes.withdraw(turns[0]))
      lanes.resume(turns[0])
      #expect(again == 1)
      lanes.end(turns[0], hasHappened: false)
      #expect(lanes.isEmpty)
    }

    @Test func aWritesUserMayBecomeKnownLater() {
      let lanes = ResourceLanes()
      let turns = issued(lanes, by: "ada", "ada")
      let late = lanes.turn(at: "x")
      lanes.enter(late) { leave in
        lanes.issue(late, .all)
        leave()
      }
      var order: [Int] = []
      for index in [0, 1] {
        lanes.refuse(turns[index]) { leave in
          order.append(index)
          leave()
        } whenFree: {
          // A single call of `resume` resumes all refused turns of the user that wait for no other turn, in
          // the order of the turns.
          if index == 1 { lanes.resume(turns[1]) }
        }
      }
      #expect(order == [] && lanes.hasPendingPredecessor(late))
      lanes.note(late, isOwnedBy: "bob")
      #expect(order == [0, 1] && !lanes.hasPendingPredecessor(late))
      for turn in turns + [late] { lanes.end(turn, hasHappened: true) }
      #expect(lanes.isEmpty)
    }
  }
}
