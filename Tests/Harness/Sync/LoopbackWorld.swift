// An authority and its clients, all in this process and in virtual time.

package import Authority
import ByteStore
package import DocumentStore
package import OfflineSync

package final class LoopbackWorld {
  package let scheduler = VirtualScheduler()
  package let authority: DocumentStore
  package let remote: LoopbackRemote

  package init(authority: DocumentStore? = nil, seed: UInt64 = 1) throws {
    self.authority = try authority ?? DocumentStore.openInMemory()
    remote = try LoopbackRemote(
      authority: self.authority, faults: LoopbackFaults(), seed: seed, on: scheduler)
  }

  deinit { scheduler.clear() }

  /// Options of a store whose background jobs run only when a test runs them.
  package static var manual: DocumentStore.Options {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    return options
  }

  /// Opens a client on a disk, which may already contain the client's state.
  package func client(
    on disk: SimulatedDisk, _ durability: StoreDurability = .synced, user: String? = nil,
    _ change: (inout SyncEngine.Options) -> Void = { _ in }
  ) throws -> SyncDriver {
    var options = Self.manual
    options.durability = durability
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    let local = try LocalStore(store, user: user, collector: .lru, client: "client")
    var engine = SyncEngine.Options()
    change(&engine)
    return SyncDriver(local, remote, options: engine, scheduler: scheduler)
  }

  package func pass(seconds: Int64 = 100) { scheduler.play(for: seconds * 1_000_000) }

  /// Calls the body with the engine and returns its result.
  package func ask<Value: Sendable>(
    _ client: SyncDriver, _ body: @escaping @Sendable (SyncEngine) -> Value
  ) -> Value? {
    let answer = Locked<Value?>(nil)
    client.inspect { engine in
      let value = body(engine)
      answer.withLock { $0 = value }
    }
    scheduler.play(for: 0)
    return answer.withLock { $0 }
  }
}

/// Returns a mutation that increments a number in a document.
package func increment(_ path: DocumentPath, _ name: String = "n", by number: Int64 = 1) -> Mutation {
  .patch(
    path, StoredMap(), mask: FieldMask([]),
    transforms: [FieldTransform(StoredFieldPath(unchecked: [name]), .increment(.integer(number)))])
}
