// Query steps as static methods of model classes.

public import FirebaseFirestore

extension Document {
  /// The query of all documents of the class.
  public static var query: DataSource<Self>.Query { DataSource.Query(reference) }
}

extension Document where Self: Object {
  // MARK: Properties

  /// Matches documents whose field exists and equals the value.
  public static func `where`(_ keyPath: PartialKeyPath<Self>, isEqualTo: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isEqualTo: isEqualTo)
  }

  /// Matches documents whose field has a smaller value of the same type.
  public static func `where`(_ keyPath: PartialKeyPath<Self>, isLessThan: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isLessThan: isLessThan)
  }

  /// Matches documents whose field has the value or a smaller value of the same type.
  public static func `where`(
    _ keyPath: PartialKeyPath<Self>, isLessThanOrEqualTo: Any
  ) -> DataSource<Self>.Query {
    query.where(keyPath, isLessThanOrEqualTo: isLessThanOrEqualTo)
  }

  /// Matches documents whose field has a greater value of the same type.
  public static func `where`(_ keyPath: PartialKeyPath<Self>, isGreaterThan: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isGreaterThan: isGreaterThan)
  }

  /// Matches documents whose field has the value or a greater value of the same type.
  public static func `where`(
    _ keyPath: PartialKeyPath<Self>, isGreaterThanOrEqualTo: Any
  ) -> DataSource<Self>.Query {
    query.where(keyPath, isGreaterThanOrEqualTo: isGreaterThanOrEqualTo)
  }

  /// Matches documents whose field is an array that contains the element.
  public static func `where`(_ keyPath: PartialKeyPath<Self>, arrayContains: Any) -> DataSource<Self>.Query {
    query.where(keyPath, arrayContains: arrayContains)
  }

  /// Orders by the field, ascending. Documents without the field are left out.
  public static func order(by: PartialKeyPath<Self>) -> DataSource<Self>.Query {
    query.order(by: by)
  }

  /// Orders by the field. Documents without the field are left out.
  public static func order(by: PartialKeyPath<Self>, descending: Bool) -> DataSource<Self>.Query {
    query.order(by: by, descending: descending)
  }

  // MARK: Names

  /// Matches documents whose field exists and equals the value.
  public static func `where`(_ keyPath: String, isEqualTo: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isEqualTo: isEqualTo)
  }

  /// Matches documents whose field has a smaller value of the same type.
  public static func `where`(_ keyPath: String, isLessThan: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isLessThan: isLessThan)
  }

  /// Matches documents whose field has the value or a smaller value of the same type.
  public static func `where`(_ keyPath: String, isLessThanOrEqualTo: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isLessThanOrEqualTo: isLessThanOrEqualTo)
  }

  /// Matches documents whose field has a greater value of the same type.
  public static func `where`(_ keyPath: String, isGreaterThan: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isGreaterThan: isGreaterThan)
  }

  /// Matches documents whose field has the value or a greater value of the same type.
  public static func `where`(_ keyPath: String, isGreaterThanOrEqualTo: Any) -> DataSource<Self>.Query {
    query.where(keyPath, isGreaterThanOrEqualTo: isGreaterThanOrEqualTo)
  }

  /// Matches documents whose field is an array that contains the element.
  public static func `where`(_ keyPath: String, arrayContains: Any) -> DataSource<Self>.Query {
    query.where(keyPath, arrayContains: arrayContains)
  }

  /// Orders by the field, ascending. Documents without the field are left out.
  public static func order(by: String) -> DataSource<Self>.Query {
    query.order(by: by)
  }

  /// Orders by the field. Documents without the field are left out.
  public static func order(by: String, descending: Bool) -> DataSource<Self>.Query {
    query.order(by: by, descending: descending)
  }

  // MARK: Limits and cursors

  /// Limits the result to this number of documents, from the start of the order.
  public static func limit(to: Int) -> DataSource<Self>.Query {
    query.limit(to: to)
  }

  /// Starts at the documents with these values in the ordering fields.
  public static func start(at: [Any]) -> DataSource<Self>.Query {
    query.start(at: at)
  }

  /// Starts after the documents with these values in the ordering fields.
  public static func start(after: [Any]) -> DataSource<Self>.Query {
    query.start(after: after)
  }

  /// Starts at the document's position in the order.
  public static func start(atDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.start(atDocument: atDocument)
  }

  /// Starts after the document's position in the order.
  public static func start(afterDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.start(afterDocument: afterDocument)
  }

  /// Ends at the documents with these values in the ordering fields.
  public static func end(at: [Any]) -> DataSource<Self>.Query {
    query.end(at: at)
  }

  /// Ends at the document's position in the order.
  public static func end(atDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.end(atDocument: atDocument)
  }

  /// Ends before the documents with these values in the ordering fields.
  public static func end(before: [Any]) -> DataSource<Self>.Query {
    query.end(before: before)
  }

  /// Ends before the document's position in the order.
  public static func end(beforeDocument: DocumentSnapshot) -> DataSource<Self>.Query {
    query.end(beforeDocument: beforeDocument)
  }
}
