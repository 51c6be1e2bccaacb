// The interest filter lets through all changes that concern a listener, and few others.

import ByteStore
import Dispatch
import Harness
import Testing

@testable import DocumentStore

@Suite struct InterestFilterTests {
  private func change(_ before: StoredDocument?, _ after: StoredDocument) -> IndexChanges.Change {
    IndexChanges.Change(
      path: after.path, key: DocumentKey.encode(after.path),
      before: before.map { .document($0) } ?? .none, after: after)
  }

  /// Probes the filter with a reused scratch buffer, as commits do.
  private func mayMatch(_ filter: inout InterestFilter, _ change: IndexChanges.Change) -> Bool {
    var key: [UInt8] = [1, 2, 3]
    return unsafe withUnsafePointer(to: change) { unsafe filter.mayMatch($0, &key) }
  }

  @Test func theFilterHasNoFalseNegatives() {
    let seed = UInt64.random(in: 0...1 << 40)
    var documents = DocumentGenerator(seed: seed)
    var queries = QueryGenerator(seed: seed + 1, about: documents.documents(60))
    var random = SeededRandom(seed: seed + 2)
    var filter = InterestFilter()
    var views: [LiveView] = []
    var (concerning, heldBack) = (0, 0)
    var wrong: [String] = []
    for step in 0..<8000 {
      if step % 4 == 0 {
        // Half of the time there are few views. With many views, one that matches everything would hide the
        // effects of all other views.
        if random.below(step % 1000 < 500 ? 6 : 60) < views.count {
          let view = views.remove(at: random.below(views.count))
          if filter.remove(number: view.number)?.collectionID != view.collectionID {
            wrong.append("step \(step): \(view.query) was not in the filter")
          }
        } else {
          let view = LiveView(random.oneIn(2) ? queries.query() : queries.selectiveQuery(), number: step)
          filter.insert(view.interest, number: step)
          views.append(view)
        }
      }
      let after = documents.document()
      let before = random.oneIn(3) ? nil : documents.document()
      let change = change(
        before.map { was in
          StoredDocument(
            path: after.path, createTime: was.createTime, updateTime: was.updateTime, fields: was.fields)
        }, after)
      var states = [after]
      if case .document(let document) = change.before { states.append(document) }
      let concerned = views.first { view in states.contains { view.run.matches($0) } }
      let isLetThrough = mayMatch(&filter, change)
      if let concerned {
        concerning += 1
        if !isLetThrough { wrong.append("step \(step): \(concerned.query) would miss \(after)") }
      } else if !isLetThrough {
        heldBack += 1
      }
    }
    #expect(wrong == [], "seed \(seed)")
    #expect(concerning > 1000 && heldBack > 500, "\(concerning) and \(heldBack): seed \(seed)")
  }

  @Test func theFilterHasFewFalsePositives() throws {
    var filter = InterestFilter()
    let rooms = StructuredQuery(.collection(path("rooms", "x").parent))
    for number in 0..<5000 {
      let query =
        number % 2 == 0
        ? try rooms.filtered(by: .field(field("user"), .equal, .string("user \(number)")))
        : try rooms.filtered(by: .field(field("n"), .equal, .integer(Int64(number))))
      filter.insert(LiveView(query, number: number).interest, number: number)
    }
    func isLetThrough(_ user: Int, _ number: Int) -> Bool {
      let fields = StoredMap([("user", .string("user \(user)")), ("n", .integer(Int64(number)))])
      let document = StoredDocument(
        path: path("rooms", "a"), createTime: .epoch, updateTime: .epoch, fields: fields)
      return mayMatch(&filter, change(nil, document))
    }
    let missed = (0..<5000).filter { number in
      number % 2 == 0 ? !isLetThrough(number, -1) : !isLetThrough(-1, number)
    }
    #expect(missed == [])
    let wrong = (10_000..<20_000).count { isLetThrough($0, $0) }
    #expect(wrong < 100, "\(wrong) of 10,000")
  }

  /// Guards against fingerprints that outlive their views and make every commit slower.
  @Test func removedInterestsAreDroppedFromTheFilter() throws {
    var filter = InterestFilter()
    let rooms = StructuredQuery(.collection(path("rooms", "x").parent))
    let document = StoredDocument(
      path: path("rooms", "a"), createTime: .epoch, updateTime: .epoch,
      fields: StoredMap([("n", .integer(1))]))
    filter.insert(LiveView(rooms, number: 0).interest, number: 0)
    #expect(mayMatch(&filter, change(nil, document)))
    #expect(filter.remove(number: 0) != nil)
    #expect(filter.remove(number: 0) == nil)
    for number in 1...100 {
      // Inserting and removing a view on a whole collection leaves no fingerprint that could cause a false
      // positive.
      let other = StructuredQuery(.collection(path("other\(number)", "x").parent))
      filter.insert(LiveView(other, number: number).interest, number: number)
      _ = filter.remove(number: number)
    }
    #expect(!mayMatch(&filter, change(nil, document)))
    filter.insert(LiveView(rooms, number: 200).interest, number: 200)
    filter.removeAll()
    #expect(!mayMatch(&filter, change(nil, document)))
  }

  /// Guards against choosing the less selective of two equality filters. All listeners filter by the same
  /// `kind`, but each listener filters by a different `room`.
  @Test func theMoreSelectiveEqualityIsInTheFilter() throws {
    var filter = InterestFilter()
    let all = StructuredQuery(.collection(path("rooms", "x").parent))
    for number in 0..<300 {
      let both = FilterTree.all([
        .field(field("kind"), .equal, .string("message")),
        .field(field("room"), .equal, .integer(Int64(number))),
      ])
      filter.insert(LiveView(try all.filtered(by: both), number: number).interest, number: number)
    }
    let held = (1000..<1100).count { room in
      let fields = StoredMap([("kind", .string("message")), ("room", .integer(Int64(room)))])
      let message = StoredDocument(
        path: path("rooms", "a"), createTime: .epoch, updateTime: .epoch, fields: fields)
      return !mayMatch(&filter, change(nil, message))
    }
    #expect(held > 90)
  }

  @Test func unknownStatesAndTooManyFieldsPassTheFilter() throws {
    var filter = InterestFilter()
    let rooms = StructuredQuery(.collection(path("rooms", "x").parent))
    func room(_ before: IndexChanges.Before, _ id: String = "rooms") -> IndexChanges.Change {
      IndexChanges.Change(
        path: path(id, "a"), key: DocumentKey.encode(path(id, "a")), before: before, after: nil)
    }
    func wait(forField number: Int) throws {
      let query = try rooms.filtered(by: .field(field("f\(number)"), .equal, .integer(1)))
      filter.insert(LiveView(query, number: number).interest, number: number)
    }
    let other = StoredDocument(
      path: path("rooms", "a"), createTime: .epoch, updateTime: .epoch,
      fields: StoredMap([("f0", .integer(2))]))
    var passed: [Int] = []
    for number in 0..<32 {
      try wait(forField: number)
      if mayMatch(&filter, room(.document(other))) { passed.append(number) }
    }
    #expect(passed == [])
    #expect(mayMatch(&filter, room(.unknown)))
    #expect(!mayMatch(&filter, room(.unknown, "halls")))
    try wait(forField: 32)
    #expect(mayMatch(&filter, room(.document(other))))
  }

  @Test func changesWithAnUnknownPreviousStatePassTheFilter() throws {
    func unknown(_ segments: String...) throws -> IndexChanges.Change {
      let path = try DocumentPath(segments)
      return IndexChanges.Change(path: path, key: DocumentKey.encode(path), before: .unknown, after: nil)
    }
    let inner = try StoredFieldPath(["a", "b"])
    let all = StructuredQuery(.collection(path("rooms", "x").parent))
    let group = StructuredQuery(.collectionGroup("messages"))
    let queries = [
      try all.filtered(by: .field(inner, .equal, .integer(1))),
      try group.filtered(by: .field(field("n"), .greaterThan, .integer(1))),
      StructuredQuery(.document(path("halls", "a"))),
    ]
    var filter = InterestFilter()
    for (number, query) in queries.enumerated() {
      filter.insert(LiveView(query, number: number).interest, number: number)
    }
    #expect(mayMatch(&filter, try unknown("rooms", "a")))
    #expect(mayMatch(&filter, try unknown("halls", "b", "messages", "c")))
    #expect(mayMatch(&filter, try unknown("halls", "a")))
    #expect(!mayMatch(&filter, try unknown("halls", "b")))
  }

  /// Each document has its own copy of the field name in memory, as documents from users do.
  @Test func aFieldWithALongNameIsFoundInEachDocument() throws {
    var filter = InterestFilter()
    let rooms = StructuredQuery(.collection(path("rooms", "x").parent))
    let name = "a name that does not lie in two words"
    let query = try rooms.filtered(by: .field(field(name), .equal, .integer(5)))
    filter.insert(LiveView(query, number: 1).interest, number: 1)
    var matches: [[Bool]] = []
    for number in 0..<10 {
      let copy = String(decoding: Array(name.utf8), as: UTF8.self)
      let fields = StoredMap([(copy, .integer(Int64(number))), ("b", .null)])
      let document = StoredDocument(
        path: path("rooms", "a"), createTime: .epoch, updateTime: .epoch, fields: fields)
      matches.append((0..<2).map { _ in mayMatch(&filter, change(nil, document)) })
    }
    #expect(matches == (0..<10).map { [$0 == 5, $0 == 5] })
  }

  // MARK: Fingerprints

  @Test func valueFingerprintsEqualThoseOfTheirKeys() {
    let seed = UInt64.random(in: 0...1 << 40)
    var generator = DocumentGenerator(seed: seed)
    var values: [StoredValue] = (0..<500).flatMap { _ in generator.document().fields.entries.map(\.value) }
    for count in 0..<40 {
      let letters = String(decoding: (0..<count).map { UInt8(65 + $0) }, as: UTF8.self)
      for text in [letters, String(repeating: "t", count: count), String(repeating: "\u{E9}", count: count)] {
        values += [.string(text), .string(text + "\0"), .string("\0" + text), .string(text + "\0" + text)]
      }
    }
    let edge: Int64 = 1 << 53
    values += [.double(.nan), .double(-0.0), .double(.infinity), .double(-.infinity)]
    for number in [edge - 1, edge, edge + 1, 1 - edge, -edge, -edge - 1, .max, .min, 0] {
      values += [.integer(number), .double(Double(number))]
    }
    var hashes: [UInt64: [UInt8]] = [:]
    var room: [UInt8] = []
    var wrong: [String] = []
    for value in values {
      let key = value.indexKey
      let (head, hash) = unsafe withUnsafePointer(to: value) { value in
        unsafe (InterestFingerprint.head(of: value, &room), InterestFingerprint.hash(of: value, &room))
      }
      if head != key.head { wrong.append("head of \(value)") }
      if hash != InterestFingerprint.hash(ofKey: key) { wrong.append("hash of \(value)") }
      let (quickHead, quickHash) = unsafe withUnsafePointer(to: value) { value in
        unsafe (InterestFingerprint.quickHead(of: value), InterestFingerprint.quickHash(of: value))
      }
      if let quickHead, quickHead != head { wrong.append("quick head of \(value)") }
      if let quickHash, quickHash != hash { wrong.append("quick hash of \(value)") }
      let isQuickAsExpected: Bool
      switch value {
      case .integer(let number) where number.magnitude < edge:
        isQuickAsExpected = quickHead != nil && quickHash != nil
      case .double(let number) where number.magnitude < 1e15:
        isQuickAsExpected = quickHead != nil && quickHash != nil
      case .string(let text):
        isQuickAsExpected = (quickHash != nil) == (text.utf8.count <= InterestFingerprint.quickBytesMax)
      default: isQuickAsExpected = true
      }
      if !isQuickAsExpected { wrong.append("whether \(value) is quick") }
      let mark = InterestFingerprint.fingerprint(hash, in: 7, kind: .value)
      if mark == InterestFingerprint.fingerprint(hash, in: 8, kind: .value)
        || mark == InterestFingerprint.fingerprint(hash, in: 7, kind: .element)
      {
        wrong.append("fingerprint of \(value)")
      }
      if let other = hashes.updateValue(key, forKey: hash), other != key {
        wrong.append("\(value) has the hash of another value")
      }
    }
    #expect(wrong == [], "seed \(seed)")
    #expect(hashes.count > 500)
  }

  /// A truncated string keeps its heap storage. Its hash must be equal to the hash of a string stored inline.
  @Test func stringHashDoesNotDependOnItsStorage() {
    var room: [UInt8] = []
    var wrong: [String] = []
    for count in 0...40 {
      for letter in ["t", "\u{E9}", "\0"] {
        let text = String(repeating: letter, count: count)
        var cut = text + String(repeating: "x", count: 60)
        cut.removeLast(60)
        for value in [StoredValue.string(text), .string(cut)] {
          let hash = unsafe withUnsafePointer(to: value) { unsafe InterestFingerprint.hash(of: $0, &room) }
          if hash != InterestFingerprint.hash(ofKey: value.indexKey) {
            wrong.append("\(count) of \(letter.debugDescription)")
          }
        }
        let hash = InterestFingerprint.hash(ofCollection: ["a", text, "b"])
        if hash != InterestFingerprint.hash(ofCollection: ["a", cut, "b"]) {
          wrong.append("a collection with \(count) of \(letter.debugDescription)")
        }
      }
    }
    #expect(wrong == [])
  }

  @Test func collectionHashIsEqualHoweverItIsComputed() {
    let long = ["rooms", "an id that is long", "messages", "b"]
    let quick = [
      ["rooms", "a"], ["rooms", "a", "messages", "an id that is long"], ["r", "a", "m", "b", "p", "c"],
    ]
    let expected = (quick + [long]).map { InterestFingerprint.hash(ofCollection: $0.dropLast()) }
    let paths = (quick + [long]).map { DocumentPath(unchecked: $0) }
    #expect(paths.map { InterestFingerprint.hash(ofCollectionOf: $0) } == expected)
    let quickHashes = paths.dropLast().map { InterestFingerprint.quickHash(ofCollectionOf: $0) }
    #expect(quickHashes == Array(expected.dropLast()))
    #expect(InterestFingerprint.quickHash(ofCollectionOf: DocumentPath(unchecked: long)) == nil)
  }

  @Test func aBloomFilterHoldsItsCapacity() {
    let marks = BlockedBloomFilter(capacity: 100)
    var random = SeededRandom(seed: 1)
    let hashes = (0..<1000).map { _ in random.next() }
    var isKept: [UInt64] = []
    for hash in hashes {
      guard marks.insert(hash) else { break }
      isKept.append(hash)
    }
    #expect((100...200).contains(isKept.count))
    #expect(isKept.allSatisfy { marks.view.mayContain($0) })
    let isThere = marks.insert(hashes[0])
    #expect(isThere)
  }

  // MARK: Publications

  private final class Follower: CommitObserver {
    let calls = Locked(0)
    func observe() { calls.withLock { $0 += 1 } }
  }

  private let publications = Publications()
  private let follower = Follower()

  private func effects(_ number: Int64, isJudged: Bool = true) -> CommitEffects {
    let document = StoredDocument(
      path: path("rooms", "a"), createTime: .epoch, updateTime: .epoch,
      fields: StoredMap([("n", .integer(number))]))
    let changes = [
      CommitChange(
        path: document.path, key: DocumentKey.encode(document.path), before: nil, isBeforeKnown: true,
        after: document)
    ]
    return CommitEffects(moment(number), changes, shapes: []) { changes in
      var room: [UInt8] = []
      return isJudged ? publications.audience(of: changes, &room) : nil
    }
  }

  private func observe(_ wanted: Int64) throws {
    let query = try StructuredQuery(.collection(path("rooms", "x").parent))
      .filtered(by: .field(field("n"), .equal, .integer(wanted)))
    publications.observe(
      LiveView(query, number: Int(wanted)).interest, number: Int(wanted), observer: follower)
  }

  private func publish(_ effects: CommitEffects) {
    publications.append(effects)
    publications.notify(effects.audience)
  }

  private func takenNumbers() -> [UInt64] {
    var taken: [Publication] = []
    _ = publications.take(&taken)
    return taken.map(\.number)
  }

  @Test func anUnrelatedCommitIsCountedAndNotQueued() throws {
    publish(effects(1))
    try observe(5)
    publish(effects(2))
    #expect(publications.position == 2)
    #expect(publications.timeIfQueueIsEmpty == moment(2))
    #expect(follower.calls.withLock { $0 } == 0)
    publish(effects(5))
    #expect(follower.calls.withLock { $0 } == 1)
    #expect(publications.timeIfQueueIsEmpty == nil)
    publish(effects(3))
    #expect(publications.position == 4)
    #expect(takenNumbers() == [3])
    #expect(publications.timeIfQueueIsEmpty == moment(3))
  }

  /// Commits that change only the store's own keys contain no document changes.
  @Test func aCommitWithoutChangesDoesNotNotify() throws {
    try observe(5)
    publish(
      CommitEffects(moment(1), [], shapes: []) { changes in
        var room: [UInt8] = []
        return publications.audience(of: changes, &room)
      })
    #expect(publications.position == 1)
    #expect(takenNumbers().isEmpty)
    #expect(follower.calls.withLock { $0 } == 0)
  }

  /// A new listener may run its query before the probed commit is visible. Therefore, the commit must be
  /// queued for that listener.
  @Test func aCommitProbedBeforeANewListenerIsQueued() throws {
    try observe(5)
    let early = effects(6)
    try observe(6)
    publish(early)
    #expect(follower.calls.withLock { $0 } == 1)
    #expect(takenNumbers() == [1])
    publish(effects(7, isJudged: false))
    #expect(takenNumbers() == [2])
  }

  /// A commit does not wait while a listener is being added. Instead, the commit skips the filter and
  /// notifies every listener.
  @Test func concurrentRegistrationsMissNoCommit() throws {
    try observe(5)
    let others = try (1000..<1400).map { number in
      try StructuredQuery(.collection(path("rooms", "x").parent))
        .filtered(by: .field(field("n"), .equal, .integer(Int64(number))))
    }
    let isOver = Locked(false)
    let thread = DispatchGroup()
    let (publications, follower) = (publications, follower)
    DispatchQueue(label: "others").async(group: thread) {
      while !isOver.withLock({ $0 }) {
        for (number, query) in others.enumerated() {
          publications.observe(
            LiveView(query, number: number + 10).interest, number: number + 10, observer: follower)
        }
        for number in others.indices { publications.stopObserving(number: number + 10) }
      }
    }
    var (passed, number) = (0, UInt64(0))
    while passed < 10, number < 3_000_000 {
      number += 1
      let effects = effects(5)
      if effects.audience == nil { passed += 1 }
      publish(effects)
      guard takenNumbers() == [number] else {
        Issue.record("commit \(number) was passed over")
        break
      }
    }
    isOver.withLock { $0 = true }
    thread.wait()
    #expect(passed == 10)
  }

  @Test func afterTheLastViewNothingIsQueued() throws {
    try observe(5)
    try observe(6)
    publications.stopObserving(number: 5)
    #expect(publications.isObserved("rooms"))
    publish(effects(6))
    let concerned = effects(6)
    publications.stopObserving(number: 6)
    #expect(!publications.isObserved("rooms"))
    publish(concerned)
    publish(effects(6))
    #expect(publications.position == 3)
    #expect(takenNumbers().isEmpty)
    #expect(publications.timeIfQueueIsEmpty == nil)
  }
}
