// How a query was answered, for people and for programs.

/// The plan of a query and what it took.
public struct QueryExplanation: Sendable, CustomStringConvertible {
  /// One index that was used, and how.
  public struct Access: Sendable, Hashable {
    /// Nil stands for the names of all documents.
    public let index: IndexDefinition?
    /// How many ranges of keys were read.
    public let ranges: Int
  }

  /// Each is merged with the others; in each, only what all accesses have is taken. An empty one is a document
  /// that the query names.
  public let branches: [[Access]]
  /// Whether it was read against its order.
  public let isBackward: Bool
  /// All matches were read and sorted, for no index has them in order.
  public let isSorted: Bool
  /// Documents were looked at to see whether they match.
  public let isFiltered: Bool
  /// Indexes made for this query.
  public let built: [IndexDefinition]
  /// How many keys of indexes were looked at.
  public let entriesRead: Int
  /// How many documents were read.
  public let documentsRead: Int
  package let longKeysRead: Int
  package let nestedPassedOver: Int
  /// How many results there were.
  public let results: Int
  /// How long the answer took.
  public let nanoseconds: UInt64

  init(
    _ plan: QueryPlan, built: [IndexDefinition], work: QueryWork, results: Int, nanoseconds: UInt64
  ) {
    branches = plan.branches.map { branch in
      branch.accesses.map { access in
        if case .index(let definition) = access.source {
          Access(index: definition, ranges: access.ranges.count)
        } else {
          Access(index: nil, ranges: access.ranges.count)
        }
      }
    }
    isBackward = plan.isBackward
    isSorted = !plan.isOrdered
    isFiltered = !plan.isExact
    self.built = built
    entriesRead = work.entriesRead
    documentsRead = work.documentsRead
    longKeysRead = work.longKeysRead
    nestedPassedOver = work.nestedPassedOver
    self.results = results
    self.nanoseconds = nanoseconds
  }

  /// Without how long it took.
  public var plan: String {
    var lines: [String] = []
    lines += built.map { "made the index \($0)" }
    if branches.isEmpty { lines.append("nothing can match") }
    lines += branchTexts
    if branches.count > 1 { lines.append(isSorted ? "all of these" : "merged in order") }
    if isFiltered { lines.append("each document is looked at") }
    if isSorted { lines.append("and what matches is sorted") }
    return lines.joined(separator: "\n")
  }

  /// A line for each branch.
  package var branchTexts: [String] {
    let way = isBackward ? "backward through" : "through"
    return branches.map { branch in
      let parts = branch.map { access in
        let name = access.index.map { "the index \($0)" } ?? "the names"
        return access.ranges == 1 ? name : "\(access.ranges) ranges of \(name)"
      }
      guard let first = parts.first else { return "a document by its name" }
      return parts.count == 1
        ? "\(way) \(first)" : "\(way) what is in all of: \(parts.joined(separator: ", "))"
    }
  }

  /// What came out, and what that took.
  package var summary: String {
    let milliseconds = Double(nanoseconds) / 1e6
    let digits = (milliseconds * 1000).rounded() / 1000
    return """
      \(Self.count(results, "result")) from \(Self.count(entriesRead, "index entry", "index entries")) \
      and \(Self.count(documentsRead, "document")) in \(digits) ms
      """
  }

  public var description: String { "\(plan)\n\(summary)" }

  private static func count(_ number: Int, _ one: String, _ many: String? = nil) -> String {
    "\(number) \(number == 1 ? one : many ?? one + "s")"
  }
}
