// The numbers that a query was asked for.

import DocumentStore
private import FirebaseCore
public import Foundation

/// The results of an `AggregateQuery`, one for each of its fields.
public final class AggregateQuerySnapshot: NSObject, Sendable {
  /// What was asked.
  public let query: AggregateQuery
  private let values: [StoredValue]

  init(_ query: AggregateQuery, _ values: [StoredValue]) {
    self.query = query
    self.values = values
  }

  /// The number of documents, if it was asked for; traps otherwise.
  public var count: NSNumber { self.get(.count()) as? NSNumber ?? 0 }

  /// An `NSNumber`, or `NSNull` for the average of no numbers. Traps for what was not asked for.
  public func get(_ aggregateField: AggregateField) -> Any {
    guard let index = query.fields.firstIndex(of: aggregateField) else {
      ProgrammerError.trap("'\(aggregateField.name)' was not requested in the aggregation query.")
    }
    return UserData.leaf(values[index])
  }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? AggregateQuerySnapshot else { return false }
    return query == other.query && values == other.values
  }

  public override var hash: Int { query.hash }
}
