// The object class for a model that has no object class of its own.

public import FirebaseFirestore
public import FirebaseStorage
import Foundation

/// A document whose fields are a `Model`.
///
/// ```swift
/// let user = Document<User>(id: "ada")
/// user.data?.age = 36
/// try await user.save()
/// ```
public final class Document<Model: Modelable & Codable>: Object, DataRepresentable {
  // Not `Model?`, which would be initialized to nil and then assigned again.
  public var data: Optional<Model>

  public override class var name: String { Model.name }

  public class var collectionReference: CollectionReference { Model.collectionReference }

  public override var storageReference: StorageReference { super.storageReference }

  public required init(_ documentReference: DocumentReference) {
    data = nil
    super.init(documentReference)
  }

  private init(_ data: consuming Model, read snapshot: DocumentSnapshot, at readTime: Date) {
    self.data = data
    super.init(ballcapRead: snapshot, at: readTime)
  }

  override class func ballcapWhole(
    of snapshot: DocumentSnapshot, at readTime: Date, decoder: Firestore.Decoder
  ) throws -> Object? {
    let data = try snapshot.data(as: Model.self, with: .estimate, decoder: decoder)
    return Document(data, read: snapshot, at: readTime)
  }
}
