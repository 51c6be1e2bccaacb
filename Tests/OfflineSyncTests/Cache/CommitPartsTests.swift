// Steps that take several commits: when their effects become visible to listeners, and their state after a
// crash.
//
// The size limits are small here, so that a few documents exceed one commit. LargeStepTests uses a client's
// limits.

import ByteStore
import DocumentStore
import Harness
import Testing

@testable import OfflineSync

@Suite struct CommitPartsTests {
  private static let small = CommitSizes(singleCommitBytesMax: 600, part: 200)
  private static let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))
  private let disk: SimulatedDisk

  init() {
    var options = SimulatedDisk.Options()
    options.recordsHistory = true
    disk = SimulatedDisk(DiskImage(), options: options)
  }

  private static func openStore(_ disk: SimulatedDisk) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    return try DocumentStore.open("/client", options: options, platform: disk.platform(seed: 1))
  }

  private static func open(_ disk: SimulatedDisk, _ sizes: CommitSizes = CommitSizes()) throws -> LocalStore {
    try LocalStore(try openStore(disk), user: nil, collector: .lru, client: "client", sizes: sizes)
  }

  private static func path(_ number: Int) -> DocumentPath { DocumentPath(unchecked: ["rooms", "\(number)"]) }

  /// Returns the disk images after crashes. One crash of each kind occurs before each disk call since
  /// `start`, and one after the last call.
  private func images(after start: Int) -> [DiskImage] {
    let diskStates = disk.history[start...].map(\.image) + [disk.image]
    return diskStates.enumerated().flatMap { index, image in
      [Crash.kill, .powerLoss(.nothing, seed: 1), .powerLoss(.random, seed: UInt64(index))].map(image.after)
    }
  }

  private func version(_ microseconds: Int64) -> SnapshotVersion {
    SnapshotVersion(microseconds: microseconds)
  }

  /// Creates an event in which the documents `numbers` of the target have `version` as the value of `n`, and
  /// the documents `gone` are absent.
  private func event(
    _ version: Int64, _ target: TargetID, _ numbers: ClosedRange<Int>, gone: ClosedRange<Int>? = nil,
    token: [UInt8]
  ) -> RemoteEvent {
    var event = RemoteEvent(version: self.version(version))
    var change = TargetChange(resumeToken: token, isCurrent: true)
    for number in numbers {
      let path = Self.path(number)
      event.documents[path] = SyncedDocument(
        path, .found(StoredMap([("n", .integer(version))])), version: event.version,
        createTime: self.version(1))
      change.added.insert(path)
    }
    for number in gone.map(Array.init) ?? [] {
      event.documents[Self.path(number)] = SyncedDocument(Self.path(number), .absent, version: event.version)
      change.removed.insert(Self.path(number))
    }
    event.targetChanges[target] = change
    return event
  }

  private func numbers(_ local: LocalStore) throws -> [String: StoredValue] {
    let documents = try local.documents(Self.rooms)
    return Dictionary(uniqueKeysWithValues: documents.map { ($0.path.id, $0.fields?["n"] ?? .null) })
  }

  private func numbers(_ parts: (ClosedRange<Int>, Int64)...) -> [String: StoredValue] {
    var numbers: [String: StoredValue] = [:]
    for (range, number) in parts { for id in range { numbers["\(id)"] = .integer(number) } }
    return numbers
  }

  /// Describes an unfinished step, and each stored document that differs from the remote's state with the
  /// queued writes applied.
  private func problems(_ local: LocalStore) throws -> [String] {
    var problems: [String] = []
    if let unfinished = try local.store.document(at: CacheKeys.unfinished) {
      problems.append("unfinished: \(unfinished)")
    }
    for path in (0..<16).map(Self.path) {
      let composed = try local.composedDocument(path)
      let (stored, read) = (try local.store.document(at: path), try local.document(path))
      if stored != composed.stored {
        problems.append("\(path): stored \(String(describing: stored)), not \(composed)")
      }
      if read != composed { problems.append("\(path): read \(read), not \(composed)") }
    }
    return problems
  }

  private func notes(_ local: LocalStore, _ collection: CollectionPath) throws -> [DocumentPath] {
    try local.store.documents(StructuredQuery(.collection(collection))).map(\.path)
  }

  // MARK: Events

  /// Wherever the step is interrupted, the target has either its old state, its new state, or no resume
  /// token. A resume token never exists without the documents that it covers. If there is no token, the
  /// remote can send everything again.
  @Test func anInterruptedEventLeavesNoResumeToken() throws {
    let local = try Self.open(disk, Self.small)
    let target = try local.allocate(Self.rooms).id
    _ = try local.apply(event(10, target, 0...7, token: [1]))
    let mine = StoredFieldPath(unchecked: ["mine"])
    _ = try local.write(
      [.patch(Self.path(5), StoredMap([("mine", .boolean(true))]), mask: FieldMask([mine]))],
      at: version(15).stored)
    let start = disk.history.count
    let second = event(20, target, 4...11, gone: 0...1, token: [2])
    _ = try local.apply(second)
    let (before, after) = (numbers((0...7, 10)), numbers((2...3, 10), (4...11, 20)))
    #expect(try numbers(local) == after)

    var outcomes: [[UInt8]: Int] = [:]
    var wrong: [String] = []
    for (number, image) in images(after: start).enumerated() {
      func check(_ isRight: Bool, _ text: String) {
        if !isRight { wrong.append("image \(number): \(text)") }
      }
      let later = try Self.open(SimulatedDisk(image))
      wrong += try problems(later).map { "image \(number): \($0)" }
      let known = try later.allocate(Self.rooms)
      outcomes[known.resumeToken, default: 0] += 1
      let keys = Set(try later.remoteKeys(of: target).map(\.id))
      switch known.resumeToken {
      case [1]:
        let found = try numbers(later)
        check(keys == Set(before.keys) && found == before, "token 1, \(keys), \(found)")
      case [2]:
        let found = try numbers(later)
        check(keys == Set(after.keys) && found == after, "token 2, \(keys), \(found)")
      default:
        let isNew = known.resumeToken == [] && known.version == .none
        check(isNew && keys.isEmpty, "\(known), \(keys)")
        // Without a token the remote sends everything.
        _ = try later.apply(event(10, target, 2...3, token: []))
      }
      _ = try later.apply(second)
      let found = try numbers(later)
      check(found == after, "\(found) after the event")
      let keysAfter = Set(try later.remoteKeys(of: target).map(\.id))
      check(keysAfter.isSuperset(of: after.keys), "\(keysAfter) after the event")
      let mine = try later.document(Self.path(5)).fields?["mine"]
      check(mine == .boolean(true), "the pending write is lost")
      wrong += try problems(later).map { "image \(number), after the event: \($0)" }
      try later.store.close()
    }
    #expect(wrong == [])
    #expect(Set(outcomes.keys) == [[], [1], [2]], "\(outcomes)")
  }

  @Test func anInterruptedEvictionLeavesNoResumeToken() throws {
    let local = try Self.open(disk, Self.small)
    let target = try local.allocate(Self.rooms).id
    _ = try local.apply(event(10, target, 0...9, token: [1]))
    try local.release(target)
    // Syncs the store, so that a power loss removes none of these changes.
    try local.store.sync()
    let start = disk.history.count
    let collected = try local.collect(threshold: 0, percentile: 100, active: [])
    #expect(collected == LocalStore.Collected(targets: 1, documents: 10))
    #expect(try numbers(local).isEmpty)
    var wrong: [String] = []
    for (number, image) in images(after: start).enumerated() {
      let later = try Self.open(SimulatedDisk(image))
      wrong += try problems(later).map { "image \(number): \($0)" }
      let known = try later.allocate(Self.rooms)
      if known.resumeToken == [1] {
        let (found, keys) = (try numbers(later), try later.remoteKeys(of: target).count)
        if found != numbers((0...9, 10)) || keys != 10 {
          wrong.append("image \(number): \(found), \(keys) keys")
        }
      } else {
        let keys = try later.remoteKeys(of: known.id).count
        if keys > 0 { wrong.append("image \(number): \(keys) keys without a token") }
        // The remaining target can be evicted, too.
        try later.release(known.id)
        _ = try later.collect(threshold: 0, percentile: 100, active: [])
        let found = try numbers(later)
        if !found.isEmpty { wrong.append("image \(number): \(found) after an eviction") }
      }
      try later.store.close()
    }
    #expect(wrong == [])
  }

  /// The client has a listener and loads a bundle. The listener's view is updated only after the whole step.
  @Test func aStepSplitIntoCommitsNotifiesListenersOnce() throws {
    let local = try LocalStore(
      try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client", sizes: Self.small)
    let engine = SyncEngine(local)
    func counts(_ effects: [SyncEffect]) -> [Int] {
      effects.compactMap { if case .notify(_, let snapshot) = $0 { snapshot.documents.count } else { nil } }
    }
    #expect(counts(try engine.handle(.listen(ListenerID(1), Self.rooms, ListenRules()))) == [])
    let target = try #require(engine.target(of: Self.rooms))
    var changes = [WatchChange.target(.added, [target])]
    for number in 0..<20 {
      let document = RemoteDocument(Self.path(number), StoredMap(), version: version(10))
      changes.append(.document(document.path, document, updated: [target], removed: []))
    }
    changes.append(.target(.current, [target], resumeToken: [1]))
    _ = try engine.handle(.watchOpened)
    #expect(try changes.flatMap { counts(try engine.handle(.watchChanged($0, .none))) } == [])
    let last = WatchChange.target(.noChange, [], resumeToken: [1])
    #expect(counts(try engine.handle(.watchChanged(last, version(20)))) == [20])

    var bundle = BundleContents(id: "b", createTime: version(30).stored)
    for number in 10..<40 {
      bundle.documents.append(
        BundledDocument(
          path: Self.path(number), fields: StoredMap([("n", .integer(1))]), version: version(30).stored,
          byteCount: 1, queries: ["all"]))
    }
    bundle.queries = [
      BundledQuery(name: "all", text: "", query: Self.rooms, readTime: version(30).stored)
    ]
    #expect(counts(try engine.handle(.load(bundle))) == [40])
    #expect(try engine.brokenInvariant() == nil)
    #expect(try local.allocate(Self.rooms).readTime == version(30))
    #expect(try local.store.document(at: CacheKeys.unfinished) == nil)
  }

  // MARK: Writes

  /// No read sees only a part of a batch, not even a read of the store itself. Every visible batch is in the
  /// queue.
  @Test func aWriteSplitIntoSeveralCommitsIsAtomic() throws {
    let local = try Self.open(disk, Self.small)
    let target = try local.allocate(Self.rooms).id
    _ = try local.apply(event(10, target, 0...3, token: [1]))
    try local.store.sync()
    let text = StoredMap([("text", .string(String(repeating: "x", count: 300)))])
    let start = disk.history.count
    let batch = try local.write((0...4).map { .set(Self.path($0), text) }, at: version(15).stored).batch
    let parts = CacheKeys.parts(of: CacheKeys.batch(batch.id, of: nil))
    let partCount = try notes(local, parts).count
    #expect(partCount > 2)

    var outcomes = Set<Bool>()
    var wrong: [String] = []
    for (number, image) in images(after: start).enumerated() {
      func check(_ isRight: Bool, _ text: String) {
        if !isRight { wrong.append("image \(number): \(text)") }
      }
      let store = try Self.openStore(SimulatedDisk(image))
      let seen = Set(try (0...4).map { try store.document(at: Self.path($0))?.fields["text"] != nil })
      check(seen.count == 1, "a part of the write is visible")
      outcomes.formUnion(seen)
      try store.close()
      let later = try Self.open(SimulatedDisk(image))
      wrong += try problems(later).map { "image \(number): \($0)" }
      let isThere = seen == [true]
      check(later.queue.all == (isThere ? [batch] : []), "visible: \(isThere), queue \(later.queue.all)")
      let found = try notes(later, parts).count
      check(found == (isThere ? partCount : 0), "visible: \(isThere), \(found) parts")
      let remotes = try notes(later, CacheKeys.remotes)
      check(seen != [false] || remotes.isEmpty, "not visible, \(remotes)")
      try later.store.close()
    }
    #expect(wrong == [])
    #expect(outcomes == [false, true])

    // An acknowledgement removes the parts of a batch, and so does a rejection.
    let again = try local.write([.set(Self.path(0), text)], at: version(16).stored).batch
    _ = try local.acknowledge(
      batch.id, version(30), results: batch.mutations.map { _ in WriteResult(version: version(30)) },
      token: [])
    #expect(try notes(local, parts).isEmpty)
    #expect(try problems(local) == [])
    _ = try local.reject(again.id)
    #expect(try notes(local, CacheKeys.queue).isEmpty)
    #expect(try notes(local, CacheKeys.parts(of: CacheKeys.batch(again.id, of: nil))).isEmpty)
    #expect(try problems(local) == [])
  }

  /// The batches of both users change in several commits.
  @Test func anInterruptedUserChangeIsAtomic() throws {
    let local = try Self.open(disk, Self.small)
    for (user, numbers) in [(nil, 0..<8), ("ann", 4..<12)] as [(String?, Range<Int>)] {
      _ = try local.changeUser(user)
      for number in numbers {
        let fields = StoredMap([("user", .string(user ?? "nobody")), ("n", .integer(Int64(number)))])
        _ = try local.write([.set(Self.path(number), fields)], at: version(15).stored)
      }
    }
    let start = disk.history.count
    _ = try local.changeUser(nil)
    var users = Set<String?>()
    var wrong: [String] = []
    for (number, image) in images(after: start).enumerated() {
      let store = try Self.openStore(SimulatedDisk(image))
      let user = try LocalStore.user(of: store) ?? nil
      users.insert(user)
      let later = try LocalStore(store, user: user, collector: .lru, client: "client")
      wrong += try problems(later).map { "image \(number): \($0)" }
      let seen = try later.documents(Self.rooms)
      if seen.count != 8 || !seen.allSatisfy({ $0.fields?["user"] == .string(user ?? "nobody") }) {
        wrong.append("image \(number): \(user ?? "nobody") sees \(seen)")
      }
      if later.queue.count != 8 { wrong.append("image \(number): queue of \(later.queue.count)") }
      try store.close()
    }
    #expect(wrong == [])
    #expect(users == [nil, "ann"])
  }
}
