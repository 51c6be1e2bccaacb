// Conflicts: another client has changed a document before a pending write arrives.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct ConflictTests {
  private let world: LoopbackWorld
  private let path = DocumentPath(unchecked: ["rooms", "a"])
  private let other = DocumentPath(unchecked: ["rooms", "b"])

  init() throws {
    world = try LoopbackWorld()
    try world.authority.commit([.set(path, Self.fields("base"))])
  }

  private static func fields(_ text: String) -> StoredMap { StoredMap([("text", .string(text))]) }

  private static func text(_ document: StoredDocument?) -> String {
    if case .string(let text)? = document?.fields["text"] { text } else { "none" }
  }

  private func text() throws -> String { Self.text(try world.authority.document(at: path)) }

  private func merging(_ conflicts: Locked<[String]>) -> ConflictResolver {
    { conflict in
      let (base, local, remote) = (
        Self.text(conflict.base), Self.text(conflict.local), Self.text(conflict.remote)
      )
      conflicts.withLock { $0.append("\(base) \(local) \(remote)") }
      return .replaceWrites(.set(conflict.path, Self.fields("\(local)+\(remote)")))
    }
  }

  /// Creates a client that has read the document and is offline when other clients change the document.
  private func client(_ disk: SimulatedDisk, _ resolver: ConflictResolver?) throws -> SyncDriver {
    let client = try world.client(on: disk) { $0.resolver = resolver }
    _ = client.listen(to: StructuredQuery(.document(path)), ListenRules()) { _ in }
    world.pass()
    client.send(.disableNetwork)
    return client
  }

  private func changeAtTheAuthority(_ text: String) throws {
    try world.authority.commit([.set(path, Self.fields(text))])
    world.remote.refresh()
  }

  @Test func withoutAResolverTheLastWriteWins() throws {
    let client = try client(SimulatedDisk(), nil)
    client.write([.set(path, Self.fields("ours"))], .local) { _ in }
    try changeAtTheAuthority("theirs")
    client.send(.enableNetwork)
    world.pass()
    #expect(try text() == "ours")
  }

  @Test func theResolverSeesThreeVersionsAndItsResultIsWritten() throws {
    let conflicts = Locked<[String]>([])
    let client = try client(SimulatedDisk(), merging(conflicts))
    client.write([.set(path, Self.fields("first")), .set(other, Self.fields("beside"))], .local) { _ in }
    client.write([.set(path, Self.fields("ours"))], .local) { _ in }
    try changeAtTheAuthority("theirs")
    client.send(.enableNetwork)
    world.pass()
    #expect(conflicts.withLock { $0 } == ["base ours theirs"])
    #expect(try text() == "ours+theirs")
    #expect(try Self.text(world.authority.document(at: other)) == "beside")
    #expect(try Self.text(client.store.document(at: path)) == "ours+theirs")
    #expect(world.ask(client) { $0.pendingBatches.count } == 0)
    #expect(world.ask(client) { try? $0.brokenInvariant() } ?? nil == nil)
    // If no other client changes the document, the resolver is not called.
    client.write([.set(path, Self.fields("alone"))], .local) { _ in }
    client.write([.set(path, Self.fields("again"))], .local) { _ in }
    world.pass()
    #expect(try text() == "again")
    #expect(conflicts.withLock { $0.count } == 1)
  }

  /// Messages that the remote sends while writes are pending must not replace the base of these writes.
  @Test func aDetectedConflictSurvivesWatchEventsAndARestart() throws {
    let conflicts = Locked<[String]>([])
    let disk = SimulatedDisk()
    let away = try client(disk, merging(conflicts))
    away.write([.set(path, Self.fields("ours"))], .local) { _ in }
    try changeAtTheAuthority("theirs")
    // The streams break before the write arrives, and the watch stream recovers first.
    var rules = LoopbackRules()
    rules.mayWrite = { _, _ in RemoteError(.unavailable, "not yet") }
    world.remote.setRules(rules)
    away.send(.enableNetwork)
    world.pass(seconds: 2)
    let known = path
    #expect(Self.text(world.ask(away) { try? $0.local.remoteDocument(known).stored } ?? nil) == "theirs")
    away.abandon()
    world.remote.setRules(LoopbackRules())
    let back = try world.client(on: SimulatedDisk(disk.image(after: .kill))) {
      $0.resolver = merging(conflicts)
    }
    world.pass()
    #expect(conflicts.withLock { $0 } == ["base ours theirs"])
    #expect(try text() == "ours+theirs")
    back.stop()
  }

  /// A lost answer does not cause a conflict, because the write itself changed the document.
  @Test func anAcceptedWriteDoesNotConflictWithItself() throws {
    let conflicts = Locked<[String]>([])
    let client = try client(SimulatedDisk(), merging(conflicts))
    for number in 0..<40 { client.write([.set(path, Self.fields("\(number)"))], .local) { _ in } }
    var faults = LoopbackFaults()
    faults.lossOneIn = 4
    faults.transientRejectionOneIn = 3
    faults.latency = 0...20_000
    world.remote.setFaults(faults)
    client.send(.enableNetwork)
    world.pass(seconds: 10_000)
    world.remote.setFaults(LoopbackFaults())
    world.pass(seconds: 200)
    #expect(world.ask(client) { $0.pendingBatches.count } == 0)
    #expect(conflicts.withLock { $0 } == [])
    #expect(try text() == "39")
  }

  /// Without the rejection, the batch would block all later batches forever.
  @Test func aConflictInAnUnreadableDocumentRejectsTheWrite() throws {
    let client = try client(SimulatedDisk(), merging(Locked<[String]>([])))
    let rejected = Locked<[RemoteError.Code]>([])
    _ = client.listenToRejections { result in
      if case .success(let rejection) = result { rejected.withLock { $0.append(rejection.error.code) } }
    }
    client.write([.set(path, Self.fields("ours"))], .local) { _ in }
    client.write([.set(other, Self.fields("behind"))], .local) { _ in }
    try changeAtTheAuthority("theirs")
    var rules = LoopbackRules()
    rules.mayRead = { _, _ in RemoteError(.permissionDenied) }
    world.remote.setRules(rules)
    client.send(.enableNetwork)
    world.pass()
    #expect(rejected.withLock { $0 } == [.permissionDenied])
    #expect(try text() == "theirs")
    #expect(try Self.text(world.authority.document(at: other)) == "behind")
    #expect(world.ask(client) { $0.pendingBatches.count } == 0)
  }

  /// The document of a write without a precondition need not be read.
  @Test func aConflictIsResolvedWithoutReadingABlindlyWrittenDocument() throws {
    let conflicts = Locked<[String]>([])
    let client = try client(SimulatedDisk(), merging(conflicts))
    client.write([.set(path, Self.fields("ours")), .set(other, Self.fields("blind"))], .local) { _ in }
    try changeAtTheAuthority("theirs")
    var rules = LoopbackRules()
    let other = other
    rules.mayRead = { _, query in
      query.scope == .document(other) ? RemoteError(.permissionDenied) : nil
    }
    world.remote.setRules(rules)
    client.send(.enableNetwork)
    world.pass()
    #expect(conflicts.withLock { $0 } == ["base ours theirs"])
    #expect(try text() == "ours+theirs")
    #expect(try Self.text(world.authority.document(at: other)) == "blind")
  }

  /// A batch with preconditions is accepted or refused as a whole, but the resolver would drop half of the
  /// batch. The batch is therefore refused, because the state on which it depends no longer exists.
  @Test func theResolverIsNotCalledForABatchWithPreconditions() throws {
    let conflicts = Locked<[String]>([])
    let client = try client(SimulatedDisk(), merging(conflicts))
    let ends = Locked<[Bool]>([])
    func write(_ mutations: [Mutation], requiring precondition: PendingPrecondition = .none) {
      let first = PendingMutation(mutations[0], requiring: precondition)
      let mutations = [first] + mutations.dropFirst().map { PendingMutation($0) }
      client.write(mutations, .server) { error in ends.withLock { $0.append(error == nil) } }
    }
    write([.set(path, Self.fields("ours"))])
    write([.set(path, Self.fields("follower")), increment(other)], requiring: .afterPendingWrites)
    try changeAtTheAuthority("theirs")
    client.send(.enableNetwork)
    world.pass()
    #expect(conflicts.withLock { $0 } == ["base ours theirs"], "nor is it shown what that would make")
    #expect(ends.withLock { $0 } == [true, false])
    #expect(try text() == "ours+theirs")
    #expect(try world.authority.document(at: other) == nil)
    // If the batch follows no other pending write, there is nothing to resolve: the batch's precondition
    // fails.
    let known = try #require(try world.authority.document(at: path)).updateTime
    client.send(.disableNetwork)
    write([.delete(path), increment(other)], requiring: .updateTime(known))
    try changeAtTheAuthority("theirs again")
    client.send(.enableNetwork)
    world.pass()
    #expect(conflicts.withLock { $0.count } == 1)
    #expect(ends.withLock { $0 } == [true, false, false])
    #expect(try text() == "theirs again" && world.authority.document(at: other) == nil)
    #expect(world.ask(client) { try? $0.brokenInvariant() } ?? nil == nil)
  }

  /// Regression: a resolver's write contained the count as read from the remote. The write was queued after a
  /// batch that had incremented the count.
  @Test func aResolversWriteKeepsFieldsOfEarlierPreconditionedBatches() throws {
    @Sendable func map(_ count: Int64, _ last: Int64?) -> StoredValue {
      .map(StoredMap([("all", .integer(count))] + (last.map { [("last", .integer($0))] } ?? [])))
    }
    let client = try client(SimulatedDisk()) { conflict in
      #expect(conflict.local?.fields["n"] == .integer(5), "nor is it shown what that makes")
      var fields = conflict.remote?.fields ?? StoredMap()
      fields["text"] = .string("\(Self.text(conflict.local))+\(Self.text(conflict.remote))")
      fields["gone"] = nil
      fields["counts"] = map(3, nil)
      return .replaceWrites(.set(conflict.path, fields))
    }
    let ends = Locked<[Bool]>([])
    func write(_ mutations: [Mutation]) {
      client.write(mutations, .server) { error in ends.withLock { $0.append(error == nil) } }
    }
    let inner = FieldTransform(StoredFieldPath(unchecked: ["counts", "all"]), .increment(.integer(1)))
    write([
      .set(other, Self.fields("counted"), precondition: .exists(false)), increment(path),
      .patch(path, StoredMap(), mask: FieldMask([]), transforms: [inner]),
    ])
    let text = StoredFieldPath(unchecked: ["text"])
    write([.patch(path, Self.fields("ours"), mask: FieldMask([text]), precondition: .exists(true))])
    let theirs = StoredMap([
      ("counts", map(3, 4)), ("gone", .boolean(true)), ("n", .integer(5)), ("text", .string("theirs")),
    ])
    try world.authority.commit([.set(path, theirs)])
    world.remote.refresh()
    client.send(.enableNetwork)
    world.pass()
    #expect(ends.withLock { $0 } == [true, true])
    let merged = StoredMap([
      ("counts", map(4, nil)), ("n", .integer(6)), ("text", .string("ours+theirs")),
    ])
    #expect(try world.authority.document(at: path)?.fields == merged)
    #expect(try client.store.document(at: path)?.fields == merged)
    #expect(world.ask(client) { try? $0.brokenInvariant() } ?? nil == nil)
  }

  /// The reason why a batch before the resolver's write is refused.
  enum Doomed: CaseIterable {
    /// The document has changed since it was read.
    case condition
    /// The document was deleted.
    case existence
    /// The state does not equal the result of the earlier batch on which the write depends.
    case follower
  }

  /// Regression: the resolver's write left some of its fields to a batch that was certain to be refused, so
  /// these fields were never written.
  @Test(arguments: Doomed.allCases) func aDoomedBatchWithholdsNoFieldsFromTheResolversWrite(
    kind: Doomed
  ) throws {
    let merged = StoredMap([
      ("mark", .integer(7)), ("rank", .integer(7)), ("text", .string("merged")),
    ])
    let client = try client(SimulatedDisk()) { .replaceWrites(.set($0.path, merged)) }
    let known = try #require(try world.authority.document(at: path)).updateTime
    let ends = Locked<[Bool]>([])
    func write(_ mutations: [PendingMutation]) {
      client.write(mutations, .server) { error in ends.withLock { $0.append(error == nil) } }
    }
    func patch(_ name: String, _ value: StoredValue, _ precondition: PendingPrecondition) -> PendingMutation {
      PendingMutation(
        .patch(path, StoredMap([(name, value)]), mask: FieldMask([StoredFieldPath(unchecked: [name])])),
        requiring: precondition)
    }
    let isAbsent = PendingMutation(.set(other, StoredMap(), precondition: .exists(false)))
    write([isAbsent, patch("rank", .integer(3), kind == .condition ? .updateTime(known) : .exists(true))])
    if kind == .follower { write([patch("mark", .integer(3), .afterPendingWrites)]) }
    write([patch("text", .string("ours"), .exists(true))])
    try world.authority.commit([
      kind == .existence ? .delete(path) : .set(path, StoredMap([("text", .string("theirs"))]))
    ])
    world.remote.refresh()
    client.send(.enableNetwork)
    world.pass()
    #expect(ends.withLock { $0 } == (kind == .follower ? [true, false, true] : [false, true]))
    var expected = merged
    // The fields of a batch that can still succeed keep the values that the batch writes.
    if kind == .follower { expected["rank"] = .integer(3) }
    #expect(try world.authority.document(at: path)?.fields == expected)
    #expect(try client.store.document(at: path)?.fields == expected)
    #expect(world.ask(client) { try? $0.brokenInvariant() } ?? nil == nil)
  }

  @Test func theResolverCanDropTheWrites() throws {
    let client = try client(SimulatedDisk()) { _ in .dropWrites }
    let ends = Locked<[Bool]>([])
    client.write([increment(path)], .server) { error in ends.withLock { $0.append(error == nil) } }
    client.write([.set(other, Self.fields("ours"))], .server) { error in
      ends.withLock { $0.append(error == nil) }
    }
    client.write([increment(path), increment(path)], .server) { error in
      ends.withLock { $0.append(error == nil) }
    }
    try changeAtTheAuthority("theirs")
    let sent = Locked<[[Mutation]]>([])
    var rules = LoopbackRules()
    rules.mayWrite = { _, mutations in
      sent.withLock { $0.append(mutations) }
      return nil
    }
    world.remote.setRules(rules)
    client.send(.enableNetwork)
    world.pass()
    #expect(try world.authority.document(at: path)?.fields == Self.fields("theirs"))
    #expect(try client.store.document(at: path)?.fields == Self.fields("theirs"))
    #expect(world.ask(client) { $0.pendingBatches.count } == 0)
    #expect(ends.withLock { $0 } == [true, true, true])
    // A batch without a write is not sent.
    #expect(!sent.withLock { $0 }.contains { $0.allSatisfy(\.isDropped) })
    #expect(sent.withLock { $0 }.contains { $0.map(\.path) == [other] })
  }

  /// A power loss brings the writes back that the resolver has dropped, because their answers are buffered.
  @Test func droppedWritesLeaveTheQueueAfterARestart() throws {
    let disk = SimulatedDisk()
    let away = try client(disk) { _ in .dropWrites }
    away.write([increment(path)], .local) { _ in }
    away.write([increment(path)], .local) { _ in }
    try changeAtTheAuthority("theirs")
    away.send(.enableNetwork)
    world.pass()
    #expect(world.ask(away) { $0.pendingBatches.count } == 0)
    away.abandon()
    let image = disk.image(after: .powerLoss(.nothing, seed: 1))
    let store = try DocumentStore.open(
      "/client", options: LoopbackWorld.manual, platform: SimulatedDisk(image).platform(seed: 1))
    let stored = try LocalStore(store, user: nil, collector: .lru, client: "client")
    #expect(stored.queue.all.map(\.isDropped) == [true, true])
    try store.close()
    let back = try world.client(on: SimulatedDisk(image)) { $0.resolver = { _ in .keepWrites } }
    world.pass()
    #expect(world.ask(back) { $0.pendingBatches.count } == 0)
    #expect(try world.authority.document(at: path)?.fields == Self.fields("theirs"))
  }
}
