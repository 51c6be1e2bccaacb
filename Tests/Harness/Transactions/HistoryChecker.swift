// Checks that a recorded history is serializable, and classifies its anomalies.
//
//   1. Determine the versions of each document. Their order is that of the elements in the document's longest
//      list, and every read must be a prefix of this list.
//   2. Add the edges between transactions: ww to the writer of the next version; wr from the writer of the
//      version that was read; rw to the writer of the version after the one that was read; predicate to the
//      writer of a version that a query should have found, but did not.
//   3. Search for cycles, which a serializable history does not have. The kinds of the edges in a cycle
//      determine the kind of the anomaly.
//
// The kinds are those of Adya's thesis, and the method is that of Elle (Kingsbury and Alvaro, 2020).

package struct Anomaly: Sendable, CustomStringConvertible {
  package enum Kind: String, CaseIterable, Sendable {
    /// A cycle of write dependencies.
    case g0 = "G0"
    /// A read of an aborted transaction's write.
    case g1a = "G1a"
    /// A read of an intermediate write of a transaction.
    case g1b = "G1b"
    /// A cycle of write dependencies and of reads of written versions.
    case g1c = "G1c"
    /// A cycle in which exactly one read missed a write.
    case gSingle = "G-single"
    /// A cycle in which several reads of documents missed writes.
    case g2Item = "G2-item"
    /// A cycle in which queries missed documents.
    case g2 = "G2"
    /// Two reads that show the elements of a list in different orders, or a read of an element that was never
    /// written.
    case incompatibleOrder = "incompatible order"
  }

  package var kind: Kind
  /// The numbers of the transactions involved.
  package var transactions: [Int]

  package var description: String {
    "\(kind.rawValue) of transactions \(transactions.map(String.init).joined(separator: " → "))"
  }
}

package struct HistoryChecker {
  private let history: [RecordedTransaction]
  private var writers: [Int: Int] = [:]
  private var groups: [Int: Int] = [:]
  private var versions: [Int: [Int]] = [:]
  /// Keys of documents that were removed at some time. The lists of these documents do not determine the
  /// order of their versions.
  private let removableKeys: Set<Int>
  private var anomalies: [Anomaly] = []
  private var graph: DependencyGraph

  /// Returns the anomalies of a history, the most severe first. `final` contains the lists at the end of the
  /// history.
  package static func anomalies(
    in history: [RecordedTransaction], final: [Int: [Int]] = [:]
  ) -> [Anomaly] {
    var checker = HistoryChecker(history, final)
    checker.checkReads()
    checker.addEdges()
    checker.anomalies += checker.graph.cycles()
    return checker.anomalies
  }

  private init(_ history: [RecordedTransaction], _ final: [Int: [Int]]) {
    self.history = history
    graph = DependencyGraph(count: history.count)
    let removableKeys = Set(history.flatMap(\.appends).filter(\.isRemoval).map(\.key))
    self.removableKeys = removableKeys
    versions = final.filter { !removableKeys.contains($0.key) }
    for (number, transaction) in history.enumerated() {
      for append in transaction.appends {
        writers[append.element] = number
        groups[append.element] = append.group
      }
      guard transaction.isCommitted else { continue }
      for read in transaction.allReads
      where !removableKeys.contains(read.key) && read.elements.count > versions[read.key, default: []].count {
        versions[read.key] = read.elements
      }
    }
  }

  // MARK: Reads by themselves

  private mutating func checkReads() {
    for (number, transaction) in history.enumerated() where transaction.isCommitted {
      for read in transaction.allReads { check(read, of: number) }
    }
    for elements in versions.values where Set(elements).count < elements.count {
      anomalies.append(Anomaly(kind: .incompatibleOrder, transactions: elements.compactMap { writers[$0] }))
    }
  }

  private mutating func check(_ read: RecordedTransaction.ItemRead, of reader: Int) {
    let isRemovable = removableKeys.contains(read.key)
    if !isRemovable && !versions[read.key, default: []].starts(with: read.elements)
      || read.elements.contains(where: { writers[$0] == nil })
    {
      anomalies.append(Anomaly(kind: .incompatibleOrder, transactions: [reader]))
    }
    for element in read.elements {
      guard let writer = writers[element], !history[writer].isCommitted else { continue }
      anomalies.append(Anomaly(kind: .g1a, transactions: [writer, reader]))
    }
    guard let last = read.elements.last, let writer = writers[last], writer != reader,
      history[writer].appends.last(where: { $0.key == read.key })?.element != last
    else { return }
    anomalies.append(Anomaly(kind: .g1b, transactions: [writer, reader]))
  }

  // MARK: Edges

  private mutating func addEdges() {
    for elements in versions.values {
      for (earlier, later) in zip(elements, elements.dropFirst()) {
        add(writers[earlier], .write, writers[later])
      }
    }
    for (number, transaction) in history.enumerated() where transaction.isCommitted {
      for read in transaction.allReads where !removableKeys.contains(read.key) {
        add(read.elements.last.flatMap { writers[$0] }, .read, number)
        addMissed(read.key, from: read.elements.count, .missed, number)
      }
      for range in transaction.ranges { addMissed(by: range, of: number) }
    }
  }

  private mutating func add(_ from: Int?, _ kind: DependencyGraph.Kind, _ to: Int?) {
    guard let from, let to, from != to, history[from].isCommitted, history[to].isCommitted else { return }
    graph.add(from, kind, to)
  }

  private mutating func addMissed(_ key: Int, from count: Int, _ kind: DependencyGraph.Kind, _ reader: Int) {
    let elements = versions[key, default: []]
    if count < elements.count { add(reader, kind, writers[elements[count]]) }
  }

  /// Adds the versions that a query missed. If the query did not find a document, it may have read any
  /// version up to the last one that does not match the query.
  private mutating func addMissed(by range: RecordedTransaction.RangeRead, of reader: Int) {
    for (key, elements) in versions where range.found[key] == nil {
      let outside = elements.indices.last { place in
        !range.finds(key, groups[elements[place]] ?? -1, Array(elements[...place]))
      }
      addMissed(key, from: outside.map { $0 + 1 } ?? 0, .missedByQuery, reader)
    }
  }
}

extension RecordedTransaction {
  fileprivate var isCommitted: Bool { outcome != .aborted }

  /// All reads of documents, both those by name and those in the results of queries.
  fileprivate var allReads: [ItemRead] {
    items + ranges.flatMap { range in range.found.map { ItemRead($0.key, $0.value) } }
  }
}
