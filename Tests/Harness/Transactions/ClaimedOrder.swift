// Checks that each read saw the state that the reported commit times imply.
//
// This is stronger than serializability: the serial order must be the order of the commit times that the
// store reports.

struct ClaimedOrder {
  private struct Version {
    var elements: [Int]
    var group: Int
  }

  /// The current versions.
  private var versions: [Int: Version] = [:]

  /// Returns a description of the first inconsistent read, or nil. The reads of a writing transaction are
  /// checked against the state just before its commit, and other reads against the state at the time of their
  /// snapshot. If that time is unknown, the reads may match the state at any one point in time.
  static func violation(in history: [RecordedTransaction]) -> String? {
    let timed = history.compactMap { transaction -> (time: Int64, RecordedTransaction)? in
      if case .committed(let time?) = transaction.outcome { (time, transaction) } else { nil }
    }
    var untimed = history.filter { $0.outcome == .committed(nil) && $0.appends.isEmpty }
    var order = ClaimedOrder()
    untimed.removeAll { order.check($0) == nil }
    // At equal times, a writing transaction precedes the transactions that only read.
    let sorted = timed.sorted {
      ($0.time, $0.1.appends.isEmpty ? 1 : 0) < ($1.time, $1.1.appends.isEmpty ? 1 : 0)
    }
    for (time, transaction) in sorted {
      if let broken = order.check(transaction) { return "at \(time): \(broken), in: \(transaction)" }
      for append in transaction.appends { order.apply(append) }
      if !transaction.appends.isEmpty { untimed.removeAll { order.check($0) == nil } }
    }
    return untimed.first.map { "this was never all true at one time: \($0)" }
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
      let there = versions.filter { range.matchesFilter($0.key, $0.value.group, $0.value.elements) }
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
