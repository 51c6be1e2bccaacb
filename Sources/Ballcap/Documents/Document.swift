// The object of a model that needs no class of its own.

public import FirebaseFirestore
public import FirebaseStorage

/// A document whose fields are a `Model`.
///
/// ```swift
/// let user = Document<User>(id: "ada")
/// user.data?.age = 36
/// try await user.save()
/// ```
public final class Document<Model: Modelable & Codable>: Object, DataRepresentable {
  public var data: Model?

  public override class var name: String { Model.name }

  public class var collectionReference: CollectionReference { Model.collectionReference }

  public override var storageReference: StorageReference { super.storageReference }

  public required init(_ documentReference: DocumentReference) {
    super.init(documentReference)
  }
}
