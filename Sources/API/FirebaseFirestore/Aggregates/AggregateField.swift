// What can be computed over the results of a query.

import DocumentStore
public import Foundation

/// A count, a sum or an average; equal by value.
public final class AggregateField: NSObject, Sendable {
  let aggregate: Aggregate

  private init(_ aggregate: Aggregate) { self.aggregate = aggregate }

  /// The number of documents.
  public class func count() -> AggregateField { AggregateField(.count) }

  /// The sum of a field's numbers: an integer if all are and their sum fits, 0 if there are none. Documents
  /// without the field count for none of the results.
  public class func sum(_ field: String) -> AggregateField { AggregateField(.sum(FieldPath.dotted(field))) }

  /// The sum of the numbers in the field.
  public class func sum(_ path: FieldPath) -> AggregateField { AggregateField(.sum(path.stored)) }

  /// The average of a field's numbers: `NSNull` if there are none. Documents without the field count for none
  /// of the results.
  public class func average(_ field: String) -> AggregateField {
    AggregateField(.average(FieldPath.dotted(field)))
  }

  /// The mean of the numbers in the field.
  public class func average(_ path: FieldPath) -> AggregateField { AggregateField(.average(path.stored)) }

  /// As messages call it.
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
