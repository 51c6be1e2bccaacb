// Query steps for every type that a query can start from.

public import FirebaseFirestore
import Foundation

/// A type that a query can start from: another query, or a collection below an object.
///
/// Fields are named by key paths of the objects or by strings. A key path must read a stored property. If the
/// property of a key path cannot be determined, the query fails when it runs.
public protocol QuerySteps<QueryElement> {
  /// The type of the objects that the query finds.
  associatedtype QueryElement: Document

  /// Returns the query with one more step.
  func refined(_ step: (FirebaseFirestore.Query) -> FirebaseFirestore.Query) -> DataSource<QueryElement>.Query
}

/// Returns the stored form of an operand of any property type.
private func operand(_ value: Any) -> Any { UntypedForm.stored(value) ?? value }

extension QuerySteps {
  /// Adds a step on the field that a key path reads.
  private func refined(
    _ keyPath: PartialKeyPath<QueryElement>,
    _ step: (FirebaseFirestore.Query, String) -> FirebaseFirestore.Query
  ) -> DataSource<QueryElement>.Query {
    refined(keyPath, NSNull()) { query, name, _ in step(query, name) }
  }

  /// Adds a step on the field that a key path reads. The operand is converted to the form that the field
  /// stores.
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

  /// Matches documents whose field exists and equals the value.
  public func `where`(
    _ keyPath: PartialKeyPath<QueryElement>, isEqualTo: Any
  ) -> DataSource<QueryElement>.Query {
    refined(keyPath, isEqualTo) { $0.whereField($1, isEqualTo: $2) }
  }

  /// Matches documents whose field has a smaller value of the same type.
  public func `where`(
    _ keyPath: PartialKeyPath<QueryElement>, isLessThan: Any
  ) -> DataSource<QueryElement>.Query {
    refined(keyPath, isLessThan) { $0.whereField($1, isLessThan: $2) }
  }

  /// Matches documents whose field has the value or a smaller value of the same type.
  public func `where`(
    _ keyPath: PartialKeyPath<QueryElement>, isLessThanOrEqualTo: Any
  ) -> DataSource<QueryElement>.Query {
    refined(keyPath, isLessThanOrEqualTo) { $0.whereField($1, isLessThanOrEqualTo: $2) }
  }

  /// Matches documents whose field has a greater value of the same type.
  public func `where`(
    _ keyPath: PartialKeyPath<QueryElement>, isGreaterThan: Any
  ) -> DataSource<QueryElement>.Query {
    refined(keyPath, isGreaterThan) { $0.whereField($1, isGreaterThan: $2) }
  }

  /// Matches documents whose field has the value or a greater value of the same type.
  public func `where`(
    _ keyPath: PartialKeyPath<QueryElement>, isGreaterThanOrEqualTo: Any
  ) -> DataSource<QueryElement>.Query {
    refined(keyPath, isGreaterThanOrEqualTo) { $0.whereField($1, isGreaterThanOrEqualTo: $2) }
  }

  /// Matches documents whose field is an array that contains the element.
  public func `where`(
    _ keyPath: PartialKeyPath<QueryElement>, arrayContains: Any
  ) -> DataSource<QueryElement>.Query {
    refined(keyPath, arrayContains) { $0.whereField($1, arrayContains: $2) }
  }

  /// Orders by the field, ascending. Documents without the field are left out.
  public func order(by: PartialKeyPath<QueryElement>) -> DataSource<QueryElement>.Query {
    refined(by) { $0.order(by: $1) }
  }

  /// Orders by the field. Documents without the field are left out.
  public func order(by: PartialKeyPath<QueryElement>, descending: Bool) -> DataSource<QueryElement>.Query {
    refined(by) { $0.order(by: $1, descending: descending) }
  }

  // MARK: Names

  /// Matches documents whose field exists and equals the value.
  public func `where`(_ keyPath: String, isEqualTo: Any) -> DataSource<QueryElement>.Query {
    refined { $0.whereField(keyPath, isEqualTo: operand(isEqualTo)) }
  }

  /// Matches documents whose field has a smaller value of the same type.
  public func `where`(_ keyPath: String, isLessThan: Any) -> DataSource<QueryElement>.Query {
    refined { $0.whereField(keyPath, isLessThan: operand(isLessThan)) }
  }

  /// Matches documents whose field has the value or a smaller value of the same type.
  public func `where`(_ keyPath: String, isLessThanOrEqualTo: Any) -> DataSource<QueryElement>.Query {
    refined { $0.whereField(keyPath, isLessThanOrEqualTo: operand(isLessThanOrEqualTo)) }
  }

  /// Matches documents whose field has a greater value of the same type.
  public func `where`(_ keyPath: String, isGreaterThan: Any) -> DataSource<QueryElement>.Query {
    refined { $0.whereField(keyPath, isGreaterThan: operand(isGreaterThan)) }
  }

  /// Matches documents whose field has the value or a greater value of the same type.
  public func `where`(_ keyPath: String, isGreaterThanOrEqualTo: Any) -> DataSource<QueryElement>.Query {
    refined { $0.whereField(keyPath, isGreaterThanOrEqualTo: operand(isGreaterThanOrEqualTo)) }
  }

  /// Matches documents whose field is an array that contains the element.
  public func `where`(_ keyPath: String, arrayContains: Any) -> DataSource<QueryElement>.Query {
    refined { $0.whereField(keyPath, arrayContains: operand(arrayContains)) }
  }

  /// Orders by the field, ascending. Documents without the field are left out.
  public func order(by: String) -> DataSource<QueryElement>.Query {
    refined { $0.order(by: by) }
  }

  /// Orders by the field. Documents without the field are left out.
  public func order(by: String, descending: Bool) -> DataSource<QueryElement>.Query {
    refined { $0.order(by: by, descending: descending) }
  }

  // MARK: Limits and cursors

  /// Limits the result to this number of documents, from the start of the order.
  public func limit(to: Int) -> DataSource<QueryElement>.Query {
    refined { $0.limit(to: to) }
  }

  /// Starts at the documents with these values in the ordering fields.
  public func start(at: [Any]) -> DataSource<QueryElement>.Query {
    refined { $0.start(at: at) }
  }

  /// Starts after the documents with these values in the ordering fields.
  public func start(after: [Any]) -> DataSource<QueryElement>.Query {
    refined { $0.start(after: after) }
  }

  /// Starts at the document's position in the order.
  public func start(atDocument: DocumentSnapshot) -> DataSource<QueryElement>.Query {
    refined { $0.start(atDocument: atDocument) }
  }

  /// Starts after the document's position in the order.
  public func start(afterDocument: DocumentSnapshot) -> DataSource<QueryElement>.Query {
    refined { $0.start(afterDocument: afterDocument) }
  }

  /// Ends at the documents with these values in the ordering fields.
  public func end(at: [Any]) -> DataSource<QueryElement>.Query {
    refined { $0.end(at: at) }
  }

  /// Ends at the document's position in the order.
  public func end(atDocument: DocumentSnapshot) -> DataSource<QueryElement>.Query {
    refined { $0.end(atDocument: atDocument) }
  }

  /// Ends before the documents with these values in the ordering fields.
  public func end(before: [Any]) -> DataSource<QueryElement>.Query {
    refined { $0.end(before: before) }
  }

  /// Ends before the document's position in the order.
  public func end(beforeDocument: DocumentSnapshot) -> DataSource<QueryElement>.Query {
    refined { $0.end(beforeDocument: beforeDocument) }
  }
}
