// Whether each read saw what the times of the commits say it should have seen.
//
// Stronger than that there is some serial order: it is the order that the store claims.

struct ClaimedOrder {
  private struct Version {
    var elements: [Int]
    var group: Int
  }

  /// What is there.
  private var versions: [Int: Version] = [:]

  /// A sentence about the first read that does not fit, or nil. Reads of transactions that wrote are as of just
  /// before their commit, others as of the time of their snapshot; where that is not known, of some point in time.
  static func violation(in history: [RecordedTransaction]) -> String? {
    let timed = history.compactMap { transaction -> (time: Int64, RecordedTransaction)? in
      if case .committed(let time?) = transaction.outcome { (time, transaction) } else { nil }
    }
    var untimed = history.filter { $0.outcome == .committed(nil) && $0.appends.isEmpty }
    var order = ClaimedOrder()
    untimed.removeAll { order.check($0) == nil }
    // One that wrote before one that only read as of the same commit.
    let sorted = timed.sorted {
      ($0.time, $0.1.appends.isEmpty ? 1 : 0) < ($1.time, $1.1.appends.isEmpty ? 1 : 0)
    }
    for (time, transaction) in sorted {
      if let broken = order.check(transaction) { return "at \(time): \(broken), in: \(transaction)" }
      for append in transaction.appends { order.apply(append) }
      if !transaction.appends.isEmpty { untimed.removeAll { order.check($0) == nil } }
    }
    return untimed.first.map { "at no time was all this so: \($0)" }
  }

  private mutating func apply(_ append: RecordedTransaction.Append) {
    guard !append.isRemoval else { return versions[append.key] = nil }
    let elements = (versions[append.key]?.elements ?? []) + [append.element]
    versions[append.key] = Version(elements: elements, group: append.group)
  }

  private func check(_ transaction: RecordedTransaction) -> String? {
    for read in transaction.items {
      let expected = versions[read.key]?.elements ?? []
      if expected != read.elements { return "\(read.key) was \(expected), and \(read.elements) was read" }
    }
    for range in transaction.ranges {
      let there = versions.filter { range.asksFor($0.key, $0.value.group, $0.value.elements) }
      let keys = there.keys.sorted {
        RecordedTransaction.Place($0, there[$0]?.group ?? 0)
          < RecordedTransaction.Place($1, there[$1]?.group ?? 0)
      }
      let found = Set(keys.prefix(range.limit ?? .max))
      let expected = there.filter { found.contains($0.key) }.mapValues(\.elements)
      if expected != range.found { return "\(range.groups) had \(expected), and \(range.found) was found" }
    }
    return nil
  }
}
