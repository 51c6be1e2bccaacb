// One-time reads, and the events that follow the answer to a read.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct FirstAnswerTests {
  /// When the read's handler runs, the read's own listener is already gone. A listener that the handler adds
  /// receives the cached state before the remote answers.
  @Test func aListenerAddedInAReadHandlerGetsItsOwnView() throws {
    let world = try LoopbackWorld()
    let client = try world.client(on: SimulatedDisk())
    let rooms = StructuredQuery(.collection(try CollectionPath(["rooms"])))
    let receivedFromCache = Locked<[Bool]>([])
    client.first(rooms) { first in
      receivedFromCache.withLock { $0.append((try? first.get().isFromCache) ?? true) }
      _ = client.listen(to: rooms, ListenRules(includesMetadataChanges: true)) { later in
        receivedFromCache.withLock { $0.append((try? later.get().isFromCache) ?? true) }
      }
    }
    world.pass()
    #expect(receivedFromCache.withLock { $0 } == [false, true, false])
  }
}
