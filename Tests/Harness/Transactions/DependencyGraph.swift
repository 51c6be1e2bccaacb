// The dependencies between transactions, and a search for cycles.

struct DependencyGraph {
  enum Kind: Int, CaseIterable {
    case write
    case read
    /// The target wrote the version that follows the version that the source read.
    case missed
    /// The target wrote a version that the source's query should have found, but did not.
    case missedByQuery
  }

  private var edges: [[Kind: Set<Int>]]

  init(count: Int) { edges = Array(repeating: [:], count: count) }

  mutating func add(_ from: Int, _ kind: Kind, _ to: Int) { edges[from][kind, default: []].insert(to) }

  private func next(_ node: Int, _ kinds: Set<Kind>) -> [Int] {
    // The targets are sorted, so that a seed reproduces the order.
    kinds.sorted { $0.rawValue < $1.rawValue }.flatMap { edges[node][$0, default: []].sorted() }
  }

  /// Returns one cycle for each kind of anomaly that the graph contains.
  func cycles() -> [Anomaly] {
    var found: [Anomaly] = []
    if let cycle = cycle([.write]) { found.append(Anomaly(kind: .g0, transactions: cycle)) }
    if let cycle = cycle(needing: .read, with: [.write, .read]) {
      found.append(Anomaly(kind: .g1c, transactions: cycle))
    }
    if let cycle = cycleWithOneMissedWrite() { found.append(Anomaly(kind: .gSingle, transactions: cycle)) }
    guard found.isEmpty else { return found }
    if let cycle = cycle([.write, .read, .missed]) {
      found.append(Anomaly(kind: .g2Item, transactions: cycle))
    } else if let cycle = cycle(Set(Kind.allCases)) {
      found.append(Anomaly(kind: .g2, transactions: cycle))
    }
    return found
  }

  private func cycle(_ kinds: Set<Kind>) -> [Int]? {
    for start in edges.indices {
      for first in next(start, kinds) {
        if let way = way(from: first, to: start, kinds) { return [start] + way }
      }
    }
    return nil
  }

  private func cycle(needing kind: Kind, with kinds: Set<Kind>) -> [Int]? {
    for start in edges.indices {
      for first in next(start, [kind]) {
        if let way = way(from: first, to: start, kinds) { return [start] + way }
      }
    }
    return nil
  }

  private func cycleWithOneMissedWrite() -> [Int]? {
    for start in edges.indices {
      for first in next(start, [.missed, .missedByQuery]) {
        if let way = way(from: first, to: start, [.write, .read]) { return [start] + way }
      }
    }
    return nil
  }

  /// Returns the shortest path from `start` to `end`, including both; nil if there is none.
  private func way(from start: Int, to end: Int, _ kinds: Set<Kind>) -> [Int]? {
    var before: [Int: Int] = [start: start]
    var queue = [start]
    var index = 0
    while index < queue.count {
      let node = queue[index]
      index += 1
      if node == end {
        var way = [end]
        while let last = way.last, last != start, let earlier = before[last] { way.append(earlier) }
        return way.reversed()
      }
      for other in next(node, kinds) where before[other] == nil {
        before[other] = node
        queue.append(other)
      }
    }
    return nil
  }
}
