// Queries of the collection that belongs to a type.
//
// Each static method forwards to the step with the same name in DataSource+QuerySteps.swift.

public import FirebaseFirestore

extension DataRepresentable where Self: Object {
  /// A query for all documents of the type's collection.
  public static var query: DataSource<Self>.Query { DataSource<Self>.Query(home) }

  // MARK: Which documents

  /// Returns a query for documents whose field equals this value.
  public static func `where`(_ field: String, isEqualTo: Any) -> DataSource<Self>.Query {
    query.where(field, isEqualTo: isEqualTo)
  }

  /// Returns a query for documents whose field is less than this value and of the same type.
  public static func `where`(_ field: String, isLessThan: Any) -> DataSource<Self>.Query {
    query.where(field, isLessThan: isLessThan)
  }

  /// Returns a query for documents whose field is at most this value and of the same type.
  public static func `where`(_ field: String, isLessThanOrEqualTo: Any) -> DataSource<Self>.Query {
    query.where(field, isLessThanOrEqualTo: isLessThanOrEqualTo)
  }

  /// Returns a query for documents whose field is greater than this value and of the same type.
  public static func `where`(_ field: String, isGreaterThan: Any) -> DataSource<Self>.Query {
    query.where(field, isGreaterThan: isGreaterThan)
  }

  /// Returns a query for documents whose field is at least this value and of the same type.
  public static func `where`(_ field: String, isGreaterThanOrEqualTo: Any) -> DataSource<Self>.Query {
    query.where(field, isGreaterThanOrEqualTo: isGreaterThanOrEqualTo)
  }

  /// Returns a query for documents whose field is an array with this element.
  public static func `where`(_ field: String, arrayContains: Any) -> DataSource<Self>.Query {
    query.where(field, arrayContains: arrayContains)
  }

  /// Returns a query for documents whose field equals one of these values.
  public static func `where`(_ field: String, in values: [Any]) -> DataSource<Self>.Query {
    query.where(field, in: values)
  }

  /// Returns a query for documents whose field is an array with one of these elements.
  public static func `where`(_ field: String, arrayContainsAny: [Any]) -> DataSource<Self>.Query {
    query.where(field, arrayContainsAny: arrayContainsAny)
  }

  /// Returns a query for documents whose field exists, is not null, and does not equal this value.
  public static func `where`(_ field: String, isNotEqualTo: Any) -> DataSource<Self>.Query {
    query.where(field, isNotEqualTo: isNotEqualTo)
  }

  /// Returns a query for documents whose field exists, is not null, and equals none of these values.
  public static func `where`(_ field: String, notIn: [Any]) -> DataSource<Self>.Query {
    query.where(field, notIn: notIn)
  }

  /// Returns a query for the documents that match the filter.
  public static func filter(_ filter: Filter) -> DataSource<Self>.Query { query.filter(filter) }

  // MARK: Order, limits and cursors

  /// Returns a query in ascending order of the field. Omits documents without the field.
  public static func order(by: String) -> DataSource<Self>.Query { query.order(by: by) }

  /// Returns a query in order of the field. Omits documents without the field.
  public static func order(by: String, descending: Bool) -> DataSource<Self>.Query {
    query.order(by: by, descending: descending)
  }

  /// Returns a query for at most the first `to` documents.
  public static func limit(to: Int) -> DataSource<Self>.Query { query.limit(to: to) }

  /// Returns a query for at most the last `toLast` documents. The query must have an order.
  public static func limit(toLast: Int) -> DataSource<Self>.Query { query.limit(toLast: toLast) }

  /// Returns a query that starts at the documents with these values in the ordering fields, inclusive.
  public static func start(at: [Any]) -> DataSource<Self>.Query { query.start(at: at) }

  /// Returns a query that starts after the documents with these values in the ordering fields.
  public static func start(after: [Any]) -> DataSource<Self>.Query { query.start(after: after) }

  /// Returns a query that starts at the document's position in the order, inclusive.
  public static func start(atDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.start(atDocument: atDocument)
  }

  /// Returns a query that starts after the document's position in the order.
  public static func start(afterDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.start(afterDocument: afterDocument)
  }

  /// Returns a query that ends at the documents with these values in the ordering fields, inclusive.
  public static func end(at: [Any]) -> DataSource<Self>.Query { query.end(at: at) }

  /// Returns a query that ends at the document's position in the order, inclusive.
  public static func end(atDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.end(atDocument: atDocument)
  }

  /// Returns a query that ends before the documents with these values in the ordering fields.
  public static func end(before: [Any]) -> DataSource<Self>.Query { query.end(before: before) }

  /// Returns a query that ends before the document's position in the order.
  public static func end(beforeDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.end(beforeDocument: beforeDocument)
  }
}
