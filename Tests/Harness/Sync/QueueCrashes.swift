// A client's write queue on a simulated disk, with a crash before any call (docs/reliability.md, P14).
//
// In a history, writes are queued, accepted, rejected and cancelled, and some depend on others. Users change,
// the remote sends documents, and the store is flushed. In every other history, most steps exceed one commit.
// Each tested state is the disk after a crash before a randomly chosen call. The store is then opened, and
// every fourth open is itself interrupted by a crash. In each state:
//   - A write that returned and was not answered yet is in its user's queue, after the writes that it depends
//     on. It has its original form, or preconditions that were updated by an answer to an earlier write.
//   - A write whose end is durable is in no queue. A rejected or cancelled write never reappears. An accepted
//     write reappears only after a power loss, and then the remote knows its number.
//   - Documents are shown as the queue of the user implies, first for the current user and then for each of
//     the others. A new batch gets an unused number.

import ByteStore
import DocumentStore
import OfflineSync

package enum QueueCrashes {
  package enum Kind: String, CaseIterable, Sendable {
    case writes, followers, accepted, rejected, cancelled, userChanges, deliveries, tokens, compactions,
      kills,
      powerLosses, secondCrashes, stepsInParts
  }

  package struct Summary: Sendable {
    package var states = 0
    package var histories = 0
    package var failed = 0
    package var counts: [Kind: Int] = [:]
    package var firstFailure: String?

    package var neverReached: [Kind] { Kind.allCases.filter { counts[$0, default: 0] == 0 } }
  }

  /// Runs histories until about this many states were tested.
  package static func run(states: Int, seed: UInt64) -> Summary {
    var summary = Summary()
    while summary.states < states {
      let seed = SeededRandom.seed(seed, UInt64(summary.histories))
      do {
        var history = try QueueHistory(seed: seed)
        try history.run()
        try history.crash(statesMax: states - summary.states)
        summary.states += history.states
        summary.counts.merge(history.counts, uniquingKeysWith: +)
        summary.failed += history.failures.count
        summary.firstFailure = summary.firstFailure ?? history.failures.first.map { "seed \(seed): \($0)" }
      } catch {
        summary.states += 1
        summary.failed += 1
        summary.firstFailure = summary.firstFailure ?? "seed \(seed): \(error)"
      }
      summary.histories += 1
    }
    return summary
  }
}

private struct QueueHistory {
  /// The expected state of the queues after this many disk calls.
  private struct ExpectedState {
    var calls: Int
    /// Batches that must be in a queue after any kind of crash.
    var waiting: Set<BatchID>
    /// Accepted batches. Only a power loss may make them reappear in a queue.
    var accepted: Set<BatchID>
    /// Batches that must not be in any queue.
    var ended: Set<BatchID>
    var last: BatchID?
  }

  private struct IssuedBatch {
    var user: String?
    /// The allowed forms of the batch. There may be several, because answers to earlier batches change its
    /// preconditions.
    var forms: [PendingBatch]
  }

  private let seed: UInt64
  private var rng: SeededRandom
  private let disk: SimulatedDisk
  private let sizes: CommitSizes
  private var local: LocalStore
  private var issued: [BatchID: IssuedBatch] = [:]
  private var expected: ExpectedState
  private var expectedStates: [ExpectedState] = []
  private var time: Int64 = 1_000_000
  private(set) var states = 0
  private(set) var failures: [String] = []
  private(set) var counts: [QueueCrashes.Kind: Int] = [:]

  init(seed: UInt64) throws {
    self.seed = seed
    rng = SeededRandom(seed: seed)
    var options = SimulatedDisk.Options()
    options.recordsHistory = true
    disk = SimulatedDisk(DiskImage(), options: options)
    sizes = seed % 2 == 0 ? CommitSizes(singleCommitBytesMax: 500, part: 150) : CommitSizes()
    local = try Self.open(disk, sizes)
    expected = ExpectedState(calls: 0, waiting: [], accepted: [], ended: [])
    note()
  }

  /// Opens the store for the user who was active last.
  private static func open(_ disk: SimulatedDisk, _ sizes: CommitSizes) throws -> LocalStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    let user = try LocalStore.user(of: store) ?? nil
    return try LocalStore(store, user: user, collector: .lru, client: "client", run: RunID(7), sizes: sizes)
  }

  private mutating func count(_ kind: QueueCrashes.Kind) { counts[kind, default: 0] += 1 }

  /// Records that the expected state applies from the current disk call on.
  private mutating func note() {
    expected.calls = disk.history.count
    expectedStates.append(expected)
    for batch in local.queue.all where issued[batch.id]?.forms.last != batch {
      issued[batch.id]?.forms.append(batch)
    }
  }

  // MARK: What happens

  mutating func run() throws {
    if sizes.singleCommitBytesMax < CommitSizes().singleCommitBytesMax { count(.stepsInParts) }
    for _ in 0..<6 + rng.below(12) {
      time += 1000
      switch rng.below(12) {
      case 0..<5: try write()
      case 5, 6: try accept()
      case 7: try end(.rejected)
      case 8: try end(.cancelled)
      case 9: try applyRemoteEvent()
      case 10:
        count(.userChanges)
        _ = try local.changeUser([nil, "ann", "bo:b/"][rng.below(3)])
      default:
        if rng.oneIn(3) {
          count(.compactions)
          try local.store.compact()
        } else {
          count(.tokens)
          try local.setStreamToken(rng.bytes(4))
          try local.flush()
        }
      }
      note()
    }
    try local.store.close()
  }

  private static func path(_ number: Int) -> DocumentPath { DocumentPath(unchecked: ["rooms", "\(number)"]) }

  private mutating func write() throws {
    count(.writes)
    guard let writeTime = StoredTimestamp(microseconds: time) else { return }
    let n = StoredFieldPath(unchecked: ["n"])
    var mutations = (0..<1 + rng.below(3)).map { _ -> PendingMutation in
      let path = Self.path(rng.below(4))
      return switch rng.below(5) {
      case 0: PendingMutation(.delete(path))
      case 1: PendingMutation(.set(path, StoredMap([("n", .integer(Int64(rng.below(100))))])))
      case 2: patch(path, .exists(true))
      default:
        PendingMutation(
          .patch(
            path, StoredMap(), mask: FieldMask([]), transforms: [FieldTransform(n, .increment(.integer(1)))]))
      }
    }
    if rng.oneIn(2), let follower = try follower() {
      count(.followers)
      mutations = [follower]
    }
    let batch = try local.write(mutations, at: writeTime).batch
    issued[batch.id] = IssuedBatch(user: local.user, forms: [batch])
    expected.waiting.insert(batch.id)
    expected.last = batch.id
  }

  private mutating func patch(
    _ path: DocumentPath, _ precondition: PendingPrecondition
  ) -> PendingMutation {
    PendingMutation(
      .patch(
        path, StoredMap([("s", .string("\(rng.below(100))"))]),
        mask: FieldMask([StoredFieldPath(unchecked: ["s"])])), requiring: precondition)
  }

  /// Returns a write that depends on the pending writes of a document; nil if the chosen document has none.
  private mutating func follower() throws -> PendingMutation? {
    let path = Self.path(rng.below(4))
    let document = try local.document(path)
    guard document.pending == .local, document.isFound else { return nil }
    return patch(path, .afterPendingWrites)
  }

  /// Records that the removal of a batch begins. From then on, the batch may be present or not.
  private mutating func begin(_ id: BatchID) {
    expected.waiting.remove(id)
    note()
  }

  private mutating func accept() throws {
    guard let first = local.queue.first else { return }
    // The remote rejects a write with an impossible precondition.
    if first.mutations.contains(where: { $0.precondition == .impossible }) { return try end(.rejected) }
    count(.accepted)
    begin(first.id)
    let version = SnapshotVersion(microseconds: time)
    let results = try first.mutations.map { mutation in
      let known = try local.remoteDocument(mutation.path)
      var result = WriteResult(
        version: version, transformResults: mutation.transforms.map { _ in .integer(Int64(rng.below(100))) })
      switch rng.below(4) {
      case 0: break
      case 1: result.versionBefore = version
      default: result.versionBefore = known.isFound ? known.version : SnapshotVersion.none
      }
      return result
    }
    _ = try local.acknowledge(first.id, version, results: results, token: rng.bytes(3))
    expected.accepted.insert(first.id)
  }

  private mutating func end(_ kind: QueueCrashes.Kind) throws {
    guard let id = kind == .rejected ? local.queue.first?.id : local.queue.ids.randomElement(using: &rng)
    else { return }
    count(kind)
    begin(id)
    _ = try local.reject(id)
    expected.ended.insert(id)
  }

  private mutating func applyRemoteEvent() throws {
    count(.deliveries)
    var event = RemoteEvent(version: SnapshotVersion(microseconds: time))
    let path = Self.path(rng.below(4))
    let content: SyncedDocument.Content =
      rng.oneIn(4) ? .absent : .found(StoredMap([("n", .integer(Int64(rng.below(100))))]))
    event.documents[path] = SyncedDocument(
      path, content, version: event.version, createTime: SnapshotVersion(microseconds: 1))
    _ = try local.apply(event)
  }

  // MARK: What a crash leaves

  private static let callsPerHistory = 12

  mutating func crash(statesMax: Int) throws {
    let history = disk.history
    for index in history.indices.shuffled(using: &rng).prefix(Self.callsPerHistory) {
      let entry = history[index]
      guard let expected = expectedStates.last(where: { $0.calls <= index }) else { continue }
      let seed = SeededRandom.seed(seed, UInt64(index))
      for crash in [Crash.kill, .powerLoss(.nothing, seed: seed), .powerLoss(.random, seed: seed)] {
        guard states < statesMax else { return }
        states += 1
        count(crash == .kill ? .kills : .powerLosses)
        var image = entry.image.after(crash)
        var isPowerLost = crash != .kill
        if rng.oneIn(4), let again = try crashDuringOpen(image) {
          image = again.image
          isPowerLost = isPowerLost || again.crash != .kill
        }
        do {
          guard let failure = try failure(image, expected, isPowerLost) else { continue }
          failures.append("call \(index), \(crash): \(failure)")
        } catch {
          failures.append("call \(index), \(crash): \(error)")
        }
      }
    }
  }

  private mutating func crashDuringOpen(_ image: DiskImage) throws -> (image: DiskImage, crash: Crash)? {
    var options = SimulatedDisk.Options()
    options.recordsHistory = true
    let disk = SimulatedDisk(image, options: options)
    _ = try Self.open(disk, sizes)
    guard let entry = disk.history.randomElement(using: &rng) else { return nil }
    count(.secondCrashes)
    let crash = rng.oneIn(2) ? Crash.kill : .powerLoss(.random, seed: rng.next())
    return (entry.image.after(crash), crash)
  }

  private func difference(_ local: LocalStore) throws -> String? {
    for path in (0..<4).map(Self.path) {
      let composed = try local.composedDocument(path)
      if try local.store.document(at: path) != composed.stored {
        return "\(path) is not what the queue makes"
      }
      if try local.document(path) != composed { return "\(path) is not read as the queue makes it" }
    }
    return nil
  }

  /// Opens the store on a disk image. Returns a description of the first violation, or nil.
  private func failure(_ image: DiskImage, _ expected: ExpectedState, _ isPowerLost: Bool) throws -> String? {
    let local = try Self.open(SimulatedDisk(image), sizes)
    defer { try? local.store.close() }
    var found = Set<BatchID>()
    // The documents are compared before anything changes the store.
    if let broken = try difference(local) { return broken }
    for user in [nil, "ann", "bo:b/"] {
      _ = try local.changeUser(user)
      if let broken = local.queue.brokenInvariant() { return broken }
      for batch in local.queue.all {
        found.insert(batch.id)
        guard let issued = issued[batch.id] else { return "no client created batch \(batch.id)" }
        if issued.user != user { return "batch \(batch.id) is in the queue of \(user ?? "nobody")" }
        if !issued.forms.contains(batch) { return "batch \(batch.id) is another one" }
      }
      if let broken = try difference(local) { return broken }
    }
    let lost = expected.waiting.subtracting(found)
    if !lost.isEmpty { return "lost: \(lost.sorted())" }
    let risen = expected.ended.union(isPowerLost ? [] : expected.accepted).intersection(found)
    if !risen.isEmpty { return "come back: \(risen.sorted())" }
    guard let writeTime = StoredTimestamp(microseconds: time + 1) else { return nil }
    let next = try local.write([.set(Self.path(0), StoredMap())], at: writeTime).batch.id
    if let last = expected.last, next <= last { return "the number \(next) is used twice" }
    return found.allSatisfy { $0 < next } ? nil : "the number \(next) is used twice"
  }
}
