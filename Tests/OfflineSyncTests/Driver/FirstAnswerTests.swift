// One-time reads, and the events after their answer.

import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct FirstAnswerTests {
  /// Nothing is left of the read when its answer comes: who listens then is told what is cached before the remote speaks.
  @Test func aListenerAddedByAReadHandlerSharesNoView() throws {
    let world = try LoopbackWorld()
    let client = try world.client(on: SimulatedDisk())
    let rooms = StructuredQuery(.collection(try CollectionPath(["rooms"])))
    let told = Locked<[Bool]>([])
    client.first(rooms) { first in
      told.withLock { $0.append((try? first.get().isFromCache) ?? true) }
      _ = client.listen(to: rooms, ListenRules(includesMetadataChanges: true)) { later in
        told.withLock { $0.append((try? later.get().isFromCache) ?? true) }
      }
    }
    world.pass()
    #expect(told.withLock { $0 } == [false, true, false])
  }
}
