// The writes that a client delays, and when they must be durable.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct FlushTests {
  private let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))

  private func open(_ disk: SimulatedDisk) throws -> LocalStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    return try LocalStore(store, user: nil, collector: .lru, client: "client")
  }

  @Test func aNewClientStoreIsMarkedAsACacheImmediately() throws {
    let disk = SimulatedDisk()
    let local = try open(disk)
    try local.store.close()
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    #expect(throws: DocumentStoreError.self) { try store.checkIsNotCache() }
    try store.close()
  }

  @Test func stoppingPersistsResumeTokens() throws {
    let disk = SimulatedDisk()
    let world = try LoopbackWorld()
    try world.authority.commit([.set(DocumentPath(unchecked: ["rooms", "a"]), StoredMap())])
    world.remote.refresh()
    var client = try world.client(on: disk)
    _ = client.listen(to: rooms, ListenRules()) { _ in }
    world.pass()
    try world.authority.commit([.set(DocumentPath(unchecked: ["others", "a"]), StoredMap())])
    world.remote.refresh()
    world.pass()
    let query = rooms
    let known = world.ask(client) { try? $0.local.allocate(query) } ?? nil
    client.stop()
    try client.store.close()
    client = try world.client(on: SimulatedDisk(disk.image(after: .kill)))
    let found = world.ask(client) { try? $0.local.allocate(query) } ?? nil
    #expect(found != nil && found == known)
  }
}
