// Reads of the recent past, compared with the states that a model has recorded.

import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@testable import Authority

@Suite struct RecentSnapshotTests {
  private typealias State = [DocumentPath: StoredDocument]

  private static let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))
  private static let number = StoredFieldPath(unchecked: ["n"])

  private let clock = SimulatedClock()
  private let store: DocumentStore

  init() throws {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let platform = Platform(
      fileSystem: SimulatedDisk(), clock: clock, random: SimulatedRandomSource(seed: 1))
    store = try DocumentStore.open("/store", options: options, platform: platform)
  }

  private static func queries() throws -> [StructuredQuery] {
    let ordered = try rooms.ordered(by: OrderBy(number, .descending))
    return [
      rooms, ordered, try ordered.limited(to: .first(3)), try ordered.limited(to: .last(2)),
      try rooms.filtered(by: .field(number, .greaterThan, .integer(4))).limited(to: .first(2)),
      try ordered.skipping(2), try ordered.skipping(1).limited(to: .first(3)),
      try ordered.skipping(2).limited(to: .last(2)), StructuredQuery(.collectionGroup("rooms")),
      StructuredQuery(.collectionGroup("others")),
    ]
  }

  /// Commits random changes, and returns the state after each commit with its time.
  private func commit(_ count: Int, _ rng: inout SeededRandom) throws -> [(SnapshotVersion, State)] {
    var states: [(SnapshotVersion, State)] = []
    var state: State = [:]
    for document in try store.documents(Self.rooms) { state[document.path] = document }
    for _ in 0..<count {
      clock.advance(nanoseconds: UInt64(1000 * rng.below(4)))
      var changed: Set<DocumentPath> = []
      let mutations = (0...rng.below(3)).map { _ in
        let path = DocumentPath(unchecked: ["rooms", "\(rng.below(9))"])
        changed.insert(path)
        let fields = StoredMap([("n", .integer(Int64(rng.below(9))))])
        return rng.oneIn(4) ? Mutation.delete(path) : .set(path, fields)
      }
      let time = try store.commit(mutations)
      for path in changed { state[path] = try store.document(at: path) }
      states.append((SnapshotVersion(time), state))
    }
    return states
  }

  @Test(arguments: 1...3) func eachTimeIsReadExactly(seed: UInt64) throws {
    var rng = SeededRandom(seed: seed)
    let backend = try EmbeddedBackend(store)
    _ = try commit(5, &rng)
    try backend.keepRecentSnapshots()
    let states = try commit(60, &rng)
    let queries = try Self.queries()
    let aggregates: [Aggregate] = [.count, .sum(Self.number), .average(Self.number)]
    for (time, state) in states {
      let snapshot = try backend.snapshot(.at(time))
      defer { snapshot.close() }
      #expect(snapshot.version <= time)
      let paths = (0..<9).map { DocumentPath(unchecked: ["rooms", "\($0)"]) }
      #expect(try snapshot.documents(at: paths).map { $0?.document } == paths.map { state[$0] })
      for query in queries {
        let expected = query.answer(from: state.values)
        var found: [StoredDocument] = []
        try snapshot.forEach(query) { record in
          found.append(record.document)
          return true
        }
        #expect(found == expected, "\(query.canonicalID)")
        var aggregation = Aggregation(aggregates)
        for document in expected { aggregation.add(document) }
        #expect(try snapshot.aggregate(aggregates, over: query) == aggregation.results)
      }
    }
  }

  /// A page has one document of the earlier snapshot, so each document is at the edge of a page.
  @Test(arguments: 1...3) func pagesOfAPastTimeAreItsResult(seed: UInt64) throws {
    var rng = SeededRandom(seed: seed)
    let before = try commit(12, &rng).last?.1 ?? [:]
    let snapshot = try store.snapshot()
    for (_, state) in try commit(30, &rng) {
      var changed: [DocumentPath: StoredDocument?] = [:]
      for path in Set(before.keys).union(state.keys) where before[path] != state[path] {
        changed[path] = .some(state[path])
      }
      for query in try Self.queries() {
        let pages = try PastPages(query, in: snapshot, changed: changed, pageBytes: 1)
        var found: [StoredDocument] = []
        while let page = Optional(try pages.next()), !page.isEmpty { found += page.map(\.document) }
        #expect(found == query.answer(from: state.values), "\(query.canonicalID)")
        #expect(try pages.next().isEmpty)
      }
    }
  }

  @Test(arguments: 1...3) func namesAreThoseOfTheirTime(seed: UInt64) throws {
    var rng = SeededRandom(seed: seed)
    let backend = try EmbeddedBackend(store)
    try backend.keepRecentSnapshots()
    var present: Set<[String]> = []
    var states: [(SnapshotVersion, Set<[String]>)] = []
    for _ in 0..<40 {
      var segments = ["rooms", "\(rng.below(4))"]
      if rng.oneIn(2) { segments += [rng.oneIn(2) ? "chats" : "pins", "\(rng.below(3))"] }
      let path = DocumentPath(unchecked: segments)
      if rng.oneIn(2) { present.remove(segments) } else { present.insert(segments) }
      let time = try store.commit([present.contains(segments) ? .set(path, StoredMap()) : .delete(path)])
      states.append((SnapshotVersion(time), present))
    }
    let rooms = CollectionPath(unchecked: ["rooms"])
    for (time, present) in states {
      let snapshot = try backend.snapshot(.at(time))
      let ids = Set(present.map { $0[1] }).sorted()
      #expect(try snapshot.documentIDs(in: rooms, after: nil, max: 9) == ids)
      #expect(
        try snapshot.documentIDs(in: rooms, after: "1", max: 1) == Array(ids.filter { $0 > "1" }.prefix(1)))
      for id in ["0", "1", "2", "3"] {
        let collections = Set(present.filter { $0.count > 2 && $0[1] == id }.map { $0[2] }).sorted()
        let document = DocumentPath(unchecked: ["rooms", id])
        #expect(try snapshot.collections(below: document, after: nil, max: 9) == collections)
      }
    }
  }

  /// The time after a commit belongs to it until the next commit, and no later commit gets it.
  @Test func timesBetweenCommitsAreReadAndStayFree() throws {
    let backend = try EmbeddedBackend(store)
    try backend.keepRecentSnapshots()
    let path = DocumentPath(unchecked: ["rooms", "1"])
    let first = SnapshotVersion(try store.commit([.set(path, StoredMap([("n", .integer(1))]))]))
    clock.advance(nanoseconds: 5_000_000)
    let now = SnapshotVersion(microseconds: clock.wallMicroseconds())
    func number(at version: SnapshotVersion) throws -> StoredValue? {
      try backend.snapshot(.at(version)).documents(at: [path])[0]?.value(at: Self.number)
    }
    #expect(try number(at: now) == .integer(1))
    let second = SnapshotVersion(try store.commit([.set(path, StoredMap([("n", .integer(2))]))]))
    #expect(second > now)
    #expect(try number(at: now) == .integer(1))
    #expect(try backend.snapshot(.at(now)).version == first)
    #expect(try number(at: second) == .integer(2))
    #expect {
      try number(at: SnapshotVersion(microseconds: second.microseconds + 1_000_000))
    } throws: { error in (error as? RemoteError)?.code == .invalidArgument }
  }

  private func code(_ snapshots: RecentSnapshots, _ version: SnapshotVersion) -> RemoteError.Code? {
    do throws(RemoteError) {
      _ = try snapshots.snapshot(at: version)
      return nil
    } catch {
      return error.code
    }
  }

  @Test func snapshotsAreKeptForAMinute() throws {
    _ = try store.feedConsumer("reader")
    let snapshots = RecentSnapshots(store)
    let path = DocumentPath(unchecked: ["rooms", "1"])
    #expect(code(snapshots, .first) == .failedPrecondition, "nothing is kept yet")
    try snapshots.keep()
    var times: [SnapshotVersion] = []
    for _ in 0..<150 {
      times.append(SnapshotVersion(try store.commit([.set(path, StoredMap())])))
      snapshots.addIfDue()
      clock.advance(nanoseconds: 1_000_000_000)
    }
    // The feed is not the limit.
    #expect(try store.feedRange().oldest == .start)
    #expect(times.suffix(60).allSatisfy { code(snapshots, $0) == nil })
    #expect(times.prefix(80).allSatisfy { code(snapshots, $0) == .failedPrecondition })
    #expect(snapshots.keptCount <= 62)
  }

  /// Regression: only commits released snapshots, so a store without further commits kept them for ever.
  @Test func anIdleStoreKeepsOneSnapshotOfItsLastCommit() throws {
    _ = try store.feedConsumer("reader")
    let snapshots = RecentSnapshots(store)
    try snapshots.keep()
    #expect(!snapshots.isTimerSet, "the only snapshot retains nothing")
    let path = DocumentPath(unchecked: ["rooms", "1"])
    for _ in 0..<30 {
      try store.commit([.set(path, StoredMap())])
      snapshots.addIfDue()
      clock.advance(nanoseconds: 1_000_000_000)
    }
    snapshots.addIfDue()
    // The last snapshot lacks this commit.
    let last = SnapshotVersion(try store.commit([.delete(path)]))
    #expect(snapshots.keptCount > 20 && snapshots.isTimerSet)
    clock.advance(nanoseconds: 61_000_000_000)
    snapshots.prune()
    #expect(snapshots.keptCount == 2)
    clock.advance(nanoseconds: 61_000_000_000)
    snapshots.prune()
    #expect(snapshots.keptCount == 1)
    #expect(try snapshots.snapshot(at: last).version == last)
    // A time after the last commit can be read, and stays readable after the next one.
    let now = SnapshotVersion(microseconds: clock.wallMicroseconds())
    try store.snapshot(through: now.stored).close()
    try store.commit([.set(path, StoredMap())])
    #expect(try snapshots.snapshot(at: now).version == last)
  }

  @Test func aReadReleasesSnapshots() throws {
    _ = try store.feedConsumer("reader")
    let snapshots = RecentSnapshots(store)
    try snapshots.keep()
    for _ in 0..<5 {
      clock.advance(nanoseconds: 2_000_000_000)
      try store.commit([.set(DocumentPath(unchecked: ["rooms", "1"]), StoredMap())])
      snapshots.addIfDue()
    }
    clock.advance(nanoseconds: 90_000_000_000)
    #expect(code(snapshots, .first) == .failedPrecondition)
    #expect(snapshots.keptCount == 1)
  }

  /// The feed keeps only the names of such a commit's documents.
  @Test func aTimeBehindACommitThatIsTooLargeForTheFeedIsRefused() throws {
    _ = try store.feedConsumer("reader")
    let snapshots = RecentSnapshots(store)
    try snapshots.keep()
    let much = StoredMap([("t", .bytes([UInt8](repeating: 1, count: 900_000)))])
    let large = SnapshotVersion(
      try store.commit([
        .set(DocumentPath(unchecked: ["rooms", "1"]), much),
        .set(DocumentPath(unchecked: ["rooms", "2"]), much),
      ]))
    let next = SnapshotVersion(try store.commit([.delete(DocumentPath(unchecked: ["rooms", "1"]))]))
    #expect(code(snapshots, SnapshotVersion(microseconds: large.microseconds)) == .failedPrecondition)
    #expect(code(snapshots, next) == .failedPrecondition)
    clock.advance(nanoseconds: 2_000_000_000)
    snapshots.addIfDue()
    #expect(code(snapshots, next) == nil)
  }
}
