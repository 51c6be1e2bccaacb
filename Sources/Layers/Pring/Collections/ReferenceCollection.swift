// A collection of links to documents in other collections.
//
// A link is a document in this collection with the id of its target. It contains `createdAt` and `updatedAt`,
// and also the fields of the target if `shouldBeReplicated` is true.

public import FirebaseFirestore
public import Foundation

/// A collection of links. The documents of the members stay in the collection of their class.
///
/// ```swift
/// class Group: Object { let members: ReferenceCollection<Member> = [] }
/// ```
///
/// Queries filter and order by the fields of the links: the times and the replicated fields.
public final class ReferenceCollection<T: Document>: SubCollection<T> {
  @discardableResult
  public override func pack(_ type: BatchType, batch: WriteBatch? = nil) -> WriteBatch {
    guard let batch = batch ?? parent?.reference.firestore.batch() else { return reference.firestore.batch() }
    return super.pack(type, batch: batch)
  }

  override func pringPackMember(_ member: T, _ type: BatchType, batch: WriteBatch) {
    var link: [String: Any] = T.shouldBeReplicated ? member.rawValue : [:]
    link["createdAt"] = member.isSaved ? member.createdAt : FieldValue.serverTimestamp()
    link["updatedAt"] = FieldValue.serverTimestamp()
    batch.setReported(link, forDocument: reference.document(member.id))
    member.pack(type, batch: batch)
  }

  override func pringPackRemoval(_ id: String, _ member: T?, hard: Bool, batch: WriteBatch) {
    super.pringPackRemoval(id, member, hard: hard, batch: batch)
    guard hard else { return }
    if let member {
      member.pack(.delete, batch: batch)
    } else {
      batch.deleteDocument(T.reference.document(id))
    }
  }

  /// Adds the deletions of the links to the batch.
  override func pringPackMemberDeletions(_ batch: WriteBatch) {
    for member in pringMembers { batch.deleteDocument(reference.document(member.id)) }
  }

  /// Does nothing, because the document of a linked member does not move.
  override func pringAttach(_ member: T) {}

  /// Does nothing, because the document of a linked member does not move.
  override func pringDetach(_ member: T) {}

  public override func insert(_ newMember: Element) { super.insert(newMember) }

  /// Removes a member. The next write of the parent deletes the member's link. With `hard`, the write also
  /// deletes the member's document.
  public func remove(_ member: Element, hard: Bool = false) {
    pringRemove(member.id, hard: hard, member: member)
  }

  /// Removes the member with this id. The next write of the parent deletes the member's link. With `hard`,
  /// the write also deletes the member's document.
  public func remove(_ id: String, hard: Bool = false) { pringRemove(id, hard: hard, member: nil) }

  /// Does nothing, because the files belong to the members.
  public override func deleteFiles(
    _ id: String, container: DeleteContainer? = nil, block: (((any Error)?) -> Void)? = nil
  ) {
    block?(nil)
  }

  /// Returns an object for this id in the collection of its class, without a read. The object counts as
  /// saved.
  public override func doc(_ id: String) -> T {
    let object = T(id: id, value: [:])
    object.setReference(T.reference.document(id))
    return object
  }
}

extension ReferenceCollection {
  /// Keeps only links whose dictionaries satisfy the predicate. The predicate is evaluated after the database
  /// has returned the result.
  public func filter(using predicate: NSPredicate) -> DataSource<T>.Query { query.filter(using: predicate) }
}
