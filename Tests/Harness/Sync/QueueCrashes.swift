// A client's queue on a simulated disk, cut off before any call (docs/reliability.md, P14).
//
// One history: writes are taken, some for what others before them make, and accepted, rejected and cancelled, users
// change, the remote tells of documents, segments are made. In every other one most of these steps are too much for one
// commit. Each state is the disk as a crash before one of the calls
// leaves it, opened again, for as many of the calls as dice choose; every fourth opening is cut off as well, and what that
// leaves is opened. Then
//   - each write that had returned and was not answered is in its user's queue, as it was made, or as an answer has
//     left its conditions; and before one that follows others, there is one
//   - no write whose end was told for good is there: a rejected or a cancelled one never, an accepted one unless the
//     power was lost, and then the remote knows its number
//   - documents stand as the queue makes them for the user who was there, and then for each of the others; a new batch
//     gets a number that none had

import ByteStore
import DocumentStore
import OfflineSync

package enum QueueCrashes {
  package enum Kind: String, CaseIterable, Sendable {
    case writes, followers, accepted, rejected, cancelled, userChanges, tellings, tokens, compactions, kills,
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

  /// About so many states.
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
  /// What holds once the disk has seen so many calls.
  private struct Mark {
    var calls: Int
    /// In the queue, whatever crashes.
    var waiting: Set<BatchID>
    /// Accepted, so that a power loss may bring them back, and nothing else.
    var accepted: Set<BatchID>
    /// Never again.
    var ended: Set<BatchID>
    var last: BatchID?
  }

  private struct Made {
    var user: String?
    /// Answers to those before it change what it is for.
    var forms: [PendingBatch]
  }

  private let seed: UInt64
  private var dice: SeededRandom
  private let disk: SimulatedDisk
  private let sizes: CommitSizes
  private var local: LocalStore
  private var made: [BatchID: Made] = [:]
  private var mark: Mark
  private var marks: [Mark] = []
  private var time: Int64 = 1_000_000
  private(set) var states = 0
  private(set) var failures: [String] = []
  private(set) var counts: [QueueCrashes.Kind: Int] = [:]

  init(seed: UInt64) throws {
    self.seed = seed
    dice = SeededRandom(seed: seed)
    var options = SimulatedDisk.Options()
    options.recordsHistory = true
    disk = SimulatedDisk(DiskImage(), options: options)
    sizes = seed % 2 == 0 ? CommitSizes(wholeMax: 500, part: 150) : CommitSizes()
    local = try Self.open(disk, sizes)
    mark = Mark(calls: 0, waiting: [], accepted: [], ended: [])
    note()
  }

  /// As whoever was there last.
  private static func open(_ disk: SimulatedDisk, _ sizes: CommitSizes) throws -> LocalStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let store = try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
    let user = try LocalStore.user(of: store) ?? nil
    return try LocalStore(store, user: user, collector: .lru, client: "client", run: RunID(7), sizes: sizes)
  }

  private mutating func count(_ kind: QueueCrashes.Kind) { counts[kind, default: 0] += 1 }

  /// What holds from here on.
  private mutating func note() {
    mark.calls = disk.history.count
    marks.append(mark)
    for batch in local.queue.all where made[batch.id]?.forms.last != batch {
      made[batch.id]?.forms.append(batch)
    }
  }

  // MARK: What happens

  mutating func run() throws {
    if sizes.wholeMax < CommitSizes().wholeMax { count(.stepsInParts) }
    for _ in 0..<6 + dice.below(12) {
      time += 1000
      switch dice.below(12) {
      case 0..<5: try write()
      case 5, 6: try accept()
      case 7: try end(.rejected)
      case 8: try end(.cancelled)
      case 9: try tell()
      case 10:
        count(.userChanges)
        _ = try local.changeUser([nil, "ann", "bo:b/"][dice.below(3)])
      default:
        if dice.oneIn(3) {
          count(.compactions)
          try local.store.compact()
        } else {
          count(.tokens)
          try local.setStreamToken(dice.bytes(4))
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
    guard let moment = StoredTimestamp(microseconds: time) else { return }
    let n = StoredFieldPath(unchecked: ["n"])
    var mutations = (0..<1 + dice.below(3)).map { _ -> Mutation in
      let path = Self.path(dice.below(4))
      return switch dice.below(5) {
      case 0: .delete(path)
      case 1: .set(path, StoredMap([("n", .integer(Int64(dice.below(100))))]))
      case 2: patch(path, .exists(true))
      default:
        .patch(
          path, StoredMap(), mask: FieldMask([]), transforms: [FieldTransform(n, .increment(.integer(1)))])
      }
    }
    if dice.oneIn(2), let follower = try follower() {
      count(.followers)
      mutations = [follower]
    }
    let batch = try local.write(mutations, at: moment).batch
    made[batch.id] = Made(user: local.user, forms: [batch])
    mark.waiting.insert(batch.id)
    mark.last = batch.id
  }

  private mutating func patch(_ path: DocumentPath, _ precondition: Precondition) -> Mutation {
    .patch(
      path, StoredMap([("s", .string("\(dice.below(100))"))]),
      mask: FieldMask([StoredFieldPath(unchecked: ["s"])]), precondition: precondition)
  }

  /// One for what the writes of a document make that wait.
  private mutating func follower() throws -> Mutation? {
    let path = Self.path(dice.below(4))
    let document = try local.document(path)
    guard document.pending == .local, document.isFound else { return nil }
    return patch(path, .asMadeBefore)
  }

  /// From the moment when its end begins, a batch may be there or not.
  private mutating func begin(_ id: BatchID) {
    mark.waiting.remove(id)
    note()
  }

  private mutating func accept() throws {
    guard let first = local.queue.first else { return }
    // No remote takes it.
    if first.mutations.contains(where: { $0.precondition == .impossible }) { return try end(.rejected) }
    count(.accepted)
    begin(first.id)
    let version = SnapshotVersion(microseconds: time)
    let results = try first.mutations.map { mutation in
      let known = try local.remoteDocument(mutation.path)
      var result = WriteResult(
        version: version, transformResults: mutation.transforms.map { _ in .integer(Int64(dice.below(100))) })
      switch dice.below(4) {
      case 0: break
      case 1: result.versionBefore = version
      default: result.versionBefore = known.isFound ? known.version : SnapshotVersion.none
      }
      return result
    }
    _ = try local.acknowledge(first.id, version, results, token: dice.bytes(3))
    mark.accepted.insert(first.id)
  }

  private mutating func end(_ kind: QueueCrashes.Kind) throws {
    guard let id = kind == .rejected ? local.queue.first?.id : local.queue.ids.randomElement(using: &dice)
    else { return }
    count(kind)
    begin(id)
    _ = try local.reject(id)
    mark.ended.insert(id)
  }

  private mutating func tell() throws {
    count(.tellings)
    var event = RemoteEvent(version: SnapshotVersion(microseconds: time))
    let path = Self.path(dice.below(4))
    let content: SyncedDocument.Content =
      dice.oneIn(4) ? .absent : .found(StoredMap([("n", .integer(Int64(dice.below(100))))]))
    event.documents[path] = SyncedDocument(
      path, content, version: event.version, createTime: SnapshotVersion(microseconds: 1))
    _ = try local.apply(event)
  }

  // MARK: What a crash leaves

  private static let callsPerHistory = 12

  mutating func crash(statesMax: Int) throws {
    let history = disk.history
    for index in history.indices.shuffled(using: &dice).prefix(Self.callsPerHistory) {
      let moment = history[index]
      guard let mark = marks.last(where: { $0.calls <= index }) else { continue }
      let seed = SeededRandom.seed(seed, UInt64(index))
      for crash in [Crash.kill, .powerLoss(.nothing, seed: seed), .powerLoss(.random, seed: seed)] {
        guard states < statesMax else { return }
        states += 1
        count(crash == .kill ? .kills : .powerLosses)
        var image = moment.image.after(crash)
        var isPowerLost = crash != .kill
        if dice.oneIn(4), let again = try crashOfOpening(image) {
          image = again.image
          isPowerLost = isPowerLost || again.crash != .kill
        }
        do {
          guard let failure = try failure(image, mark, isPowerLost) else { continue }
          failures.append("call \(index), \(crash): \(failure)")
        } catch {
          failures.append("call \(index), \(crash): \(error)")
        }
      }
    }
  }

  private mutating func crashOfOpening(_ image: DiskImage) throws -> (image: DiskImage, crash: Crash)? {
    var options = SimulatedDisk.Options()
    options.recordsHistory = true
    let disk = SimulatedDisk(image, options: options)
    _ = try Self.open(disk, sizes)
    guard let moment = disk.history.randomElement(using: &dice) else { return nil }
    count(.secondCrashes)
    let crash = dice.oneIn(2) ? Crash.kill : .powerLoss(.random, seed: dice.next())
    return (moment.image.after(crash), crash)
  }

  private func unlike(_ local: LocalStore) throws -> String? {
    for path in (0..<4).map(Self.path) {
      let composed = try local.composedDocument(path)
      if try local.store.document(at: path) != composed.stored {
        return "\(path) is not what the queue makes"
      }
      if try local.document(path) != composed { return "\(path) is not read as the queue makes it" }
    }
    return nil
  }

  /// What is wrong with what stands on a disk.
  private func failure(_ image: DiskImage, _ mark: Mark, _ isPowerLost: Bool) throws -> String? {
    let local = try Self.open(SimulatedDisk(image), sizes)
    defer { try? local.store.close() }
    var found = Set<BatchID>()
    // As the crash has left them.
    if let broken = try unlike(local) { return broken }
    for user in [nil, "ann", "bo:b/"] {
      _ = try local.changeUser(user)
      if let broken = local.queue.brokenInvariant() { return broken }
      for batch in local.queue.all {
        found.insert(batch.id)
        guard let made = made[batch.id] else { return "nobody has made batch \(batch.id)" }
        if made.user != user { return "batch \(batch.id) is in the queue of \(user ?? "nobody")" }
        if !made.forms.contains(batch) { return "batch \(batch.id) is another one" }
      }
      if let broken = try unlike(local) { return broken }
    }
    let lost = mark.waiting.subtracting(found)
    if !lost.isEmpty { return "lost: \(lost.sorted())" }
    let risen = mark.ended.union(isPowerLost ? [] : mark.accepted).intersection(found)
    if !risen.isEmpty { return "come back: \(risen.sorted())" }
    guard let moment = StoredTimestamp(microseconds: time + 1) else { return nil }
    let next = try local.write([.set(Self.path(0), StoredMap())], at: moment).batch.id
    if let last = mark.last, next <= last { return "the number \(next) is used twice" }
    return found.allSatisfy { $0 < next } ? nil : "the number \(next) is used twice"
  }
}
