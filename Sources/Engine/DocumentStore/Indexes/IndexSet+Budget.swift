// Limits the number and memory of automatic indexes.
//
// Beyond the limits, the least recently used indexes are evicted first, and indexes that live queries have
// pinned are evicted last. Declared indexes are not evicted and do not count toward the limits.

import ByteStore

extension IndexSet {
  static let automaticMax = 64

  /// A quarter of the memory of the machine or the container, but at least 64 MiB.
  static func standardBytesMax() -> Int {
    max((SystemMemory.current().bytes ?? 0) / 4, 64 << 20)
  }

  /// Evicts automatic indexes until the remaining ones fit into the budget, and returns the ids of the
  /// evicted indexes. Keeps the most recently used index. Also keeps the spared indexes, because a query
  /// needs all of them at once.
  @discardableResult
  func evictToBudget(sparing spared: [IndexDefinition] = []) -> Set<UInt32> {
    evict(toBytes: state.withLock { $0.automaticBytesMax }, sparing: spared)
  }

  /// Evicts automatic indexes until the remaining ones take at most `bytesMax`. With the time in `now`, an
  /// index that is evicted counts as refused, because a query would otherwise build it again at once.
  @discardableResult
  func evict(
    toBytes bytesMax: Int, sparing spared: [IndexDefinition] = [], keepsLatest: Bool = true,
    now: UInt64? = nil
  ) -> Set<UInt32> {
    let indexes = state.withLock { $0.retentionOrder }
    // Pages that are not loaded use no memory. The loop works on copies, without the lock.
    var bytes = 0
    var gone = Set<UInt32>()
    for (place, index) in indexes.enumerated() {
      let own = index.tree.memory.bytes
      guard place == 0 && keepsLatest || bytes + own <= bytesMax || spared.contains(index.definition) else {
        gone.insert(index.id)
        if let now { noteRefusal(of: index.definition, neededBytes: own, now: now) }
        continue
      }
      bytes += own
    }
    if !gone.isEmpty { state.withLock { state in state.indexes.removeAll { gone.contains($0.id) } } }
    return gone
  }

  /// The memory of the nodes that are loaded.
  var memory: UpperLayerMemory {
    let (names, indexes) = state.withLock { ($0.names?.tree, $0.indexes) }
    // The trees are visited without the lock.
    var memory = UpperLayerMemory(fixedBytes: names?.memory.bytes ?? 0)
    for index in indexes {
      let bytes = index.tree.memory.bytes
      if index.isAutomatic { memory.evictableBytes += bytes } else { memory.fixedBytes += bytes }
    }
    return memory
  }

  // MARK: Refused builds

  private static let refusedMax = 1024

  /// The time for which an index is not built again. Without it, an index that has to make room for something
  /// else would be built again by the next query, and each query would cost a build.
  private static let nanosecondsBetweenBuilds: UInt64 = 60_000_000_000

  /// A reason not to build an index.
  struct Refusal {
    /// The memory that the build needs.
    var neededBytes: Int
    /// The time of the refusal, on the monotonic clock.
    var time: UInt64
  }

  /// Notes that an index was not built, or was evicted, for lack of memory.
  func noteRefusal(of definition: IndexDefinition, neededBytes: Int, now: UInt64) {
    state.withLock { state in
      if state.refused.count == Self.refusedMax { state.refused.removeAll() }
      state.refused[definition] = Refusal(neededBytes: neededBytes, time: now)
    }
  }

  /// Whether one of the indexes was refused a short time ago, or needs more memory than there is.
  func isRefused(
    _ definitions: [IndexDefinition], now: @autoclosure () -> UInt64, availableBytes: @autoclosure () -> Int
  ) -> Bool {
    let refusals = state.withLock { state in
      state.refused.isEmpty ? [] : definitions.compactMap { state.refused[$0] }
    }
    guard !refusals.isEmpty else { return false }
    let (now, availableBytes) = (now(), availableBytes())
    return refusals.contains {
      now &- $0.time < Self.nanosecondsBetweenBuilds || $0.neededBytes > availableBytes
    }
  }

  /// The indexes that were refused for lack of memory and do not exist.
  var refusedIndexes: [IndexDefinition] {
    state.withLock { state in
      state.refused.keys.filter { definition in !state.indexes.contains { $0.definition == definition } }
    }
  }
}

extension IndexSet.State {
  /// The automatic indexes, in reverse order of eviction.
  fileprivate var retentionOrder: [ManagedIndex] {
    let automatic = indexes.filter(\.isAutomatic).sorted { $0.lastUse > $1.lastUse }
    return automatic.filter { pins[$0.definition] != nil } + automatic.filter { pins[$0.definition] == nil }
  }

  /// Adds a complete index, and evicts another index if there are too many.
  mutating func add(_ index: ManagedIndex, sparing spared: [IndexDefinition]) {
    refused[index.definition] = nil
    indexes.removeAll { $0.definition == index.definition }
    lost.removeAll { $0.definition == index.definition }
    indexes.append(index)
    uses += 1
    indexes[indexes.count - 1].lastUse = uses
    lastUse.note(index.identity)
    let others = retentionOrder.filter { $0.id != index.id }
    guard others.count >= IndexSet.automaticMax else { return }
    let oldest = others.last { !spared.contains($0.definition) } ?? others.last
    indexes.removeAll { $0.id == oldest?.id }
  }
}
