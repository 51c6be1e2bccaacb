// The explanation of a query's execution, for people and for programs.

/// The plan of a query, and the work that its execution took.
public struct QueryExplanation: Sendable, CustomStringConvertible {
  /// One use of an index.
  public struct Access: Sendable, Hashable {
    /// The index; nil stands for the names of all documents.
    public let index: IndexDefinition?
    /// The number of key ranges that were read.
    public let ranges: Int
  }

  /// The branches of the plan, which are merged. A branch returns the documents that occur in all of its
  /// accesses. A branch without accesses stands for a single document that the query names.
  public let branches: [[Access]]
  /// Whether the indexes were read backward.
  public let isBackward: Bool
  /// Whether all matches were read and then sorted, because no index has them in order.
  public let isSorted: Bool
  /// Whether documents were checked against the filters.
  public let isFiltered: Bool
  /// The indexes that were built for this query.
  public let built: [IndexDefinition]
  /// The number of index keys that were read.
  public let entriesRead: Int
  /// The number of documents that were read.
  public let documentsRead: Int
  package let longKeysRead: Int
  package let nestedSkips: Int
  /// The number of results.
  public let results: Int
  /// The duration of the query.
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
    nestedSkips = work.nestedSkips
    self.results = results
    self.nanoseconds = nanoseconds
  }

  /// The plan as text, without counts and duration.
  public var plan: String {
    var lines: [String] = []
    lines += built.map { "built the index \($0)" }
    if branches.isEmpty { lines.append("nothing can match") }
    lines += branchTexts
    if branches.count > 1 { lines.append(isSorted ? "all of these" : "merged in order") }
    if isFiltered { lines.append("each document is examined") }
    if isSorted { lines.append("and the matches are sorted") }
    return lines.joined(separator: "\n")
  }

  /// The branches as text, one line per branch.
  package var branchTexts: [String] {
    let way = isBackward ? "backward through" : "through"
    return branches.map { branch in
      let parts = branch.map { access in
        let name = access.index.map { "the index \($0)" } ?? "the names"
        return access.ranges == 1 ? name : "\(access.ranges) ranges of \(name)"
      }
      guard let first = parts.first else { return "a document by its name" }
      return parts.count == 1
        ? "\(way) \(first)" : "\(way) the intersection of: \(parts.joined(separator: ", "))"
    }
  }

  /// The number of results, and the work that the query did.
  package var summary: String {
    let milliseconds = Double(nanoseconds) / 1e6
    let digits = (milliseconds * 1000).rounded() / 1000
    return """
      \(Self.count(results, "result")) from \(Self.count(entriesRead, "index entry", plural: "index entries")) \
      and \(Self.count(documentsRead, "document")) in \(digits) ms
      """
  }

  public var description: String { "\(plan)\n\(summary)" }

  private static func count(_ number: Int, _ one: String, plural: String? = nil) -> String {
    "\(number) \(number == 1 ? one : plural ?? one + "s")"
  }
}
