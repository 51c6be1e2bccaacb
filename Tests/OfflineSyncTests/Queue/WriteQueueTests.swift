// Applying pending writes to documents, and the cost of the remote's answers.

import DocumentStore
import Harness
import Testing

@testable import OfflineSync

@Suite struct WriteQueueTests {
  private let path = DocumentPath(unchecked: ["rooms", "a"])
  private let other = DocumentPath(unchecked: ["rooms", "b"])
  private let time = StoredTimestamp(seconds: 1000, nanoseconds: 0)!

  private func field(_ name: String) -> StoredFieldPath { StoredFieldPath(unchecked: [name]) }

  private func batch(
    _ id: Int64, _ base: [PendingMutation], _ mutations: [PendingMutation]
  ) -> PendingBatch {
    PendingBatch(id: BatchID(id), run: RunID(7), time: time, base: base, mutations: mutations)
  }

  private func mutation(_ rng: inout SeededRandom) -> PendingMutation {
    PendingMutation(write(&rng))
  }

  private func write(_ rng: inout SeededRandom) -> Mutation {
    let number = StoredValue.integer(Int64(rng.below(4)))
    let name = ["n", "m"][rng.below(2)]
    switch rng.below(12) {
    case 0: return .set(path, StoredMap([(name, number)]))
    case 1: return .delete(path)
    case 2: return .patch(path, StoredMap([(name, number)]), mask: FieldMask([field(name)]))
    case 3:
      return .patch(
        path, StoredMap([(name, number)]), mask: FieldMask([field(name)]), precondition: .exists(true))
    case 4:
      return .patch(
        path, StoredMap(), mask: FieldMask([]), transforms: [FieldTransform(field("at"), .serverTimestamp)])
    case 5:
      return .patch(
        path, StoredMap(), mask: FieldMask([]),
        transforms: [FieldTransform(field("words"), .arrayUnion([number]))])
    case 6: return .set(other, StoredMap())
    case 7, 8: return arrayChange(&rng)
    default: return increment(path, name)
    }
  }

  /// Changes an array, the map in its place, or the array within this map, and perhaps another field.
  private func arrayChange(_ rng: inout SeededRandom) -> Mutation {
    let elements = (0..<1 + rng.below(2)).map { _ in
      rng.oneIn(3) ? StoredValue.double(Double(rng.below(4))) : .integer(Int64(rng.below(4)))
    }
    let fields = [field("words"), StoredFieldPath(unchecked: ["words", "inner"]), field("n")]
    let array = FieldTransform(
      fields[rng.below(3)], rng.oneIn(2) ? .arrayUnion(elements) : .arrayRemove(elements))
    let isBesideATimestamp = rng.oneIn(3)
    let transforms = isBesideATimestamp ? [array, FieldTransform(field("at"), .serverTimestamp)] : [array]
    switch rng.below(5) {
    case 0: return .set(path, StoredMap([("m", .integer(7))]), transforms: transforms)
    case 1:
      return .patch(
        path, StoredMap([("words", .map(StoredMap([("other", .integer(Int64(rng.below(4))))])))]),
        mask: FieldMask([StoredFieldPath(unchecked: ["words", "other"])]), transforms: transforms)
    case 2:
      return .patch(
        path, StoredMap([("words", .array(elements))]), mask: FieldMask([field("words")]),
        transforms: [FieldTransform(field("m"), .arrayUnion(elements))])
    default: return .patch(path, StoredMap(), mask: FieldMask([]), transforms: transforms)
    }
  }

  private func remote(_ rng: inout SeededRandom, _ version: Int64) -> SyncedDocument {
    let fields = StoredMap([("n", .integer(Int64(rng.below(4)))), ("at", .string("\(rng.below(3))"))])
    let content: SyncedDocument.Content =
      switch rng.below(5) {
      case 0: .absent
      case 1: .unknown
      default: .found(fields)
      }
    return SyncedDocument(
      path, content, version: SnapshotVersion(microseconds: version),
      createTime: SnapshotVersion(microseconds: Int64(1 + rng.below(2))))
  }

  @Test func incrementalRemovalEqualsApplyingAllPendingWrites() throws {
    var wrong: [String] = []
    for seed in UInt64(0)..<600 {
      /// Compares the parts that listeners and the store see.
      func check(_ short: SyncedDocument, _ long: SyncedDocument) {
        if short.stored != long.stored { wrong.append("seed \(seed): \(short), not \(long)") }
      }
      var rng = SeededRandom(seed: seed)
      var queue = WriteQueue()
      var known = remote(&rng, 1)
      for number in Int64(1)..<30 {
        let seen = queue.local(known)
        switch rng.below(3) {
        case 0 where !queue.isEmpty:
          let gone = try #require(queue.all.randomElement(using: &rng))
          let isAccepted = gone.id == queue.first?.id && rng.oneIn(2)
          let old = known
          if isAccepted {
            known = gone.acknowledged(on: known, SnapshotVersion(microseconds: 100 + number), results: [])
          }
          let isAboutIt = gone.paths.contains(path)
          queue.remove(gone.id)
          if isAboutIt {
            check(queue.local(known, insteadOf: old, without: gone, seen: seen), queue.local(known))
          }
        case 1:
          let old = known
          known = remote(&rng, 100 + number)
          check(queue.local(known, insteadOf: old, seen: seen), queue.local(known))
        default:
          let mutations = (0..<1 + rng.below(3)).map { _ in mutation(&rng) }
          let base = try PendingBatch.base(of: mutations) { wanted throws(DocumentStoreError) in
            wanted == path ? seen : SyncedDocument(wanted)
          }
          let batch = batch(number, base, mutations)
          queue.append(batch)
          if batch.paths.contains(path) { check(batch.applied(to: seen), queue.local(known)) }
        }
        if let broken = queue.brokenInvariant() { wrong.append("seed \(seed): \(broken)") }
      }
    }
    #expect(wrong == [])
  }

  /// A batch increments different fields of one document. After the remote's result, each increment
  /// counts once.
  @Test func everyIncrementOfABatchKeepsItsBase() throws {
    let before = SyncedDocument(
      path, .found(StoredMap([("n", .integer(5)), ("m", .integer(7))])),
      version: SnapshotVersion(microseconds: 1))
    let mutations = ["n", "m", "n"].map { PendingMutation(increment(path, $0)) }
    let base = try PendingBatch.base(of: mutations) { _ throws(DocumentStoreError) in before }
    let batch = batch(1, base, mutations)
    let after = SyncedDocument(
      path, .found(StoredMap([("n", .integer(7)), ("m", .integer(8))])),
      version: SnapshotVersion(microseconds: 2))
    let expected: StoredMap? = StoredMap([("n", .integer(7)), ("m", .integer(8))])
    #expect([before, after].map { batch.applied(to: $0).fields } == [expected, expected])
  }

  @Test func aBatchFindsTheMutationsOfEachDocument() {
    let mutations = (0..<3000).map {
      PendingMutation(increment(DocumentPath(unchecked: ["rooms", "\($0 % 1000)"])))
    }
    let batch = batch(1, [], mutations)
    #expect(batch.paths.count == 1000)
    #expect(batch.mutations(of: DocumentPath(unchecked: ["rooms", "7"])).map(\.place) == [7, 1007, 2007])
    #expect(batch.mutations(of: path).isEmpty)
  }

  private func alternating(_ number: Int) -> PendingMutation {
    PendingMutation(
      number % 2 == 0
        ? increment(path)
        : .patch(path, StoredMap([("m", .integer(Int64(number)))]), mask: FieldMask([field("m")])))
  }

  /// Scanning the whole chain for each answer would take hours here.
  @Test(.timeLimit(.minutes(2))) func manyWritesOfOneDocumentAreAnsweredInLinearTime() throws {
    let count = 10_000
    var queue = WriteQueue()
    var seen = SyncedDocument(path, .absent, version: SnapshotVersion(microseconds: 1))
    for number in 0..<count {
      let before = seen
      let base = try PendingBatch.base(of: [alternating(number)]) { _ throws(DocumentStoreError) in before }
      queue.append(batch(Int64(number + 1), base, [alternating(number)]))
      seen = try #require(queue.last).applied(to: seen)
    }
    var remote = SyncedDocument(path, .absent, version: SnapshotVersion(microseconds: 1))
    var wrong: [Int] = []
    for number in 1...count {
      let (first, old) = (try #require(queue.first), remote)
      remote = first.acknowledged(on: old, SnapshotVersion(microseconds: Int64(number + 1)), results: [])
      queue.remove(first.id)
      seen = queue.local(remote, insteadOf: old, without: first, seen: seen)
      if number % 2500 == 0, seen.stored != queue.local(remote).stored { wrong.append(number) }
    }
    #expect(wrong == [])
    #expect(seen.fields?["n"] == .integer(Int64(count / 2)))
    #expect(seen.pending == .committed)
  }

  /// Another client changes the array that all pending writes append to. Comparing each appended element with
  /// all others, for each of these changes, would take several minutes here.
  @Test(.timeLimit(.minutes(1))) func manyUnionsBesideAnotherClientAreAppliedInLinearTime() throws {
    let count = 5_000
    let words = field("words")
    var queue = WriteQueue()
    for number in 1...count {
      let union = FieldTransform(words, .arrayUnion([.string("mine \(number)")]))
      let mutation = Mutation.patch(path, StoredMap(), mask: FieldMask([]), transforms: [union])
      queue.append(batch(Int64(number), [], [PendingMutation(mutation)]))
    }
    let mine = (1...count).map { StoredValue.string("mine \($0)") }
    var theirs: [StoredValue] = []
    var remote = SyncedDocument(path, .absent, version: SnapshotVersion(microseconds: 1))
    var seen = queue.local(remote)
    for number in 1...40 {
      let old = remote
      theirs.append(.string("theirs \(number)"))
      remote.content = .found(StoredMap([("words", .array(theirs))]))
      remote.version = SnapshotVersion(microseconds: Int64(number + 1))
      seen = queue.local(remote, insteadOf: old, seen: seen)
      #expect(seen.fields?["words"] == .array(theirs + mine))
    }
  }

  /// The last batch depends on all earlier batches. Only the last answer changes the batch's precondition
  /// visibly, and each answer finds the batch without a scan.
  @Test(.timeLimit(.minutes(2))) func manyPatchesBeforeAFollowerAreAnsweredInLinearTime() throws {
    let count = 10_000
    var queue = WriteQueue()
    var remote = SyncedDocument(path, .found(StoredMap()), version: SnapshotVersion(microseconds: 1))
    for number in 1...count {
      let patch = Mutation.patch(
        path, StoredMap([("m", .integer(Int64(number)))]), mask: FieldMask([field("m")]))
      queue.append(batch(Int64(number), [], [PendingMutation(patch)]))
    }
    let follower = PendingMutation(
      .patch(path, StoredMap([("n", .integer(1))]), mask: FieldMask([field("n")])),
      requiring: .afterPendingWrites)
    queue.append(batch(Int64(count + 1), [.ground(of: path, remote.requirement)], [follower]))
    var seen = queue.local(remote)
    var visible = 0
    var wrong: [Int] = []
    for number in 1...count {
      let (first, old) = (try #require(queue.first), remote)
      let version = SnapshotVersion(microseconds: Int64(number + 1))
      let results = [WriteResult(version: version, versionBefore: old.version)]
      remote = first.acknowledged(on: old, version, results: results)
      let followerUpdates = queue.updateFollowers(
        of: first, path, answer: Acceptance(version: version, results: results))
      visible += followerUpdates.before.count
      queue.remove(first.id)
      seen = queue.local(remote, insteadOf: old, without: first, changed: followerUpdates.before, seen: seen)
      if number % 2500 == 0, seen.stored != queue.local(remote).stored { wrong.append(number) }
    }
    #expect(wrong == [])
    #expect(visible == 1, "only the last answer changes the visible state")
    #expect(queue.last?.mutations.map(\.precondition) == [.updateTime(remote.version.timestamp)])
    #expect(queue.brokenInvariant() == nil && seen.fields?["n"] == .integer(1))
  }

  /// Scanning all mutations for each mutation would take many minutes here.
  @Test(.timeLimit(.minutes(2))) func aBatchOfFiftyThousandDocumentsIsQueuedAndAnswered() {
    let mutations = (0..<50_000).map {
      PendingMutation(increment(DocumentPath(unchecked: ["rooms", "\($0)"])))
    }
    var queue = WriteQueue()
    let follower = PendingMutation(
      .set(mutations[7].path, StoredMap()), requiring: .afterPendingWrites)
    for (number, mutations) in [mutations, [follower], mutations].enumerated() {
      queue.append(batch(Int64(number + 1), [], mutations))
    }
    #expect(queue.paths.filter { queue.hasFollowers(of: $0) } == [follower.path])
    queue.remove(BatchID(1))
    #expect(queue.count == 2)
  }

  /// An earlier release did not record the base of a batch. A batch without a base follows the accepted
  /// write.
  @Test func batchesOfEarlierReleasesFollowTheAcceptedWrite() {
    var queue = WriteQueue()
    let blind = PendingMutation(
      .patch(path, StoredMap(), mask: FieldMask([field("m")]), precondition: .exists(true)))
    queue.append(batch(1, [], [blind]))
    queue.append(batch(2, [], [PendingMutation(.delete(path), requiring: .afterPendingWrites)]))
    let (before, version) = (SnapshotVersion(microseconds: 6), SnapshotVersion(microseconds: 7))
    let answer = Acceptance(version: version, results: [WriteResult(version: version, versionBefore: before)])
    let first = batch(1, [], [blind])
    #expect(queue.updateFollowers(of: first, path, answer: answer).changed.count == 1)
    #expect(queue.last?.mutations.map(\.precondition) == [.updateTime(version.timestamp)])
  }

  @Test func theStoredDocumentEqualsTheQueuesView() throws {
    let store = try LocalStore(try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "c")
    for number in 0..<60 { _ = try store.write([alternating(number)], at: time) }
    var wrong: [Int] = []
    for number in 1...60 {
      let first = try #require(store.queue.first)
      let version = SnapshotVersion(microseconds: Int64(number))
      let numbers: [StoredValue] = number % 2 == 1 ? [.integer(Int64(number / 2 + 1))] : []
      let result = WriteResult(version: version, transformResults: numbers)
      _ = try store.acknowledge(first.id, version, results: [result], token: [])
      if try store.store.document(at: path) != store.composedDocument(path).stored { wrong.append(number) }
    }
    #expect(wrong == [])
    #expect(try store.document(path).fields?["n"] == .integer(30))
  }

  @Test func aPathQueueKeepsOrderAndDropsRemovedPaths() {
    var queue = PathQueue()
    let paths = (0..<200).map { DocumentPath(unchecked: ["rooms", "\($0)"]) }
    for path in paths { queue.append(path) }
    queue.append(paths[0])
    queue.remove(paths[1])
    #expect(queue.popFirst() == paths[0])
    queue.append(paths[1])
    #expect(queue.all == Array(paths[2...]) + [paths[1]])
    let popped = paths[2...].compactMap { _ in queue.popFirst() }
    #expect(popped == Array(paths[2...]))
    #expect(queue.popFirst() == paths[1])
    #expect(queue.popFirst() == nil && queue.isEmpty)
  }
}
