// The object of a model that needs no class of its own.

public import FirebaseFirestore

/// A document whose fields are a `Model`.
///
///     let user = Document<User>(id: "ada")
///     user.data?.age = 36
///     user.save()
public final class Document<Model: Modelable & Codable>: Object, DataRepresentable {
  public var data: Model?

  public override class var name: String { Model.name }

  public class var collectionReference: CollectionReference { Model.collectionReference }

  public required init(_ documentReference: DocumentReference) {
    super.init(documentReference)
  }

  public static func get(
    id: String, source: FirestoreSource = FirestoreSource.default,
    completion: @escaping ((Document?, (any Error)?) -> Void)
  ) {
    // Through the model, which may name a collection of its own.
    get(
      documentReference: Model.collectionReference.document(id), source: source,
      completion: completion)
  }
}
