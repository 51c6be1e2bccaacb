// Objects with subcollections.

public import FirebaseFirestore

/// An object whose document has subcollections. Each case of `CollectionKeys` names a subcollection.
///
/// ```swift
/// final class Room: Object, DataRepresentable, HierarchicalStructurable {
///   struct Model: Codable, Modelable { var title = "" }
///   enum CollectionKeys: String { case transcripts, members }
///   var data: Room.Model?
/// }
/// ```
public protocol HierarchicalStructurable {
  /// The names of the document's subcollections.
  associatedtype CollectionKeys: RawRepresentable
}

extension HierarchicalStructurable where Self: Object, Self.CollectionKeys.RawValue == String {
  /// Creates an object for a new document with a random id, without data.
  public init() { self.init(collectionReference: nil) }

  /// Creates an object for a new document with a random id, without data. Without a collection, uses the
  /// type's collection.
  public init(collectionReference: CollectionReference? = nil) {
    self.init((collectionReference ?? Self.collectionReference).document())
  }

  /// Creates an object for the document with this id, without data. Without a collection, uses the type's
  /// collection.
  public init(id: String, collectionReference: CollectionReference? = nil) {
    self.init((collectionReference ?? Self.collectionReference).document(id))
  }

  /// Returns the subcollection with this name.
  public func collection(path: Self.CollectionKeys) -> CollectionReference {
    documentReference.collection(path.rawValue)
  }

  /// Returns a query for the objects in the subcollection with this name.
  public func collection<T: Object>(path: Self.CollectionKeys) -> DataSource<T>.Query
  where T: DataRepresentable {
    DataSource.Query(documentReference.collection(path.rawValue))
  }
}

// Initializers for objects with a model. Without them, a class that conforms to both protocols would have two
// candidates for each initializer.
extension HierarchicalStructurable
where Self: Object, Self: DataRepresentable, Self.CollectionKeys.RawValue == String {
  /// Creates an object for a new document with a random id and the model's defaults.
  public init() { self.init(collectionReference: nil) }

  /// Creates an object for a new document with a random id and the model's defaults.
  public init(collectionReference: CollectionReference? = nil) {
    self.init((collectionReference ?? Self.home).document())
    data = Model()
  }

  /// Creates an object with the model's defaults for the document with this id.
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
  /// Returns an object for a new document with a random id, without data.
  public func child<T: Object>(type: T.Type) -> T { T(document()) }

  /// Returns an object for the document with this id, without data.
  public func child<T: Object>(id: String, type: T.Type) -> T { T(document(id)) }
}
