// Queries of the members of a collection below an object.

public import FirebaseFirestore
public import Foundation

extension SubCollection: QuerySteps {
  public typealias QueryElement = T

  /// All documents of the collection; those of a reference collection are links.
  public var query: DataSource<T>.Query {
    DataSource.Query(reference, hasRealities: !(self is ReferenceCollection<T>))
  }

  public func refined(_ step: (FirebaseFirestore.Query) -> FirebaseFirestore.Query) -> DataSource<T>.Query {
    query.refined(step)
  }
}

extension ReferenceCollection {
  /// Only links whose dictionaries satisfy the predicate, asked here and not by the database.
  public func filter(using predicate: NSPredicate) -> DataSource<T>.Query { query.filter(using: predicate) }
}
