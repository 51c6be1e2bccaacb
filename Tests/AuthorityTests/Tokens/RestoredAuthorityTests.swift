// Clients of an authority whose store was set back: they take its state, and keep what they have to send.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct RestoredAuthorityTests {
  private let path = DocumentPath(unchecked: ["rooms", "a"])
  private let clientDisk = SimulatedDisk()
  private let seen = Locked<[StoredValue?]>([])

  private func set(_ number: Int64, _ authority: TestStore) throws {
    authority.pass(microseconds: 1_000_000)
    try authority.store.commit([.set(path, StoredMap([("n", .integer(number))]))])
  }

  /// Opens the client again, with another authority, and listens.
  private func client(of authority: TestStore) throws -> (world: LoopbackWorld, client: SyncDriver) {
    let world = try LoopbackWorld(authority: authority.store)
    let client = try world.client(on: SimulatedDisk(clientDisk.image(after: .kill)))
    return (world, client)
  }

  private func listen(_ client: SyncDriver) {
    _ = client.listen(to: StructuredQuery(.collection(path.parent)), ListenRules()) { [seen] result in
      guard case .success(let view) = result else { return }
      seen.withLock { $0.append(view.documents.first?.fields["n"]) }
    }
  }

  private func last() -> StoredValue?? { seen.withLock { $0.last } }

  /// A client sees the number 2, and then the authority is the store in which it is 1.
  private func isShown(
    _ expected: StoredValue?, by restore: (TestStore) throws -> TestStore,
    _ restored: (TestStore, SyncDriver, LoopbackWorld) throws -> Void
  ) throws {
    let authority = try TestStore()
    let world = try LoopbackWorld(authority: authority.store)
    let client = try world.client(on: clientDisk)
    try set(1, authority)
    listen(client)
    world.pass()
    let copy = try restore(authority)
    try set(2, authority)
    world.remote.refresh()
    world.pass()
    #expect(last() == .some(.integer(2)))
    client.abandon()

    let (later, again) = try self.client(of: copy)
    listen(again)
    later.pass()
    try restored(copy, again, later)
    later.remote.refresh()
    later.pass()
    #expect(last() == .some(expected))
    #expect(later.ask(again) { $0.pendingBatches.count } == 0)
    again.stop()
  }

  @Test(arguments: [true, false]) func aClientTakesTheStateOfARestoredStore(isBackup: Bool) throws {
    try isShown(.integer(1), by: { try restore($0, isBackup) }) { _, _, _ in }
  }

  @Test(arguments: [true, false]) func laterCommitsOfTheRestoredStoreArrive(isBackup: Bool) throws {
    try isShown(.integer(7), by: { try restore($0, isBackup) }) { store, _, _ in try set(7, store) }
  }

  @Test(arguments: [true, false]) func aDeletionInTheRestoredStoreArrives(isBackup: Bool) throws {
    try isShown(nil, by: { try restore($0, isBackup) }) { store, _, _ in
      try store.store.commit([.delete(path)])
    }
  }

  @Test(arguments: [true, false]) func writesToTheRestoredStoreAreBasedOnItsState(isBackup: Bool) throws {
    try isShown(.integer(11), by: { try restore($0, isBackup) }) { _, client, _ in
      client.write([increment(path, by: 10)], .local) { _ in }
    }
  }

  private func restore(_ authority: TestStore, _ isBackup: Bool) throws -> TestStore {
    guard isBackup else { return try TestStore(on: authority.copy, clock: authority.clock, seed: 2) }
    try authority.store.backup(to: "/backup")
    return try TestStore(on: authority.disk, clock: authority.clock, seed: 2, path: "/backup")
  }
}
