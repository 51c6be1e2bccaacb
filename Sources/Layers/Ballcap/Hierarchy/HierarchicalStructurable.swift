// Objects with collections below them.

public import FirebaseFirestore

/// An object whose document has collections, each named by a case.
///
/// ```swift
/// final class Room: Object, DataRepresentable, HierarchicalStructurable {
///   struct Model: Codable, Modelable { var title = "" }
///   enum CollectionKeys: String { case transcripts, members }
///   var data: Room.Model?
/// }
/// ```
public protocol HierarchicalStructurable {
  /// The names of the collections below a document.
  associatedtype CollectionKeys: RawRepresentable
}

extension HierarchicalStructurable where Self: Object, Self.CollectionKeys.RawValue == String {
  /// A document with an id of its own and no data.
  public init() { self.init(collectionReference: nil) }

  /// A document with an id of its own and no data, in the collection of its type unless another is named.
  public init(collectionReference: CollectionReference? = nil) {
    self.init((collectionReference ?? Self.collectionReference).document())
  }

  /// A document with this id and no data, in the collection of its type unless another is named.
  public init(id: String, collectionReference: CollectionReference? = nil) {
    self.init((collectionReference ?? Self.collectionReference).document(id))
  }

  /// The collection below this object's document.
  public func collection(path: Self.CollectionKeys) -> CollectionReference {
    documentReference.collection(path.rawValue)
  }

  /// The same as a query for objects of a type.
  public func collection<T: Object>(path: Self.CollectionKeys) -> DataSource<T>.Query
  where T: DataRepresentable {
    DataSource.Query(documentReference.collection(path.rawValue))
  }
}

// The same for objects with a model. Without it, a class that is both would have two of each.
extension HierarchicalStructurable
where Self: Object, Self: DataRepresentable, Self.CollectionKeys.RawValue == String {
  /// A document with an id of its own and the model's defaults.
  public init() { self.init(collectionReference: nil) }

  /// A document with an id of its own and the model's defaults.
  public init(collectionReference: CollectionReference? = nil) {
    self.init((collectionReference ?? Self.home).document())
    data = Model()
  }

  /// A document with this id and the model's defaults.
  public init(id: String, collectionReference: CollectionReference? = nil) {
    self.init((collectionReference ?? Self.home).document(id))
    data = Model()
  }

  public func collection(path: Self.CollectionKeys) -> CollectionReference {
    documentReference.collection(path.rawValue)
  }

  public func collection<T: Object>(path: Self.CollectionKeys) -> DataSource<T>.Query
  where T: DataRepresentable {
    DataSource.Query(documentReference.collection(path.rawValue))
  }
}

extension CollectionReference {
  /// An object at a new document with a random id. It has no data yet.
  public func child<T: Object>(type: T.Type) -> T { T(document()) }

  /// An object at the document with this id. It has no data yet.
  public func child<T: Object>(id: String, type: T.Type) -> T { T(document(id)) }
}
