// A store on a simulated disk, with a clock that a test sets. Its files can be copied.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync

struct TestStore {
  static let day: Int64 = 86_400_000_000

  let disk: SimulatedDisk
  let clock: SimulatedClock
  let store: DocumentStore

  /// Opens the store on a disk. Each open has other random numbers.
  init(
    on disk: SimulatedDisk = SimulatedDisk(), clock: SimulatedClock = SimulatedClock(), seed: UInt64 = 1,
    path: String = "/authority"
  ) throws {
    self.disk = disk
    self.clock = clock
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let platform = Platform(fileSystem: disk, clock: clock, random: SimulatedRandomSource(seed: seed))
    store = try DocumentStore.open(path, options: options, platform: platform)
  }

  /// A disk with a copy of all files as they are now.
  var copy: SimulatedDisk { SimulatedDisk(disk.image(after: .kill)) }

  func pass(microseconds: Int64) {
    clock.setWall(microseconds: clock.wallMicroseconds() + microseconds)
  }

  /// Commits a document, and returns the time.
  @discardableResult func put(_ name: String, _ number: Int64 = 1) throws -> SnapshotVersion {
    let path = DocumentPath(unchecked: ["rooms", name])
    pass(microseconds: 1_000)
    return SnapshotVersion(try store.commit([.set(path, StoredMap([("n", .integer(number))]))]))
  }

  /// A token for a client that has all commits.
  func token(_ life: AuthorityLife) throws -> [UInt8] {
    let time = SnapshotVersion(store.lastCommitTime ?? SnapshotVersion.none.stored)
    return life.resumeToken(position: try store.feedRange().newest, time: time, life: life.number)
  }
}

extension AuthorityLife {
  /// The life of a store of this process.
  convenience init(embeddedIn store: DocumentStore) throws {
    try self.init(of: try EmbeddedBackend(store))
  }
}
