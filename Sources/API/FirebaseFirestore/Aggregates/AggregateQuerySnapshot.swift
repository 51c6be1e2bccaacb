// The results of an aggregate query.

import DocumentStore
private import FirebaseCore
public import Foundation

/// The results of an `AggregateQuery`, one for each of its fields.
public final class AggregateQuerySnapshot: NSObject, Sendable {
  /// The query that was run.
  public let query: AggregateQuery
  private let values: [StoredValue]

  init(_ query: AggregateQuery, _ values: [StoredValue]) {
    self.query = query
    self.values = values
  }

  /// The number of documents. Traps if the query does not count them.
  public var count: NSNumber { self.get(.count()) as? NSNumber ?? 0 }

  /// Returns an `NSNumber`, or `NSNull` for an average without numbers. Traps if the query does not contain
  /// the aggregate.
  public func get(_ aggregateField: AggregateField) -> Any {
    guard let index = query.fields.firstIndex(of: aggregateField) else {
      ProgrammerError.report("'\(aggregateField.name)' was not requested in the aggregation query.")
      return NSNull()
    }
    return UserData.leaf(values[index])
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? AggregateQuerySnapshot else { return false }
    return query == other.query && values == other.values
  }

  public override var hash: Int { query.hash }
}
