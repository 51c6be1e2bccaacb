// Whether each read saw what the times of the commits say it should have seen.
//
// Stronger than that there is some serial order: it is the order that the store claims.

struct ClaimedOrder {
  private struct Version {
    var time: Int64
    var elements: [Int]
    var group: Int
  }

  private var versions: [Int: [Version]] = [:]

  /// A sentence about the first read that does not fit, or nil. Reads of transactions that wrote are as of just
  /// before their commit, others as of the time of their snapshot.
  static func violation(in history: [RecordedTransaction]) -> String? {
    let timed = history.compactMap { transaction -> (time: Int64, RecordedTransaction)? in
      if case .committed(let time?) = transaction.outcome { (time, transaction) } else { nil }
    }
    var order = ClaimedOrder()
    // One that wrote before one that only read as of the same commit.
    let sorted = timed.sorted {
      ($0.time, $0.1.appends.isEmpty ? 1 : 0) < ($1.time, $1.1.appends.isEmpty ? 1 : 0)
    }
    for (time, transaction) in sorted {
      if let broken = order.check(transaction) { return "at \(time): \(broken), in: \(transaction)" }
      for append in transaction.appends {
        var elements = order.versions[append.key]?.last?.elements ?? []
        elements.append(append.element)
        order.versions[append.key, default: []].append(
          Version(time: time, elements: elements, group: append.group))
      }
    }
    return nil
  }

  private func check(_ transaction: RecordedTransaction) -> String? {
    for read in transaction.items {
      let expected = versions[read.key]?.last?.elements ?? []
      if expected != read.elements { return "\(read.key) was \(expected), and \(read.elements) was read" }
    }
    for range in transaction.ranges {
      let expected = versions.compactMapValues { versions -> [Int]? in
        guard let last = versions.last, range.groups.contains(last.group) else { return nil }
        return last.elements
      }
      if expected != range.found { return "\(range.groups) had \(expected), and \(range.found) was found" }
    }
    return nil
  }
}
