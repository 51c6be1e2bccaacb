// Queries of a type's own collection.

public import FirebaseFirestore

extension DataRepresentable where Self: Object {
  /// All documents of the type's collection.
  public static var query: DataSource<Self>.Query { DataSource<Self>.Query(home) }

  // MARK: Which documents

  /// The field equals this value.
  public static func `where`(_ field: String, isEqualTo: Any) -> DataSource<Self>.Query {
    query.where(field, isEqualTo: isEqualTo)
  }

  /// The field has a value of the same kind that comes before this one.
  public static func `where`(_ field: String, isLessThan: Any) -> DataSource<Self>.Query {
    query.where(field, isLessThan: isLessThan)
  }

  /// The field has a value of the same kind that comes before this one or equals it.
  public static func `where`(_ field: String, isLessThanOrEqualTo: Any) -> DataSource<Self>.Query {
    query.where(field, isLessThanOrEqualTo: isLessThanOrEqualTo)
  }

  /// The field has a value of the same kind that comes after this one.
  public static func `where`(_ field: String, isGreaterThan: Any) -> DataSource<Self>.Query {
    query.where(field, isGreaterThan: isGreaterThan)
  }

  /// The field has a value of the same kind that comes after this one or equals it.
  public static func `where`(_ field: String, isGreaterThanOrEqualTo: Any) -> DataSource<Self>.Query {
    query.where(field, isGreaterThanOrEqualTo: isGreaterThanOrEqualTo)
  }

  /// The field is an array with this element.
  public static func `where`(_ field: String, arrayContains: Any) -> DataSource<Self>.Query {
    query.where(field, arrayContains: arrayContains)
  }

  /// The field equals one of these values.
  public static func `where`(_ field: String, in values: [Any]) -> DataSource<Self>.Query {
    query.where(field, in: values)
  }

  /// The field is an array with one of these elements.
  public static func `where`(_ field: String, arrayContainsAny: [Any]) -> DataSource<Self>.Query {
    query.where(field, arrayContainsAny: arrayContainsAny)
  }

  /// The field is there, and does not equal this value.
  public static func `where`(_ field: String, isNotEqualTo: Any) -> DataSource<Self>.Query {
    query.where(field, isNotEqualTo: isNotEqualTo)
  }

  /// The field is there, and equals none of these values.
  public static func `where`(_ field: String, notIn: [Any]) -> DataSource<Self>.Query {
    query.where(field, notIn: notIn)
  }

  /// What the filter lets through.
  public static func filter(_ filter: Filter) -> DataSource<Self>.Query { query.filter(filter) }

  // MARK: In which order, from where to where, how many

  /// In ascending order of the field; documents without it are left out.
  public static func order(by: String) -> DataSource<Self>.Query { query.order(by: by) }

  /// In order of the field; documents without it are left out.
  public static func order(by: String, descending: Bool) -> DataSource<Self>.Query {
    query.order(by: by, descending: descending)
  }

  /// At most so many results, the first ones.
  public static func limit(to: Int) -> DataSource<Self>.Query { query.limit(to: to) }

  /// At most so many results, the last ones. It needs an order.
  public static func limit(toLast: Int) -> DataSource<Self>.Query { query.limit(toLast: toLast) }

  /// From the result with these values of the order's fields on.
  public static func start(at: [Any]) -> DataSource<Self>.Query { query.start(at: at) }

  /// Behind the result with these values of the order's fields.
  public static func start(after: [Any]) -> DataSource<Self>.Query { query.start(after: after) }

  /// From where the document stands in the order.
  public static func start(atDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.start(atDocument: atDocument)
  }

  /// Behind where the document stands in the order.
  public static func start(afterDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.start(afterDocument: afterDocument)
  }

  /// Up to and with the results that have these values of the order's fields.
  public static func end(at: [Any]) -> DataSource<Self>.Query { query.end(at: at) }

  /// Up to and with where the document stands in the order.
  public static func end(atDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.end(atDocument: atDocument)
  }

  /// Up to and without the results that have these values of the order's fields.
  public static func end(before: [Any]) -> DataSource<Self>.Query { query.end(before: before) }

  /// Up to and without where the document stands in the order.
  public static func end(beforeDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.end(beforeDocument: beforeDocument)
  }
}
