// A union of three streams in sections, under random changes of the stored records.
//
//     three collections
//       → three streams, each with its own order, delay, predicate and limit
//       → one union, with a delay
//       → one stream in sections
//       → an adapter
//       → a table that rejects every update that a table view would reject
//
// After each commit, the random source chooses the streams whose delay ends. Now and then all delays end.
// Then the table is compared with rows that are computed from the stored records. A delegate between the
// sections and the adapter interferes: it reports changed items during a notification.

import FirebaseFirestore
import Foundation
import Harness
import StreamBaseKit

package struct UnionCampaign {
  package struct Summary: Sendable {
    /// The number of changes that had an effect.
    package var changes = 0
    /// The number of items in the union at the start. `itemsLeast` is the smallest number during the run.
    package var itemsAtStart = 0
    package var itemsLeast = Int.max
    package var meddled = 0
    package var comparisons = 0
    package var batches = 0
    package var rowsDeleted = 0
    package var rowsAdded = 0
    package var rowsReloaded = 0
    package var counts: [Kind: Int] = [:]
    package var failure: String?
  }

  /// The kinds of changes to a record or a stream.
  package enum Kind: String, CaseIterable, Sendable {
    case come, go, rank, group, hide, text, limit, predicate, local
  }

  package static let sections = 5
  private static let batchMax = 40

  /// The expected state of a record.
  fileprivate struct Row: Equatable {
    var rank: Int
    var group: Int
    var isHidden: Bool
    var text: Int
  }

  fileprivate final class Item: BaseItem {
    var rank = 0
    var group = 0
    var isHidden = false
    var text = 0
    /// Whether the predicate of the third stream rejects the item. The value is not stored.
    var isSuppressed = false

    override func update(_ dict: [String: Any]?) {
      rank = dict?["rank"] as? Int ?? 0
      group = dict?["group"] as? Int ?? 0
      isHidden = dict?["hidden"] as? Bool ?? false
      text = dict?["text"] as? Int ?? 0
    }

    override var dict: [String: Any] {
      ["rank": rank, "group": group, "hidden": isHidden, "text": text]
    }
  }

  private let firestore = Firestore.memory()
  private let queue = DispatchQueue(label: "dugout.campaign.streams")
  private let items: Int
  private var random: SeededRandom
  private var rows: [[String: Row]] = [[:], [:], [:]]
  /// The keys of each collection as an array, so that a random index selects a key.
  private var keys: [[String]] = [[], [], []]
  private var suppressed: Set<String> = []
  private var limit: Int?
  private var showsHidden = false
  /// The rare changes that are made at the start of every run, and at the start of every tenth of the run.
  /// Each number selects a case in `change`.
  private static let allRareChanges = [2, 1, 0]
  private var rare = allRareChanges
  private var summary = Summary()

  /// Runs `changes` changes on a union that has at least `items` items at the start.
  package static func run(items: Int, changes: Int, seed: UInt64) async throws -> Summary {
    var campaign = UnionCampaign(items, seed)
    return try await campaign.run(changes)
  }

  private init(_ items: Int, _ seed: UInt64) {
    self.items = items
    random = SeededRandom(seed: seed)
    let settings = FirestoreSettings()
    settings.dispatchQueue = queue
    firestore.settings = settings
  }

  // MARK: The streams

  /// Used only on the queue.
  fileprivate final class World: @unchecked Sendable {
    let streams: [StreamBase]
    let timers = (0..<4).map { _ in ManualTimer() }
    let union: UnionStream
    let partitioned: PartitionedStream
    let table: ModelTable
    let adapter: StreamTableAdapter
    let reentrantDelegate: ReentrantDelegate

    init(_ firestore: Firestore) {
      let orders: [(StreamBase.Ordering, Bool)] = [
        (.child("rank"), true), (.child("rank"), false), (.key, true),
      ]
      streams = orders.enumerated().map { index, order in
        StreamBase(
          type: Item.self, ref: firestore.collection("s\(index)"), ascending: order.1, ordering: order.0)
      }
      for (stream, timer) in zip(streams, timers) {
        stream.kitTimer = timer
        stream.predicate = { ($0 as? Item)?.isHidden == false }
      }
      // The first stream delivers changes at once. The other streams deliver changes when their timers fire.
      streams[0].batchDelay = nil
      streams[2].predicate = { ($0 as? Item)?.isSuppressed == false }
      let (union, partitioned) = Self.join(streams, timers[3])
      self.union = union
      self.partitioned = partitioned
      table = ModelTable(sections: UnionCampaign.sections) {
        partitioned.count(inSection: $0)
      } key: {
        partitioned[$0].key
      } text: {
        (partitioned[$0] as? Item)?.text ?? -1
      }
      adapter = StreamTableAdapter(table: table)
      reentrantDelegate = ReentrantDelegate(adapter, streams)
      partitioned.delegate = reentrantDelegate
    }

    private static func join(_ streams: [StreamBase], _ timer: ManualTimer) -> (
      UnionStream, PartitionedStream
    ) {
      let union = UnionStream(sources: streams[0], streams[1], streams[2])
      union.kitTimer = timer
      let titles = (0..<UnionCampaign.sections).map { "section \($0)" }
      let partitioned = PartitionedStream(stream: union, sectionTitles: titles) { ($0 as? Item)?.group ?? 0 }
      return (union, partitioned)
    }

    func fireAll() { for timer in timers { timer.fire() } }
  }

  /// A delegate that forwards all notifications. During some of them, it also reports a changed item to a
  /// stream.
  fileprivate final class ReentrantDelegate: StreamBaseDelegate {
    private static let every = 7
    private let adapter: StreamTableAdapter
    private let streams: [StreamBase]
    private var calls = 0
    private(set) var meddled = 0

    init(_ adapter: StreamTableAdapter, _ streams: [StreamBase]) {
      self.adapter = adapter
      self.streams = streams
    }

    private func reportItemChange() {
      calls += 1
      let stream = streams[calls / Self.every % streams.count]
      guard calls.isMultiple(of: Self.every), !stream.isEmpty else { return }
      meddled += 1
      stream.handleItemChanged(stream[calls % stream.count])
    }

    func streamWillChange() {
      adapter.streamWillChange()
      reportItemChange()
    }

    func streamItemsDeleted(_ paths: [IndexPath]) {
      adapter.streamItemsDeleted(paths)
      reportItemChange()
    }

    func streamItemsAdded(_ paths: [IndexPath]) {
      reportItemChange()
      adapter.streamItemsAdded(paths)
    }

    func streamDidChange() {
      reportItemChange()
      adapter.streamDidChange()
    }

    func streamItemsChanged(_ paths: [IndexPath]) {
      reportItemChange()
      adapter.streamItemsChanged(paths)
    }
  }

  // MARK: The run

  private mutating func run(_ changes: Int) async throws -> Summary {
    try await fill()
    let firestore = firestore
    let world = queue.sync { World(firestore) }
    // The last stream also shows hidden items.
    let shown =
      rows.reduce(0) { $0 + $1.count } - rows[0...1].reduce(0) { $0 + $1.values.count(where: \.isHidden) }
    // This listener is called after the streams have received their snapshots.
    let rounds = EventCount()
    let registration = firestore.addSnapshotsInSyncListener { rounds.add() }
    while queue.sync(execute: { () -> Bool in
      world.fireAll()
      return world.streams.reduce(0) { $0 + $1.count } < shown
    }) {
      guard await rounds.next() else { throw CancellationError() }
    }
    registration.remove()
    compare(world)
    summary.itemsAtStart = summary.itemsLeast
    var sinceComparison = 0
    while summary.changes < changes, summary.failure == nil {
      let tenth = summary.changes * 10 / changes
      let count = try await change(world)
      summary.changes += count
      sinceComparison += count
      if summary.changes * 10 / changes > tenth { rare = Self.allRareChanges }
      step(world)
      if sinceComparison > max(1000, items / 40) || summary.changes >= changes {
        sinceComparison = 0
        compare(world)
      }
    }
    queue.sync {
      summary.batches = world.table.batches
      summary.rowsDeleted = world.table.rowsDeleted
      summary.rowsAdded = world.table.rowsAdded
      summary.rowsReloaded = world.table.rowsReloaded
      summary.meddled = world.reentrantDelegate.meddled
    }
    try await firestore.terminate()
    return summary
  }

  private mutating func fill() async throws {
    var missing = items
    while missing > 0 {
      for start in stride(from: 0, to: missing, by: 500) {
        let batch = firestore.batch()
        for _ in start..<min(start + 500, missing) { _ = come(random.below(3), batch) }
        try await batch.commit()
      }
      missing = items - expected().reduce(0) { $0 + $1.count }
    }
  }

  // MARK: Changes

  /// Makes several changes to records in one commit, or makes one change to a stream without a commit.
  /// Returns the number of changes.
  private mutating func change(_ world: World) async throws -> Int {
    switch rare.popLast() ?? random.below(400) {
    case 0:
      count(.limit)
      let visible = rows[1].values.count { !$0.isHidden }
      limit = limit != nil && random.oneIn(3) ? nil : max(0, visible - 1 - random.below(200))
      queue.sync { world.streams[1].afterPredicateLimit = limit }
      return 1
    case 1:
      count(.predicate)
      showsHidden.toggle()
      let shows = showsHidden
      queue.sync { world.streams[0].predicate = shows ? nil : { ($0 as? Item)?.isHidden == false } }
      return 1
    case 2...10:
      guard let key = key(2) else { return 0 }
      count(.local)
      if suppressed.remove(key) == nil { suppressed.insert(key) }
      let isSuppressed = suppressed.contains(key)
      queue.sync {
        world.suppress(key, isSuppressed)
      }
      return 1
    default:
      let batch = firestore.batch()
      // A batch changes each record at most once, because only the last of several changes to a record would
      // be visible.
      var touched = Set<String>()
      var changes = 0
      for _ in 0...random.below(Self.batchMax) where change(batch, &touched) { changes += 1 }
      try await batch.commit()
      return changes
    }
  }

  /// Adds a change to the batch. Returns false if there was nothing to change.
  private mutating func change(_ batch: WriteBatch, _ touched: inout Set<String>) -> Bool {
    let source = random.below(3)
    let kinds: [Kind] = [.come, .go, .rank, .rank, .group, .hide, .text, .text]
    let kind = kinds[random.below(kinds.count)]
    guard kind != .come else {
      guard come(source, batch, &touched) else { return false }
      count(.come)
      return true
    }
    guard let key = key(source), !touched.contains("\(source)/\(key)"), var row = rows[source][key] else {
      return false
    }
    let reference = firestore.collection("s\(source)").document(key)
    switch kind {
    case .go:
      count(.go)
      touched.insert("\(source)/\(key)")
      rows[source][key] = nil
      suppressed.remove(source == 2 ? key : "")
      batch.deleteDocument(reference)
      return true
    case .rank: row.rank = rank()
    case .group: row.group = random.below(Self.sections)
    case .hide: row.isHidden.toggle()
    default: row.text += 1
    }
    guard rows[source][key] != row else { return false }
    count(kind)
    touched.insert("\(source)/\(key)")
    rows[source][key] = row
    batch.setData(data(row), forDocument: reference)
    return true
  }

  private mutating func come(_ source: Int, _ batch: WriteBatch) -> Bool {
    var touched = Set<String>()
    return come(source, batch, &touched)
  }

  /// Adds a record. Some keys exist in several collections.
  private mutating func come(_ source: Int, _ batch: WriteBatch, _ touched: inout Set<String>) -> Bool {
    let key = "k\(random.below(items * 4))"
    guard rows[source][key] == nil, touched.insert("\(source)/\(key)").inserted else { return false }
    let row = Row(rank: rank(), group: random.below(Self.sections), isHidden: random.oneIn(10), text: 0)
    rows[source][key] = row
    keys[source].append(key)
    batch.setData(data(row), forDocument: firestore.collection("s\(source)").document(key))
    return true
  }

  /// Returns a random rank. Many records get equal ranks.
  private mutating func rank() -> Int { random.below(max(10, items / 3)) }

  private func data(_ row: Row) -> [String: Any] {
    ["rank": row.rank, "group": row.group, "hidden": row.isHidden, "text": row.text]
  }

  private mutating func key(_ source: Int) -> String? {
    while let index = keys[source].isEmpty ? nil : random.below(keys[source].count) {
      let key = keys[source][index]
      if rows[source][key] != nil { return key }
      keys[source].swapAt(index, keys[source].count - 1)
      keys[source].removeLast()
    }
    return nil
  }

  private mutating func count(_ kind: Kind) { summary.counts[kind, default: 0] += 1 }

  // MARK: Checks

  private mutating func step(_ world: World) {
    let fired = (0..<4).map { _ in random.oneIn(2) }
    summary.failure = queue.sync {
      for (timer, isFired) in zip(world.timers, fired) where isFired { timer.fire() }
      return world.table.problem
    }
  }

  private mutating func compare(_ world: World) {
    summary.comparisons += 1
    let expected = expected()
    summary.itemsLeast = min(summary.itemsLeast, expected.reduce(0) { $0 + $1.count })
    summary.failure = queue.sync {
      world.fireAll()
      world.table.compare(expected)
      for stream in world.streams { stream.kitCheckInvariants() }
      world.union.kitCheckInvariants()
      world.partitioned.kitCheckInvariants()
      return world.table.problem
    }
  }

  /// Computes the rows of each section from the stored records.
  private func expected() -> [[ModelTable.Row]] {
    var shown: [String: Row] = rows[2].filter { !suppressed.contains($0.key) }
    let second = rows[1].filter { !$0.value.isHidden }.sorted { Self.areInOrder($1, $0) }
    for (key, row) in second.prefix(limit ?? .max) { shown[key] = row }
    for (key, row) in rows[0] where showsHidden || !row.isHidden { shown[key] = row }
    var sections = Array(repeating: [ModelTable.Row](), count: Self.sections)
    for (key, row) in shown.sorted(by: Self.areInOrder) {
      sections[row.group].append(ModelTable.Row(key: key, text: row.text))
    }
    return sections
  }

  private static func areInOrder(_ left: (key: String, value: Row), _ right: (key: String, value: Row))
    -> Bool
  {
    if left.value.rank != right.value.rank { return left.value.rank < right.value.rank }
    return left.key.utf8.lexicographicallyPrecedes(right.key.utf8)
  }
}

extension UnionCampaign.World {
  fileprivate func suppress(_ key: String, _ isSuppressed: Bool) {
    // `items` also contains the items that the stream hides at this time.
    streams[2].batching { items in
      guard let index = items.find(key), let item = items[index] as? UnionCampaign.Item else { return }
      item.isSuppressed = isSuppressed
      streams[2].handleItemChanged(item)
    }
  }
}
