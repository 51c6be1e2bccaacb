// A query plan: which ranges of which indexes to read, in which direction, and what remains to be checked.

/// The planner's result. All parts assume ascending document names. If `isBackward` is true, the indexes are
/// read backward.
///
/// Most plans have one access, which is kept without arrays around it. This type is a class, because a plan
/// is passed on several times in each query.
final class QueryPlan: Sendable {
  /// Ranges of one index. All keys share the first `prefixBytes` bytes.
  struct Access: Sendable, Hashable {
    enum Source: Hashable, Sendable {
      /// The names of all documents.
      case names
      case index(IndexDefinition)
    }

    var source: Source
    /// Length of the common key prefix, before the values of the orders.
    var prefixBytes: Int
    /// The key ranges, in order and without overlap.
    var ranges: [ByteRange]
    /// A prefix for the end of each key when branches are compared. It holds the values of orders that this
    /// branch fixes by an equality, while other branches have these values in their keys.
    var endPrefix: [UInt8] = []
  }

  /// A superset of the documents that match one alternative of the filters.
  enum Branch: Sendable, Hashable {
    case document(DocumentPath)
    /// The entries that all of the accesses have. Entries are equal if the parts of their keys after the
    /// prefix are equal.
    case keys([Access])
  }

  /// The only access of the plan; nil if the plan has several accesses, a document, or nothing.
  let onlyAccess: Access?
  /// The branches of a plan without `onlyAccess`.
  private let otherBranches: [Branch]
  private let oriented: OrientedQuery
  /// True if every branch is in query order. The branches are then merged, and a limit ends the scan.
  /// Otherwise, all matches are read and sorted.
  let isOrdered: Bool
  /// True if every document of the branches matches, so no document has to be checked.
  let isExact: Bool

  init(_ oriented: OrientedQuery, _ branches: [Branch], isOrdered: Bool, isExact: Bool) {
    self.oriented = oriented
    self.isOrdered = isOrdered
    self.isExact = isExact
    if branches.count == 1, case .keys(let accesses) = branches[0], accesses.count == 1 {
      onlyAccess = accesses[0]
      otherBranches = []
    } else {
      onlyAccess = nil
      otherBranches = branches
    }
  }

  /// Creates a plan for the matches in one access, in query order. If the access has no ranges, nothing can
  /// match.
  init(_ oriented: OrientedQuery, inOrderOf access: Access, isExact: Bool) {
    self.oriented = oriented
    onlyAccess = access.ranges.isEmpty ? nil : access
    otherBranches = []
    isOrdered = true
    self.isExact = isExact
  }

  var branches: [Branch] { onlyAccess.map { [.keys([$0])] } ?? otherBranches }

  /// The query in executable form. Its limit always selects the first documents, so the caller may have to
  /// reverse the result.
  var query: StructuredQuery { oriented.run }

  var isBackward: Bool { oriented.isBackward }

  /// The maximum number of results.
  var limit: Int { if case .first(let count) = oriented.run.limit { count } else { .max } }
}

extension QueryPlan.Branch {
  var accesses: [QueryPlan.Access] { if case .keys(let accesses) = self { accesses } else { [] } }
}

extension QueryPlan {
  /// The indexes in use. May contain duplicates.
  var indexes: [IndexDefinition] {
    branches.flatMap(\.accesses).compactMap { access in
      if case .index(let definition) = access.source { definition } else { nil }
    }
  }

  /// Notes the use of the plan's indexes. `view` is the view for which the plan was made.
  func noteUse(in indexes: IndexSet, _ view: IndexView) {
    if let onlyAccess {
      guard case .index(let definition) = onlyAccess.source else { return }
      if indexes.wasUsedLast(definition, in: view) { return }
    }
    indexes.noteUse(of: self.indexes)
  }
}
