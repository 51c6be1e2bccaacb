// The steps of queries, for everything that is the beginning of one.

public import FirebaseFirestore
import Foundation

/// Something that queries can begin with: another query, or a collection below an object.
///
/// Fields are named by key paths of the objects, or by text. A key path has to read a stored property. One whose property
/// cannot be found out makes a query that fails when it is asked.
public protocol QuerySteps<QueryElement> {
  /// What is found.
  associatedtype QueryElement: Document

  /// The query after one more step.
  func refined(_ step: (FirebaseFirestore.Query) -> FirebaseFirestore.Query) -> DataSource<QueryElement>.Query
}

/// Values of every type that properties have, not only of those that fields have.
private func operand(_ value: Any) -> Any { UntypedForm.stored(value) ?? value }

extension QuerySteps {
  /// One step with the field behind a key path.
  private func refined(
    _ keyPath: PartialKeyPath<QueryElement>,
    _ step: (FirebaseFirestore.Query, String) -> FirebaseFirestore.Query
  ) -> DataSource<QueryElement>.Query {
    refined(keyPath, NSNull()) { query, name, _ in step(query, name) }
  }

  /// One step with the field behind a key path, and an operand as the field keeps it.
  private func refined(
    _ keyPath: PartialKeyPath<QueryElement>, _ value: Any,
    _ step: (FirebaseFirestore.Query, String, Any) -> FirebaseFirestore.Query
  ) -> DataSource<QueryElement>.Query {
    do throws(DocumentError) {
      let field = try PropertyNames.field(of: keyPath)
      let operand = field.operand(value, of: QueryElement.self)
      return refined { step($0, field.name, operand) }
    } catch {
      return refined { $0 }.failing(error)
    }
  }

  // MARK: Properties

  /// The property is there and equal.
  public func `where`(
    _ keyPath: PartialKeyPath<QueryElement>, isEqualTo: Any
  ) -> DataSource<QueryElement>.Query {
    refined(keyPath, isEqualTo) { $0.whereField($1, isEqualTo: $2) }
  }

  /// The field has a value of the same kind that comes before this one.
  public func `where`(
    _ keyPath: PartialKeyPath<QueryElement>, isLessThan: Any
  ) -> DataSource<QueryElement>.Query {
    refined(keyPath, isLessThan) { $0.whereField($1, isLessThan: $2) }
  }

  /// The field has a value of the same kind that comes before this one or equals it.
  public func `where`(
    _ keyPath: PartialKeyPath<QueryElement>, isLessThanOrEqualTo: Any
  ) -> DataSource<QueryElement>.Query {
    refined(keyPath, isLessThanOrEqualTo) { $0.whereField($1, isLessThanOrEqualTo: $2) }
  }

  /// The field has a value of the same kind that comes after this one.
  public func `where`(
    _ keyPath: PartialKeyPath<QueryElement>, isGreaterThan: Any
  ) -> DataSource<QueryElement>.Query {
    refined(keyPath, isGreaterThan) { $0.whereField($1, isGreaterThan: $2) }
  }

  /// The field has a value of the same kind that comes after this one or equals it.
  public func `where`(
    _ keyPath: PartialKeyPath<QueryElement>, isGreaterThanOrEqualTo: Any
  ) -> DataSource<QueryElement>.Query {
    refined(keyPath, isGreaterThanOrEqualTo) { $0.whereField($1, isGreaterThanOrEqualTo: $2) }
  }

  /// The field is an array with this element.
  public func `where`(
    _ keyPath: PartialKeyPath<QueryElement>, arrayContains: Any
  ) -> DataSource<QueryElement>.Query {
    refined(keyPath, arrayContains) { $0.whereField($1, arrayContains: $2) }
  }

  /// Documents without it are not found.
  public func order(by: PartialKeyPath<QueryElement>) -> DataSource<QueryElement>.Query {
    refined(by) { $0.order(by: $1) }
  }

  /// In order of the field; documents without it are left out.
  public func order(by: PartialKeyPath<QueryElement>, descending: Bool) -> DataSource<QueryElement>.Query {
    refined(by) { $0.order(by: $1, descending: descending) }
  }

  // MARK: Names

  /// The field is there and equal.
  public func `where`(_ keyPath: String, isEqualTo: Any) -> DataSource<QueryElement>.Query {
    refined { $0.whereField(keyPath, isEqualTo: operand(isEqualTo)) }
  }

  /// The field has a value of the same kind that comes before this one.
  public func `where`(_ keyPath: String, isLessThan: Any) -> DataSource<QueryElement>.Query {
    refined { $0.whereField(keyPath, isLessThan: operand(isLessThan)) }
  }

  /// The field has a value of the same kind that comes before this one or equals it.
  public func `where`(_ keyPath: String, isLessThanOrEqualTo: Any) -> DataSource<QueryElement>.Query {
    refined { $0.whereField(keyPath, isLessThanOrEqualTo: operand(isLessThanOrEqualTo)) }
  }

  /// The field has a value of the same kind that comes after this one.
  public func `where`(_ keyPath: String, isGreaterThan: Any) -> DataSource<QueryElement>.Query {
    refined { $0.whereField(keyPath, isGreaterThan: operand(isGreaterThan)) }
  }

  /// The field has a value of the same kind that comes after this one or equals it.
  public func `where`(_ keyPath: String, isGreaterThanOrEqualTo: Any) -> DataSource<QueryElement>.Query {
    refined { $0.whereField(keyPath, isGreaterThanOrEqualTo: operand(isGreaterThanOrEqualTo)) }
  }

  /// The field is an array with this element.
  public func `where`(_ keyPath: String, arrayContains: Any) -> DataSource<QueryElement>.Query {
    refined { $0.whereField(keyPath, arrayContains: operand(arrayContains)) }
  }

  /// Documents without it are not found.
  public func order(by: String) -> DataSource<QueryElement>.Query {
    refined { $0.order(by: by) }
  }

  /// In order of the field; documents without it are left out.
  public func order(by: String, descending: Bool) -> DataSource<QueryElement>.Query {
    refined { $0.order(by: by, descending: descending) }
  }

  // MARK: From where to where, and how many

  /// Only the first documents.
  public func limit(to: Int) -> DataSource<QueryElement>.Query {
    refined { $0.limit(to: to) }
  }

  /// From the documents with these values in the fields of the orders, those included.
  public func start(at: [Any]) -> DataSource<QueryElement>.Query {
    refined { $0.start(at: at) }
  }

  /// From behind them.
  public func start(after: [Any]) -> DataSource<QueryElement>.Query {
    refined { $0.start(after: after) }
  }

  /// From where the document stands in the order.
  public func start(atDocument: DocumentSnapshot) -> DataSource<QueryElement>.Query {
    refined { $0.start(atDocument: atDocument) }
  }

  /// Behind where the document stands in the order.
  public func start(afterDocument: DocumentSnapshot) -> DataSource<QueryElement>.Query {
    refined { $0.start(afterDocument: afterDocument) }
  }

  /// Up to the documents with these values in the fields of the orders, those included.
  public func end(at: [Any]) -> DataSource<QueryElement>.Query {
    refined { $0.end(at: at) }
  }

  /// Up to and with where the document stands in the order.
  public func end(atDocument: DocumentSnapshot) -> DataSource<QueryElement>.Query {
    refined { $0.end(atDocument: atDocument) }
  }

  /// Up to what comes before them.
  public func end(before: [Any]) -> DataSource<QueryElement>.Query {
    refined { $0.end(before: before) }
  }

  /// Up to and without where the document stands in the order.
  public func end(beforeDocument: DocumentSnapshot) -> DataSource<QueryElement>.Query {
    refined { $0.end(beforeDocument: beforeDocument) }
  }
}
