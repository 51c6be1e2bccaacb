// Objects with a model: making, saving, deleting and getting them.

public import FirebaseFirestore
import Foundation

/// An object whose fields are a `Model`.
public protocol DataRepresentable: AnyObject, Hashable {
  associatedtype Model: Modelable & Codable
  var data: Model? { get set }
  init()
}

extension DataRepresentable where Self: Object {
  /// A new document with a random id in the type's collection.
  public init() { self.init(collectionReference: nil) }

  public init(collectionReference: CollectionReference? = nil) {
    self.init((collectionReference ?? Self.collectionReference).document())
    data = Model()
  }

  public init(id: String, collectionReference: CollectionReference? = nil) {
    self.init(id: id, from: Model(), collectionReference: collectionReference)
  }

  public init(id: String, from data: Model, collectionReference: CollectionReference? = nil) {
    self.init((collectionReference ?? Self.collectionReference).document(id))
    self.data = data
  }

  /// The object of a document that was read. `data` is nil if the document does not exist; throws if it
  /// does not decode.
  public init(snapshot: DocumentSnapshot) throws {
    self.init(snapshot.reference)
    self.snapshot = snapshot
    guard snapshot.exists else { return }
    data = try snapshot.data(as: Model.self, with: .estimate)
    let times = try snapshot.data(as: DocumentTimes.self, with: .estimate)
    createdAt = times.createdAt ?? createdAt
    updatedAt = times.updatedAt ?? updatedAt
  }

  /// Reads and writes a property of the model; traps if there is no data.
  public subscript<T>(keyPath: WritableKeyPath<Model, T>) -> T {
    get {
      guard let data else { preconditionFailure("\(Self.self) at \(path) has no data") }
      return data[keyPath: keyPath]
    }
    set { data![keyPath: keyPath] = newValue }
  }

  // MARK: Writing

  /// Writes the whole model, with `createdAt` and `updatedAt`. `completion` runs once it is durable.
  public func save(completion: (((any Error)?) -> Void)? = nil) {
    save(reference: nil, completion: completion)
  }

  public func save(reference: DocumentReference? = nil, completion: (((any Error)?) -> Void)? = nil) {
    Batch(firestore: documentReference.firestore).save(self, reference: reference).commit(completion)
  }

  public func delete(completion: (((any Error)?) -> Void)? = nil) {
    delete(reference: nil, completion: completion)
  }

  public func delete(reference: DocumentReference? = nil, completion: (((any Error)?) -> Void)? = nil) {
    Batch(firestore: documentReference.firestore).delete(self, reference: reference).commit(completion)
  }

  // MARK: Reading

  /// `(object, nil)`, `(nil, nil)` if the document does not exist, `(nil, error)` otherwise.
  public static func get(
    documentReference: DocumentReference, source: FirestoreSource = FirestoreSource.default,
    completion: @escaping ((Self?, (any Error)?) -> Void)
  ) {
    documentReference.getDocument(source: source) { snapshot, error in
      guard let snapshot, snapshot.exists else { return completion(nil, error) }
      do {
        completion(try Self(snapshot: snapshot), nil)
      } catch {
        completion(nil, error)
      }
    }
  }

  public static func get(
    id: String, source: FirestoreSource = FirestoreSource.default,
    completion: @escaping ((Self?, (any Error)?) -> Void)
  ) {
    get(
      documentReference: Self.collectionReference.document(id), source: source, completion: completion)
  }
}

/// The two fields that saving adds. Anything but a timestamp counts as not set.
private struct DocumentTimes: Decodable {
  var createdAt: Timestamp?
  var updatedAt: Timestamp?

  private enum Key: CodingKey { case createdAt, updatedAt }

  init(from decoder: any Decoder) throws {
    let fields = try decoder.container(keyedBy: Key.self)
    createdAt = try? fields.decodeIfPresent(Timestamp.self, forKey: .createdAt)
    updatedAt = try? fields.decodeIfPresent(Timestamp.self, forKey: .updatedAt)
  }
}
