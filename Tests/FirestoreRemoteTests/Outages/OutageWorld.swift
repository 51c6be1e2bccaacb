// A client of a server with outages, from the listener to the requests, in virtual time.

#if Server
import ByteStore
import DocumentStore
import FirestoreRemote
import FirestoreWire
import Harness
import OfflineSync

/// A client with a listener, and the last snapshot that it has received.
final class OutageWorld {
  struct Seen {
    var isFromCache: Bool
    var number: Int64?
  }

  static let second: Int64 = 1_000_000
  private static let step: Int64 = 100_000

  let server: OutageServer
  let network: OutageNetwork
  var random: SeededRandom
  private let scheduler = VirtualScheduler()
  private let driver: SyncDriver
  private let last = Locked<Seen?>(nil)
  private let collectionCount = Locked(0)

  init(seed: UInt64) throws {
    random = SeededRandom(seed: seed)
    server = OutageServer(on: scheduler)
    network = OutageNetwork(server, on: scheduler, seed: seed)
    let channels = WebChannels(
      network, database: OutageServer.database.text, scheduler: scheduler,
      random: SimulatedRandomSource(seed: seed))
    let remote = FirestoreRemote(
      FirestoreRemoteOptions(project: "shop"), transport: network, channels: channels, on: scheduler)
    let local = try LocalStore(
      try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client")
    var options = SyncEngine.Options()
    options.seed = seed
    driver = SyncDriver(local, remote, options: options, scheduler: scheduler)
    let query = StructuredQuery(.collection(try CollectionPath(["rooms"])))
    let rules = ListenRules(includesMetadataChanges: true)
    _ = driver.listen(to: query, rules) { [last] result in
      guard case .success(let snapshot) = result else { return }
      var seen = Seen(isFromCache: snapshot.isFromCache)
      if case .integer(let number)? = snapshot.documents.first?.fields["n"] { seen.number = number }
      last.withLock { [seen] in $0 = seen }
    }
  }

  deinit {
    driver.stop()
    scheduler.clear()
  }

  var now: Int64 { scheduler.now() }

  /// Nil before the first snapshot.
  var seen: Seen? { last.withLock { $0 } }

  /// Whether the listener has what the server has, and knows it.
  var isSynced: Bool { seen.map { !$0.isFromCache && $0.number == server.number } ?? false }

  func play(for microseconds: Int64) { scheduler.play(for: microseconds) }

  /// Lets time pass until a condition holds. Returns the time that it took; nil if it was too long.
  func time(max: Int64, until condition: () -> Bool) -> Int64? {
    let start = now
    while !condition() {
      guard now - start < max else { return nil }
      scheduler.play(for: Self.step)
    }
    return now - start
  }

  /// Lets time pass in which the document changes, and in which the client sends requests of its own.
  func live(for microseconds: Int64) throws {
    let end = now + microseconds
    while now < end {
      play(for: min(end - now, Int64(random.below(40)) * Self.second / 2 + 1))
      if random.oneIn(2) { network.changeDocument() }
      if random.oneIn(4) { try watchAnother() }
    }
  }

  /// Makes the client send a message on its stream.
  func watchAnother() throws {
    let number = collectionCount.withLock { count in
      count += 1
      return count
    }
    let query = StructuredQuery(.collection(try CollectionPath(["rooms\(number)"])))
    let id = driver.listen(to: query, ListenRules()) { _ in }
    if random.oneIn(2) { driver.unlisten(id) }
  }
}
#endif
