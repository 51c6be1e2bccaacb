// Groups of documents: the fields that make a group, and the results of each group.

import DocumentStore

/// A result over the documents of a group. Documents without the field do not change it.
enum GroupResult: Hashable {
  /// The number of documents.
  case count
  /// The sum of the numbers.
  case sum(StoredFieldPath)
  /// The average of the numbers; null if there are none.
  case average(StoredFieldPath)
  /// The first value in the order of values, apart from null; null if there is none.
  case minimum(StoredFieldPath)
  /// The last value in the order of values; null if there is none but null.
  case maximum(StoredFieldPath)

  /// The name in headings and in JSON. For counts, sums and averages it is that of `Aggregate`.
  var name: String {
    switch self {
    case .count: "count"
    case .sum(let field): "sum_\(field)"
    case .average(let field): "avg_\(field)"
    case .minimum(let field): "min_\(field)"
    case .maximum(let field): "max_\(field)"
    }
  }

  var field: StoredFieldPath? {
    switch self {
    case .count: nil
    case .sum(let field), .average(let field), .minimum(let field), .maximum(let field): field
    }
  }
}

/// How the documents of a query are grouped, and which groups are shown.
struct Grouping: Equatable {
  /// A column of the result, by its place.
  enum Column: Equatable {
    case field(Int)
    case result(Int)
  }

  struct Order: Equatable {
    var column: Column
    var direction: OrderBy.Direction
  }

  /// Documents are in one group if they have equal values in all of these fields, or lack the same ones.
  /// Without fields, all documents are one group.
  var fields: [StoredFieldPath]
  /// The results of each group; empty if only the different values are wanted.
  var results: [GroupResult]
  /// Groups that are equal in these orders are ordered by their fields.
  var orders: [Order] = []
  /// The maximum number of groups that are shown.
  var limit: Int?

  /// All fields that the groups need of a document, without duplicates.
  var fieldsRead: [StoredFieldPath] {
    var seen = Set<StoredFieldPath>()
    return (fields + results.compactMap(\.field)).filter { seen.insert($0).inserted }
  }
}
