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
      /// Indirect, so that a copy counts one reference.
      indirect case index(IndexDefinition)
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
  /// The ranges of the only access; empty if there is none.
  let onlyRanges: [ByteRange]
  /// Whether the plan has one access.
  let hasOnlyAccess: Bool
  /// Whether the only access is that of the names.
  let isOfNames: Bool
  /// The place of the only index in the view for which the plan was made; nil if it is not known.
  private let indexPlace: Int?
  /// The branches of a plan without `onlyAccess`.
  private let otherBranches: [Branch]
  /// The query in executable form. Its limit always selects the first documents, so the caller may have to
  /// reverse the result.
  let query: StructuredQuery
  let isBackward: Bool
  /// True if every branch is in query order. The branches are then merged, and a limit ends the scan.
  /// Otherwise, all matches are read and sorted.
  let isOrdered: Bool
  /// True if every document of the branches matches, so no document has to be checked.
  let isExact: Bool

  init(_ oriented: OrientedQuery, _ branches: [Branch], isOrdered: Bool, isExact: Bool) {
    query = oriented.run
    isBackward = oriented.isBackward
    self.isOrdered = isOrdered
    self.isExact = isExact
    indexPlace = nil
    if branches.count == 1, case .keys(let accesses) = branches[0], accesses.count == 1 {
      onlyAccess = accesses[0]
      onlyRanges = accesses[0].ranges
      hasOnlyAccess = true
      isOfNames = accesses[0].source == .names
      otherBranches = []
    } else {
      onlyAccess = nil
      onlyRanges = []
      hasOnlyAccess = false
      isOfNames = false
      otherBranches = branches
    }
  }

  /// Creates a plan for the matches in one access, in query order. If the access has no ranges, nothing can
  /// match. `indexPlace` is the place of the index in the view, or nil for the names.
  init(
    _ query: StructuredQuery, isBackward: Bool, inOrderOf access: Access, at indexPlace: Int?, isExact: Bool
  ) {
    self.query = query
    self.isBackward = isBackward
    isOrdered = true
    self.isExact = isExact
    self.indexPlace = indexPlace
    onlyRanges = access.ranges
    hasOnlyAccess = !access.ranges.isEmpty
    isOfNames = hasOnlyAccess && indexPlace == nil
    onlyAccess = hasOnlyAccess ? access : nil
    otherBranches = []
  }

  var branches: [Branch] { onlyAccess.map { [.keys([$0])] } ?? otherBranches }

  /// The maximum number of results.
  var limit: Int { if case .first(let count) = query.limit { count } else { .max } }

  /// The number of results to skip before the limit counts.
  var offset: Int { query.offset }

  /// The number of matches that decide the result.
  var reach: Int { query.reach ?? .max }

  /// The place of the only index in the view for which the plan was made; nil if the plan has several indexes
  /// or reads the names.
  func onlyIndex(in view: IndexView) -> Int? {
    if let indexPlace { return indexPlace }
    guard !isOfNames, case .index(let definition)? = onlyAccess?.source else { return nil }
    return view.place(of: definition)
  }
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
    if hasOnlyAccess {
      if isOfNames { return }
      if let place = onlyIndex(in: view), indexes.wasUsedLast(view.indexes[place].identity) { return }
    }
    indexes.noteUse(of: self.indexes)
  }
}
