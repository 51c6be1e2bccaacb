// The aggregates that can be computed over the results of a query.

import DocumentStore
public import Foundation

/// An aggregate: a count, a sum or an average. Two fields that describe the same aggregate are equal.
public final class AggregateField: NSObject, Sendable {
  let aggregate: Aggregate

  private init(_ aggregate: Aggregate) { self.aggregate = aggregate }

  /// The number of documents.
  public class func count() -> AggregateField { AggregateField(.count) }

  /// The sum of the numbers in the field. The sum is an integer if all numbers are integers and the sum does
  /// not overflow. It is 0 if there are no numbers. A document without the field is excluded from all
  /// aggregates of the query.
  public class func sum(_ field: String) -> AggregateField { AggregateField(.sum(FieldPath.dotted(field))) }

  /// The sum of the numbers in the field.
  public class func sum(_ path: FieldPath) -> AggregateField { AggregateField(.sum(path.stored)) }

  /// The average of the numbers in the field, or `NSNull` if there are no numbers. A document without the
  /// field is excluded from all aggregates of the query.
  public class func average(_ field: String) -> AggregateField {
    AggregateField(.average(FieldPath.dotted(field)))
  }

  /// The average of the numbers in the field.
  public class func average(_ path: FieldPath) -> AggregateField { AggregateField(.average(path.stored)) }

  /// The field whose numbers are aggregated; nil for a count.
  var field: StoredFieldPath? {
    switch aggregate {
    case .count: nil
    case .sum(let field), .average(let field): field
    }
  }

  /// The name in error messages.
  var name: String {
    switch aggregate {
    case .count: "count()"
    case .sum(let field): "sum(\(field))"
    case .average(let field): "avg(\(field))"
    }
  }

  public override func isEqual(_ object: Any?) -> Bool {
    (object as? AggregateField)?.aggregate == aggregate
  }

  public override var hash: Int { aggregate.hashValue }
}
