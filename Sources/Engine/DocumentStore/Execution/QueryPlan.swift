// A query plan: which ranges of which indexes to read, in which direction, and what remains to be checked.

/// The planner's result. All parts assume ascending document names. If `isBackward` is set, everything is
/// read in reverse.
struct QueryPlan: Sendable {
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
    /// In order, without overlap.
    var ranges: [ByteRange]
    /// Prepended to the key's end when branches are compared. It holds the values of orders that this branch
    /// fixes by an equality while other branches have them in their keys.
    var endPrefix: [UInt8] = []
  }

  /// A superset of the documents that match one alternative of the filters.
  enum Branch: Sendable, Hashable {
    case document(DocumentPath)
    /// The intersection of the accesses, by the part of the key after the prefix.
    case keys([Access])
  }

  /// A limit is always on the first documents; the caller may have to reverse the result.
  var query: StructuredQuery
  var isBackward: Bool
  var branches: [Branch]
  /// True if every branch is in query order: they are merged, and a limit ends the scan. Otherwise all
  /// matches are read and sorted.
  var isOrdered: Bool
  /// True if every document of the branches matches, so none has to be checked.
  var isExact: Bool
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
}
