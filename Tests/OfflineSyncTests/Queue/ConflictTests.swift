// Others were faster: what becomes of writes that waited.

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

  /// A client that has seen the document and is away when others change it.
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

  @Test func aResolverSeesAllThreeStatesAndItsAnswerIsWritten() throws {
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
    // Nobody was faster: nobody is asked.
    client.write([.set(path, Self.fields("alone"))], .local) { _ in }
    client.write([.set(path, Self.fields("again"))], .local) { _ in }
    world.pass()
    #expect(try text() == "again")
    #expect(conflicts.withLock { $0.count } == 1)
  }

  /// What the remote tells while writes wait is no reason to forget what they were made on.
  @Test func aConflictThatWasHeardOfBeforeAndARestartAreConflictsAllTheSame() throws {
    let conflicts = Locked<[String]>([])
    let disk = SimulatedDisk()
    let away = try client(disk, merging(conflicts))
    away.write([.set(path, Self.fields("ours"))], .local) { _ in }
    try changeAtTheAuthority("theirs")
    // The streams break before the write arrives, and the watch stream is first to be back.
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

  /// A lost answer is no conflict: the document is another one because of the write itself.
  @Test func aWriteThatWasTakenIsNoConflictWithItself() throws {
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

  /// Or it would be in the way of all others for ever.
  @Test func aConflictThatNobodyMayLookAtIsARejection() throws {
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

  /// What is written blindly need not be looked at.
  @Test func aConflictBesideABlindWriteIsResolvedByWhoMayNotReadThatOne() throws {
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

  @Test func writesMayBeDropped() throws {
    let client = try client(SimulatedDisk()) { _ in .dropWrites }
    client.write([increment(path)], .local) { _ in }
    try changeAtTheAuthority("theirs")
    client.send(.enableNetwork)
    world.pass()
    #expect(try world.authority.document(at: path)?.fields == Self.fields("theirs"))
    #expect(try client.store.document(at: path)?.fields == Self.fields("theirs"))
    #expect(world.ask(client) { $0.pendingBatches.count } == 0)
  }
}
