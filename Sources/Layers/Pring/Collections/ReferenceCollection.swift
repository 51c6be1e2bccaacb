// Links to documents elsewhere.
//
// A link is a document in this collection with the id of its target. It has the two times, and the fields of
// the target if the class replicates them.

public import FirebaseFirestore

/// Members that keep their documents in the collection of their class, with a link to each in this one.
///
/// ```swift
/// class Group: Object { let members: ReferenceCollection<Member> = [] }
/// ```
///
/// Queries look at links, which are ordered by their own fields: the times, and what is replicated.
public final class ReferenceCollection<T: Document>: SubCollection<T> {
  @discardableResult
  public override func pack(_ type: BatchType, batch: WriteBatch? = nil) -> WriteBatch {
    guard let batch = batch ?? parent?.reference.firestore.batch() else { return reference.firestore.batch() }
    return super.pack(type, batch: batch)
  }

  override func pringPackMember(_ member: T, _ type: BatchType, _ batch: WriteBatch) {
    var link: [String: Any] = T.shouldBeReplicated ? member.rawValue : [:]
    link["createdAt"] = member.isSaved ? member.createdAt : FieldValue.serverTimestamp()
    link["updatedAt"] = FieldValue.serverTimestamp()
    batch.setReported(link, forDocument: reference.document(member.id))
    member.pack(type, batch: batch)
  }

  override func pringPackRemoval(_ id: String, _ member: T?, hard: Bool, _ batch: WriteBatch) {
    super.pringPackRemoval(id, member, hard: hard, batch)
    guard hard else { return }
    if let member {
      member.pack(.delete, batch: batch)
    } else {
      batch.deleteDocument(T.reference.document(id))
    }
  }

  /// Adds the deletions of the links.
  override func pringPackMemberDeletions(_ batch: WriteBatch) {
    for member in pringMembers { batch.deleteDocument(reference.document(member.id)) }
  }

  /// Leaves the member where it is.
  override func pringSettle(_ member: T) {}

  /// Leaves the member where it is.
  override func pringRelease(_ member: T) {}

  public override func insert(_ newMember: Element) { super.insert(newMember) }

  /// Removes a member. The next write of the parent deletes its link, and with `hard` also its document.
  public func remove(_ member: Element, hard: Bool = false) { pringRemove(member.id, hard: hard, member) }

  /// Removes the member with this id. The next write of the parent deletes its link, and with `hard` also
  /// its document.
  public func remove(_ id: String, hard: Bool = false) { pringRemove(id, hard: hard, nil) }

  /// Does nothing, because the files belong to the members.
  public override func deleteFiles(
    _ id: String, container: DeleteContainer? = nil, block: (((any Error)?) -> Void)? = nil
  ) {
    block?(nil)
  }

  /// Returns the object with this id in the collection of its class as a saved one, without a read.
  public override func doc(_ id: String) -> T {
    let object = T(id: id, value: [:])
    object.setReference(T.reference.document(id))
    return object
  }
}
