// The steps of queries that begin with a class.

public import FirebaseFirestore

extension Document {
  /// All documents of the class.
  public static var query: DataSource<Self>.Query { DataSource.Query(reference) }
}

extension Document where Self: Object {
  // MARK: Properties

  /// The property is there and equal.
  public static func `where`(_ keyPath: PartialKeyPath<Self>, isEqualTo: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isEqualTo: isEqualTo)
  }

  /// The field has a value of the same kind that comes before this one.
  public static func `where`(_ keyPath: PartialKeyPath<Self>, isLessThan: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isLessThan: isLessThan)
  }

  /// The field has a value of the same kind that comes before this one or equals it.
  public static func `where`(
    _ keyPath: PartialKeyPath<Self>, isLessThanOrEqualTo: Any
  ) -> DataSource<Self>.Query {
    query.where(keyPath, isLessThanOrEqualTo: isLessThanOrEqualTo)
  }

  /// The field has a value of the same kind that comes after this one.
  public static func `where`(_ keyPath: PartialKeyPath<Self>, isGreaterThan: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isGreaterThan: isGreaterThan)
  }

  /// The field has a value of the same kind that comes after this one or equals it.
  public static func `where`(
    _ keyPath: PartialKeyPath<Self>, isGreaterThanOrEqualTo: Any
  ) -> DataSource<Self>.Query {
    query.where(keyPath, isGreaterThanOrEqualTo: isGreaterThanOrEqualTo)
  }

  /// The field is an array with this element.
  public static func `where`(_ keyPath: PartialKeyPath<Self>, arrayContains: Any) -> DataSource<Self>.Query {
    query.where(keyPath, arrayContains: arrayContains)
  }

  /// Documents without it are not found.
  public static func order(by: PartialKeyPath<Self>) -> DataSource<Self>.Query {
    query.order(by: by)
  }

  /// In order of the field; documents without it are left out.
  public static func order(by: PartialKeyPath<Self>, descending: Bool) -> DataSource<Self>.Query {
    query.order(by: by, descending: descending)
  }

  // MARK: Names

  /// The field is there and equal.
  public static func `where`(_ keyPath: String, isEqualTo: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isEqualTo: isEqualTo)
  }

  /// The field has a value of the same kind that comes before this one.
  public static func `where`(_ keyPath: String, isLessThan: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isLessThan: isLessThan)
  }

  /// The field has a value of the same kind that comes before this one or equals it.
  public static func `where`(_ keyPath: String, isLessThanOrEqualTo: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isLessThanOrEqualTo: isLessThanOrEqualTo)
  }

  /// The field has a value of the same kind that comes after this one.
  public static func `where`(_ keyPath: String, isGreaterThan: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isGreaterThan: isGreaterThan)
  }

  /// The field has a value of the same kind that comes after this one or equals it.
  public static func `where`(_ keyPath: String, isGreaterThanOrEqualTo: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isGreaterThanOrEqualTo: isGreaterThanOrEqualTo)
  }

  /// The field is an array with this element.
  public static func `where`(_ keyPath: String, arrayContains: Any) -> DataSource<Self>.Query {
    query.where(keyPath, arrayContains: arrayContains)
  }

  /// Documents without it are not found.
  public static func order(by: String) -> DataSource<Self>.Query {
    query.order(by: by)
  }

  /// In order of the field; documents without it are left out.
  public static func order(by: String, descending: Bool) -> DataSource<Self>.Query {
    query.order(by: by, descending: descending)
  }

  // MARK: From where to where, and how many

  /// Only the first documents.
  public static func limit(to: Int) -> DataSource<Self>.Query {
    query.limit(to: to)
  }

  /// From the documents with these values in the fields of the orders, those included.
  public static func start(at: [Any]) -> DataSource<Self>.Query {
    query.start(at: at)
  }

  /// From behind them.
  public static func start(after: [Any]) -> DataSource<Self>.Query {
    query.start(after: after)
  }

  /// From where the document stands in the order.
  public static func start(atDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.start(atDocument: atDocument)
  }

  /// Behind where the document stands in the order.
  public static func start(afterDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.start(afterDocument: afterDocument)
  }

  /// Up to the documents with these values in the fields of the orders, those included.
  public static func end(at: [Any]) -> DataSource<Self>.Query {
    query.end(at: at)
  }

  /// Up to and with where the document stands in the order.
  public static func end(atDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.end(atDocument: atDocument)
  }

  /// Up to what comes before them.
  public static func end(before: [Any]) -> DataSource<Self>.Query {
    query.end(before: before)
  }

  /// Up to and without where the document stands in the order.
  public static func end(beforeDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.end(beforeDocument: beforeDocument)
  }
}
