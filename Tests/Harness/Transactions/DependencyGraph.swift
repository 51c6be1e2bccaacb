// Which transaction has to come before which, and the cycles that cannot be.

struct DependencyGraph {
  enum Kind: Int, CaseIterable {
    case write
    case read
    /// The one that is led to wrote what the other did not read yet.
    case missed
    /// The same, found by no query that it should have been found by.
    case missedByQuery
  }

  private var edges: [[Kind: Set<Int>]]

  init(count: Int) { edges = Array(repeating: [:], count: count) }

  mutating func add(_ from: Int, _ kind: Kind, _ to: Int) { edges[from][kind, default: []].insert(to) }

  private func next(_ node: Int, _ kinds: Set<Kind>) -> [Int] {
    // In an order that a seed repeats.
    kinds.sorted { $0.rawValue < $1.rawValue }.flatMap { edges[node][$0, default: []].sorted() }
  }

  /// One cycle of each kind that there is.
  func cycles() -> [Anomaly] {
    var found: [Anomaly] = []
    if let cycle = cycle([.write]) { found.append(Anomaly(kind: .g0, transactions: cycle)) }
    if let cycle = cycle(needing: .read, with: [.write, .read]) {
      found.append(Anomaly(kind: .g1c, transactions: cycle))
    }
    if let cycle = cycleWithOneMissed() { found.append(Anomaly(kind: .gSingle, transactions: cycle)) }
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

  private func cycleWithOneMissed() -> [Int]? {
    for start in edges.indices {
      for first in next(start, [.missed, .missedByQuery]) {
        if let way = way(from: first, to: start, [.write, .read]) { return [start] + way }
      }
    }
    return nil
  }

  /// The shortest one, both ends included.
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
