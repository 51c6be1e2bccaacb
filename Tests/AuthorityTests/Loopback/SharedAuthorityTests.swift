// Several loopback remotes over one authority.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct SharedAuthorityTests {
  private let world: LoopbackWorld
  private let log = Locked<[String]>([])
  private let second: LoopbackRemote
  private static let path = DocumentPath(unchecked: ["rooms", "1"])

  init() throws {
    world = try LoopbackWorld()
    second = LoopbackRemote(
      authority: try Authority.of(world.authority), seed: 2, on: world.scheduler,
      log: { [log] line in log.withLock { $0.append(line) } })
  }

  private func clientOfSecond() throws -> SyncDriver {
    let local = try LocalStore(try .openInMemory(), user: nil, collector: .lru, client: "second")
    return SyncDriver(local, second, options: SyncEngine.Options(), scheduler: world.scheduler)
  }

  @Test func clientsOfBothRemotesAreNotifiedOfEachOthersWrites() throws {
    let (writer, listener) = (try world.client(on: SimulatedDisk()), try clientOfSecond())
    let counts = Locked<[Int]>([])
    _ = listener.listen(to: StructuredQuery(.document(Self.path)), ListenRules()) { result in
      counts.withLock { $0.append((try? result.get().documents.count) ?? -1) }
    }
    world.pass()
    writer.write([.set(Self.path, StoredMap([("n", .integer(1))]))]) { _ in }
    world.pass()
    #expect(counts.withLock { $0 }.last == 1)
    #expect(log.withLock { $0.contains { $0.contains("rooms/1 present") } })
  }

  @Test func oneRemoteIsCutAlone() throws {
    let (first, other) = (try world.client(on: SimulatedDisk()), try clientOfSecond())
    second.setReachable(false)
    let answered = Locked<[String]>([])
    for (name, client) in [("first", first), ("second", other)] {
      client.write([.set(Self.path, StoredMap())]) { _ in answered.withLock { $0.append(name) } }
    }
    world.pass()
    #expect(answered.withLock { $0 } == ["first"])
    #expect(!second.canReachAuthority)
    #expect(world.remote.canReachAuthority)
    second.setReachable(true)
    world.pass()
    #expect(answered.withLock { $0 } == ["first", "second"])
    #expect(log.withLock { $0 }.contains("is cut off"))
  }
}
