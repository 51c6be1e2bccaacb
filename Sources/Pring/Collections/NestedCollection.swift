// Documents that live below another.

import FirebaseFirestore

/// Members that have their documents in this collection and nowhere else.
///
/// ```swift
/// class Room: Object { let messages: NestedCollection<Message> = [] }
/// ```
public final class NestedCollection<T: Document>: SubCollection<T> {
  public override func setParent(_ object: Object, forKey key: String) {
    let isNew = parent !== object || self.key != key
    super.setParent(object, forKey: key)
    // Those of a literal were there before the parent was.
    if isNew { for member in pringMembers { pringSettle(member) } }
  }

  override func pringSettle(_ member: T) {
    guard parent != nil, key != nil else { return }
    let place = reference.document(member.id)
    guard member.reference != place else { return }
    member.setReference(place)
    // There is no such document in this collection, whatever there was elsewhere.
    (member as? Object)?.isSaved = false
  }

  /// It belongs to the collection of its class again, where it is not saved.
  override func pringRelease(_ member: T) {
    member.setReference(T.reference.document(member.id))
    (member as? Object)?.isSaved = false
  }
}
