// How a query is answered: from which parts of which indexes, in which direction, and what is left to check.

/// What a planner decides. Everything in it is in the order of the document's name ascending; `isBackward`
/// says that the answer is found the other way round.
struct QueryPlan: Sendable {
  /// Keys of one index, all with the same first bytes.
  struct Access: Sendable, Hashable {
    enum Source: Hashable, Sendable {
      /// The names of all documents.
      case names
      case index(IndexDefinition)
    }

    var source: Source
    /// What the keys begin with before the values that the query is ordered by.
    var prefixBytes: Int
    /// In order, without overlap.
    var ranges: [ByteRange]
    /// Stands before what keys have behind their prefix when branches are compared: the values of orders that
    /// this branch does not need in its keys, and others do.
    var endPrefix: [UInt8] = []
  }

  /// Documents that may match, among them all that match one alternative of the query's filters.
  enum Branch: Sendable, Hashable {
    case document(DocumentPath)
    /// The keys whose ends, behind the prefix, are in all of them.
    case keys([Access])
  }

  /// With a limit on the first documents only; its answer may have to be turned round.
  var query: StructuredQuery
  var isBackward: Bool
  var branches: [Branch]
  /// The branches give their documents in the order of the query: they are merged, and the limit ends it.
  /// Otherwise all are read, and sorted.
  var isOrdered: Bool
  /// What the branches give matches: no document has to be looked at to know it.
  var isExact: Bool
}

extension QueryPlan.Branch {
  var accesses: [QueryPlan.Access] { if case .keys(let accesses) = self { accesses } else { [] } }
}

extension QueryPlan {
  /// Most often one, some perhaps more than once.
  var indexes: [IndexDefinition] {
    branches.flatMap(\.accesses).compactMap { access in
      if case .index(let definition) = access.source { definition } else { nil }
    }
  }
}
