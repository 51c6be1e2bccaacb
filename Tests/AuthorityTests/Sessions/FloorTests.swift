// What clients are told after the store was set back: no version and no time is before the floor.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct FloorTests {
  private let world: SessionWorld
  private let floor: SnapshotVersion
  private static let path = SessionWorld.room("a")
  private static let update = Mutation.set(path, StoredMap([("n", .integer(2))]))

  private static func open(_ disk: SimulatedDisk, seconds: Int64) throws -> SessionWorld {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let clock = SimulatedClock(wallMicroseconds: 1_700_000_000_000_000 + seconds * 1_000_000)
    let platform = Platform(fileSystem: disk, clock: clock, random: SimulatedRandomSource(seed: 1))
    return try SessionWorld(try DocumentStore.open("/store", options: options, platform: platform))
  }

  /// A copy of the files takes the place of the store, and a client comes with a token from before.
  init() throws {
    let disk = SimulatedDisk()
    let first = try Self.open(disk, seconds: 0)
    try first.commit(["a": 1])
    let image = disk.image(after: .kill)
    try first.commit(["a": 9])
    let client = first.client()
    client.watch(2, SessionWorld.rooms)
    _ = client.messages()

    world = try Self.open(SimulatedDisk(image), seconds: 60)
    let returning = world.client()
    returning.watch(2, SessionWorld.rooms, from: client.token)
    #expect(returning.messages() == ["ended unavailable"])
    floor = try #require(world.authority.life.floor)
  }

  @Test func sessionsTellDocumentsAndTimesFromTheFloorOn() throws {
    let client = world.client()
    client.watch(2, SessionWorld.rooms)
    #expect(client.messages() == ["added 2", "rooms/a=1 in 2", "current 2", "snapshot"])
    #expect(client.version(of: Self.path) == floor)
    #expect(client.times.allSatisfy { $0 >= floor })
    let time = SnapshotVersion(try world.store.commit([Self.update]))
    #expect(client.messages() == ["rooms/a=2 in 2", "snapshot"])
    #expect(time > floor && client.version(of: Self.path) == time && client.times.last == time)
  }

  @Test func callsTellVersionsFromTheFloorOn() throws {
    let documents = try world.authority.documents(at: [Self.path, SessionWorld.room("b")], as: nil)
    #expect(documents.map(\.version) == [floor, floor])
    let (version, results) = try world.authority.commit([Self.update], as: nil)
    #expect(version > floor)
    #expect(results.map(\.version) == [version] && results.map(\.versionBefore) == [floor])
  }

  @Test func aPreconditionMayNameTheFloor() async throws {
    let onFloor = Mutation(Self.path, Self.update.change, precondition: .updateTime(floor.stored))
    let authority = world.authority
    let wrong = Mutation(
      Self.path, Self.update.change,
      precondition: .updateTime(SnapshotVersion(microseconds: floor.microseconds - 1).stored))
    #expect { try authority.commit([wrong], as: nil) } throws: { error in
      (error as? RemoteError)?.code == .failedPrecondition
    }
    let version = try authority.commit([onFloor], as: nil).version
    #expect(version > floor)
    #expect { try authority.commit([onFloor], as: nil) } throws: { error in
      (error as? RemoteError)?.code == .failedPrecondition
    }
  }

  @Test func aPreconditionOfACommitWithoutWaitingMayNameTheFloor() async throws {
    let onFloor = Mutation(Self.path, Self.update.change, precondition: .updateTime(floor.stored))
    let other = Mutation.set(SessionWorld.room("b"), StoredMap())
    let authority = world.authority
    var codes: [RemoteError.Code?] = []
    for mutation in [onFloor, onFloor, other] {
      let result = await withCheckedContinuation { continuation in
        authority.commit([mutation], as: nil) { continuation.resume(returning: $0) }
      }
      if case .failure(let error) = result { codes.append(error.code) } else { codes.append(nil) }
    }
    #expect(codes == [nil, .failedPrecondition, nil])
  }

  @Test func aTransactionMayRequireTheFloor() throws {
    let onFloor = Mutation(Self.path, Self.update.change, precondition: .updateTime(floor.stored))
    let transaction = try world.authority.backend.transaction()
    _ = try transaction.documents(at: [Self.path])
    let committed = try world.authority.commit([onFloor], of: transaction, as: nil)
    #expect(committed?.results.map(\.versionBefore) == [floor])
    #expect(try world.store.document(at: Self.path)?.fields["n"] == .integer(2))
  }
}
