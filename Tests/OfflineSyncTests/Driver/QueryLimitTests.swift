// Queries that exceed the limits: the caller of such a query gets an error, and other callers are not
// affected.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct QueryLimitTests {
  @Test func anOversizedQueryFailsAloneAndTheClientContinues() throws {
    let world = try LoopbackWorld()
    let client = try world.client(on: SimulatedDisk())
    let rooms = StructuredQuery(.collection(try CollectionPath(["rooms"])))
    let list = StoredValue.array((0..<31).map { .integer($0) })
    let query = try rooms.filtered(by: .field(StoredFieldPath(["n"]), .isIn, list))
    let complaint = OfflineSyncError.store(
      .invalidArgument("The query has 31 alternatives after 'or' and 'in', and the limit is 30."))
    let events = Locked<[String]>([])
    func note(_ name: String) -> SyncDriver.Handler {
      { result in
        let text =
          switch result {
          case .success(let snapshot): "\(snapshot.documents.count)"
          case .failure(let error): error == complaint ? "too much" : "\(error)"
          }
        events.withLock { $0.append("\(name): \(text)") }
      }
    }
    _ = client.listen(to: rooms, ListenRules(waitsForSync: true), handler: note("rooms"))
    world.pass()
    let id = client.listen(to: query, ListenRules(), handler: note("listener"))
    _ = client.listen(to: query, ListenRules(isCacheOnly: true), handler: note("cache"))
    client.first(query, note("read"))
    client.write([.set(DocumentPath(unchecked: ["rooms", "a"]), StoredMap())], .server) { error in
      events.withLock { $0.append("write: \(error == nil)") }
    }
    world.pass()
    client.unlisten(id)
    client.first(rooms, note("read"))
    world.pass()
    #expect(
      events.withLock { $0 } == [
        "rooms: 0", "listener: too much", "cache: too much", "read: too much", "rooms: 1", "write: true",
        "read: 1",
      ])
  }
}
