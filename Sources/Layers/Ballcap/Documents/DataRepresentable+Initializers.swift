// Making objects: new ones, and those of documents with known fields.

public import FirebaseFirestore
import LayerKit

extension DataRepresentable where Self: Object {
  /// A new document with a random id in the type's collection.
  public init() { self.init(collectionReference: nil) }

  /// A new document with a random id.
  public init(collectionReference: CollectionReference? = nil) {
    self.init((collectionReference ?? Self.home).document())
    data = Model()
  }

  /// A document with this id and a new model; what is stored there is not read.
  public init(id: String, collectionReference: CollectionReference? = nil) {
    self.init(id: id, from: Model(), collectionReference: collectionReference)
  }

  /// The same in fewer letters.
  public init(_ id: String, collectionReference: CollectionReference? = nil) {
    self.init(id: id, from: Model(), collectionReference: collectionReference)
  }

  /// Nil if the fields do not decode.
  public init?(id: String, from data: [String: Any], collectionReference: CollectionReference? = nil) {
    let reference = (collectionReference ?? Self.home).document(id)
    guard let model = try? Firestore.Decoder().decode(Model.self, from: data, in: reference) else {
      return nil
    }
    self.init(documentReference: reference, from: model)
    ballcapTimes.update(from: data)
  }

  /// A document with this id and data, in the collection of its type unless another is named.
  public init(id: String, from data: Model, collectionReference: CollectionReference? = nil) {
    self.init(documentReference: (collectionReference ?? Self.home).document(id), from: data)
  }

  /// Throws if the fields do not decode.
  public init(documentReference: DocumentReference, from data: [String: Any]) throws {
    self.init(
      documentReference: documentReference,
      from: try Firestore.Decoder().decode(Model.self, from: data, in: documentReference))
    ballcapTimes.update(from: data)
  }

  /// A document at a reference, with data.
  public init(documentReference: DocumentReference, from data: Model) {
    self.init(documentReference)
    self.data = data
  }
}
