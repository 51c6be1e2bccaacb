// Queries of a type's own collection.

public import FirebaseFirestore

extension DataRepresentable where Self: Object {
  /// All documents of the type's collection.
  public static var query: DataSource<Self>.Query { DataSource<Self>.Query(home) }

  // MARK: Which documents

  public static func `where`(_ field: String, isEqualTo: Any) -> DataSource<Self>.Query {
    query.where(field, isEqualTo: isEqualTo)
  }

  public static func `where`(_ field: String, isLessThan: Any) -> DataSource<Self>.Query {
    query.where(field, isLessThan: isLessThan)
  }

  public static func `where`(_ field: String, isLessThanOrEqualTo: Any) -> DataSource<Self>.Query {
    query.where(field, isLessThanOrEqualTo: isLessThanOrEqualTo)
  }

  public static func `where`(_ field: String, isGreaterThan: Any) -> DataSource<Self>.Query {
    query.where(field, isGreaterThan: isGreaterThan)
  }

  public static func `where`(_ field: String, isGreaterThanOrEqualTo: Any) -> DataSource<Self>.Query {
    query.where(field, isGreaterThanOrEqualTo: isGreaterThanOrEqualTo)
  }

  public static func `where`(_ field: String, arrayContains: Any) -> DataSource<Self>.Query {
    query.where(field, arrayContains: arrayContains)
  }

  public static func `where`(_ field: String, in values: [Any]) -> DataSource<Self>.Query {
    query.where(field, in: values)
  }

  public static func `where`(_ field: String, arrayContainsAny: [Any]) -> DataSource<Self>.Query {
    query.where(field, arrayContainsAny: arrayContainsAny)
  }

  public static func `where`(_ field: String, isNotEqualTo: Any) -> DataSource<Self>.Query {
    query.where(field, isNotEqualTo: isNotEqualTo)
  }

  public static func `where`(_ field: String, notIn: [Any]) -> DataSource<Self>.Query {
    query.where(field, notIn: notIn)
  }

  public static func filter(_ filter: Filter) -> DataSource<Self>.Query { query.filter(filter) }

  // MARK: In which order, from where to where, how many

  public static func order(by: String) -> DataSource<Self>.Query { query.order(by: by) }

  public static func order(by: String, descending: Bool) -> DataSource<Self>.Query {
    query.order(by: by, descending: descending)
  }

  public static func limit(to: Int) -> DataSource<Self>.Query { query.limit(to: to) }

  public static func limit(toLast: Int) -> DataSource<Self>.Query { query.limit(toLast: toLast) }

  public static func start(at: [Any]) -> DataSource<Self>.Query { query.start(at: at) }

  public static func start(after: [Any]) -> DataSource<Self>.Query { query.start(after: after) }

  public static func start(atDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.start(atDocument: atDocument)
  }

  public static func start(afterDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.start(afterDocument: afterDocument)
  }

  public static func end(at: [Any]) -> DataSource<Self>.Query { query.end(at: at) }

  public static func end(atDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.end(atDocument: atDocument)
  }

  public static func end(before: [Any]) -> DataSource<Self>.Query { query.end(before: before) }

  public static func end(beforeDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.end(beforeDocument: beforeDocument)
  }
}
