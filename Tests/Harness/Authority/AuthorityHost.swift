// The machine of the authority: its disk, its store, the copies of the store, and how it dies and returns.

import Authority
import ByteStore
import DocumentStore
import OfflineSync

final class AuthorityHost {
  /// A state of the store that can be restored.
  struct Copy {
    /// Whether the store wrote the copy itself. Otherwise the files were copied while the store was open.
    var isBackup: Bool
    var image: DiskImage
    var directory: String
    /// The time of the last commit in the copy.
    var time: SnapshotVersion
    /// The documents in the copy.
    var documents: [DocumentPath: StoredDocument]
  }

  let clock = SimulatedClock()
  private let seed: UInt64
  private var openings: UInt64 = 0
  private(set) var disk: SimulatedDisk
  private var directory = "/authority"
  private(set) var store: DocumentStore
  private(set) var authority: Authority
  private var backups = 0
  private let rules: AuthorityRules
  /// The paths of all documents that were ever written.
  private(set) var paths: Set<DocumentPath> = []

  init(seed: UInt64, rules: AuthorityRules) throws {
    self.seed = seed
    self.rules = rules
    disk = SimulatedDisk(options: Self.diskOptions)
    (store, authority) = try Self.open(disk, directory, clock, seed, rules)
  }

  private static var diskOptions: SimulatedDisk.Options {
    var options = SimulatedDisk.Options()
    options.operationsMax = .max
    return options
  }

  private static func open(
    _ disk: SimulatedDisk, _ directory: String, _ clock: SimulatedClock, _ seed: UInt64,
    _ rules: AuthorityRules
  ) throws -> (DocumentStore, Authority) {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.scanMax = seed % 2 == 0 ? 0 : 64
    let platform = Platform(fileSystem: disk, clock: clock, random: SimulatedRandomSource(seed: seed))
    let store = try DocumentStore.open(directory, options: options, platform: platform)
    let authority = try Authority.of(store)
    authority.rules = rules
    return (store, authority)
  }

  // MARK: Documents

  /// Adds documents to those that `documents()` and `contents(of:)` know.
  func note(_ mutations: [Mutation]) { for mutation in mutations { paths.insert(mutation.path) } }

  /// Reads all documents that were ever written.
  func documents() throws -> [DocumentPath: StoredDocument] {
    var documents: [DocumentPath: StoredDocument] = [:]
    for path in paths { documents[path] = try store.document(at: path) }
    return documents
  }

  /// The time of the last commit.
  func time() throws -> SnapshotVersion {
    let snapshot = try store.snapshot()
    defer { snapshot.close() }
    return snapshot.time.map { SnapshotVersion($0) } ?? .none
  }

  // MARK: Sessions

  /// The prefix of document names in Bloom filters.
  var documentsName: String { "projects/p/databases/d/documents" }

  /// The time at which the present life of the store began; nil in its first life.
  var floor: SnapshotVersion? { authority.life.floor }

  func openSession(as user: String?, _ line: StreamLine) -> WatchSession {
    let life = authority.life
    return authority.openWatchSession(
      as: user, documentsName: documentsName, enqueue: line.enqueue,
      send: { change, version in line.send(change, version, floor: life.floor ?? .none) }, ended: line.end)
  }

  // MARK: Deaths

  /// Makes every disk call fail after `count` more calls, until the process ends.
  func failDisk(afterCalls count: Int) {
    disk.setFault(FaultPlan(.inputOutput, at: disk.counters.operations + count, isSticky: true))
  }

  /// Ends the process and opens the store again. The streams must be closed before.
  func crash(_ crash: Crash) throws {
    store.bytes.abandon()
    disk = SimulatedDisk(disk.image(after: crash), options: Self.diskOptions)
    try reopen()
  }

  /// Closes the store and opens it again.
  func closeAndOpen() throws {
    try store.close()
    try reopen()
  }

  private func reopen() throws {
    openings += 1
    (store, authority) = try Self.open(disk, directory, clock, SeededRandom.seed(seed, openings), rules)
  }

  // MARK: Copies

  /// Returns the state of the store, as a backup or as a copy of its files.
  func copy(asBackup isBackup: Bool) throws -> Copy {
    var directory = directory
    if isBackup {
      backups += 1
      directory = "/backup\(backups)"
      try store.backup(to: directory)
    }
    return Copy(
      isBackup: isBackup, image: disk.image(after: .kill), directory: directory, time: try time(),
      documents: try documents())
  }

  /// Replaces the store by an earlier copy. The streams must be closed before.
  func restore(_ copy: Copy) throws {
    store.bytes.abandon()
    disk = SimulatedDisk(copy.image, options: Self.diskOptions)
    directory = copy.directory
    try reopen()
  }
}
