// Initializers for objects of new documents and for objects of documents with known fields.

public import FirebaseFirestore
import LayerKit

extension DataRepresentable where Self: Object {
  /// Creates a new document with a random id in the type's collection.
  public init() { self.init(collectionReference: nil) }

  /// Creates a new document with a random id.
  public init(collectionReference: CollectionReference? = nil) {
    self.init((collectionReference ?? Self.home).document())
    data = Model()
  }

  /// Creates an object for the document with this id, with a new model. Does not read the stored document.
  public init(id: String, collectionReference: CollectionReference? = nil) {
    self.init(id: id, from: Model(), collectionReference: collectionReference)
  }

  /// Creates an object for the document with this id, with a new model. A short form of `init(id:)`.
  public init(_ id: String, collectionReference: CollectionReference? = nil) {
    self.init(id: id, from: Model(), collectionReference: collectionReference)
  }

  /// Creates an object from the fields of a document. Returns nil if the fields do not decode.
  public init?(id: String, from data: [String: Any], collectionReference: CollectionReference? = nil) {
    let reference = (collectionReference ?? Self.home).document(id)
    guard let model = try? Firestore.Decoder().decode(Model.self, from: data, in: reference) else {
      return nil
    }
    self.init(documentReference: reference, from: model)
    ballcapTimes.update(from: data)
  }

  /// Creates an object for the document with this id and data. Without a collection, uses the type's
  /// collection.
  public init(id: String, from data: Model, collectionReference: CollectionReference? = nil) {
    self.init(documentReference: (collectionReference ?? Self.home).document(id), from: data)
  }

  /// Creates an object from the fields of a document. Throws if the fields do not decode.
  public init(documentReference: DocumentReference, from data: [String: Any]) throws {
    self.init(
      documentReference: documentReference,
      from: try Firestore.Decoder().decode(Model.self, from: data, in: documentReference))
    ballcapTimes.update(from: data)
  }

  /// Creates an object for the document at a reference, with data.
  public init(documentReference: DocumentReference, from data: Model) {
    self.init(documentReference)
    self.data = data
  }
}
