// An interval tree over key ranges: finds the ranges that contain a key without testing every range.
//
// The ranges are sorted by lower bound, and the binary search over them serves as an implicit tree. Each node
// stores the greatest upper bound of its subtree. The first bytes of the bounds are in separate arrays, so
// most comparisons read nothing else. New ranges are added to an unsorted list. Once this list is long, the
// next search sorts its ranges into the tree. Thousands of ranges that are added together are therefore
// sorted once.

/// A class, so that a lookup never copies the arrays.
final class LiveRanges<Owner: AnyObject> {
  private struct Item {
    let range: ByteRange
    let owner: Owner
  }

  /// A key to look up, with the values that the whole search needs.
  private struct Probe {
    let key: [UInt8]
    /// The first eight bytes of the key, as a number.
    let head: UInt64
    /// Number of ranges whose lower bound is at most the key.
    let started: Int
  }

  private static var recentMax: Int { 64 }

  private var sorted: [Item] = []
  /// The first eight bytes of each lower bound, as a number.
  private var lowerHeads: [UInt64] = []
  /// The greatest upper bound in each node's subtree; nil for unbounded.
  private var maxUppers: [[UInt8]?] = []
  private var maxUpperHeads: [UInt64] = []
  private var recent: [Item] = []
  private var removed: [ObjectIdentifier: Int] = [:]

  private(set) var count = 0

  func insert(_ range: ByteRange, _ owner: Owner) {
    if removed[ObjectIdentifier(owner)] != nil { sort() }
    recent.append(Item(range: range, owner: owner))
    count += 1
  }

  /// Removes all ranges of an owner.
  func remove(_ owner: Owner) {
    let before = recent.count
    recent.removeAll { $0.owner === owner }
    count -= before - recent.count
    let id = ObjectIdentifier(owner)
    guard removed[id] == nil else { return }
    let rest = sorted.count { $0.owner === owner }
    guard rest > 0 else { return }
    count -= rest
    removed[id] = rest
    if removed.count > max(Self.recentMax, sorted.count / 4) { sort() }
  }

  private func sort() {
    sorted.removeAll { removed[ObjectIdentifier($0.owner)] != nil }
    removed = [:]
    sorted += recent
    recent = []
    sorted.sort { $0.range.lower.precedes($1.range.lower) }
    lowerHeads = sorted.map(\.range.lower.head)
    maxUppers = Array(repeating: [], count: sorted.count)
    _ = measure(0, sorted.count)
    maxUpperHeads = maxUppers.map { $0?.head ?? .max }
  }

  private func measure(_ low: Int, _ high: Int) -> [UInt8]? {
    guard low < high else { return [] }
    let middle = (low + high) / 2
    let ends = [sorted[middle].range.upper, measure(low, middle), measure(middle + 1, high)]
    var end: [UInt8]? = []
    for other in ends {
      guard let one = end, let other else {
        end = nil
        break
      }
      if one.precedes(other) { end = other }
    }
    maxUppers[middle] = end
    return end
  }

  /// Calls `body` with the owner of each range that contains the key.
  func forEach(having key: [UInt8], _ body: (Owner) -> Void) {
    if recent.count > Self.recentMax { sort() }
    for item in recent where item.range.contains(key) { body(item.owner) }
    guard !sorted.isEmpty else { return }
    let head = key.head
    visit(0, sorted.count, for: Probe(key: key, head: head, started: startedCount(key, head)), body)
  }

  /// Number of ranges whose lower bound is at most the key.
  private func startedCount(_ key: [UInt8], _ head: UInt64) -> Int {
    var (low, high) = (0, sorted.count)
    while low < high {
      let middle = (low + high) / 2
      let isLater =
        lowerHeads[middle] == head ? key.precedes(sorted[middle].range.lower) : head < lowerHeads[middle]
      if isLater { high = middle } else { low = middle + 1 }
    }
    return low
  }

  private func visit(_ low: Int, _ high: Int, for probe: Probe, _ body: (Owner) -> Void) {
    guard low < min(high, probe.started) else { return }
    let middle = (low + high) / 2
    guard hasUpperBoundAfter(probe.key, probe.head, at: middle) else { return }
    visit(low, middle, for: probe, body)
    guard middle < probe.started else { return }
    if sorted[middle].range.upper.map({ probe.key.precedes($0) }) ?? true {
      let owner = sorted[middle].owner
      if removed[ObjectIdentifier(owner)] == nil { body(owner) }
    }
    visit(middle + 1, high, for: probe, body)
  }

  private func hasUpperBoundAfter(_ key: [UInt8], _ head: UInt64, at place: Int) -> Bool {
    guard maxUpperHeads[place] == head else { return head < maxUpperHeads[place] }
    return maxUppers[place].map { key.precedes($0) } ?? true
  }
}
