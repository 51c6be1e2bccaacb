// Queries of the members of a collection.

public import FirebaseFirestore
public import Foundation

extension SubCollection: QuerySteps {
  public typealias QueryElement = T

  /// The query of all documents of the collection. The documents of a reference collection are links.
  public var query: DataSource<T>.Query {
    DataSource.Query(reference, hasRealities: !(self is ReferenceCollection<T>))
  }

  public func refined(_ step: (FirebaseFirestore.Query) -> FirebaseFirestore.Query) -> DataSource<T>.Query {
    query.refined(step)
  }
}

extension ReferenceCollection {
  /// Keeps only links whose dictionaries satisfy the predicate. The predicate is evaluated after the database
  /// has returned the result.
  public func filter(using predicate: NSPredicate) -> DataSource<T>.Query { query.filter(using: predicate) }
}
