// A hint after a query that finds nothing: its collection or a field may be mistyped.

import DocumentStore

enum CollectionHint {
  /// Returns a hint if the collection does not exist, because its name may be mistyped, or if a field may be.
  static func text(_ query: StructuredQuery, _ store: DocumentStore) throws(DocumentStoreError) -> String? {
    let id: String
    switch query.scope {
    case .collection(let path): id = path.id
    case .collectionGroup(let name): id = name
    case .document: return nil
    }
    let groups = try store.collectionGroups().filter(PathArgument.isCollectionID)
    if groups.contains(where: { $0.isSameUTF8(as: id) }) {
      if let hint = try textAboutSameID(query, store) { return hint }
      return try FieldGuess.hint(query, store)
    }
    guard !groups.isEmpty else { return nil }
    let near = groups.sorted().first { Wording.areOneTypoApart($0, id) }
    let guess =
      near.map { "Did you mean \(PathText.printed([$0]))?" } ?? "\"dugout ls\" lists those that exist."
    return "there is no collection \(id). \(guess)"
  }

  /// Returns a hint if the collection is empty and another collection with the same id is not empty.
  private static func textAboutSameID(
    _ query: StructuredQuery, _ store: DocumentStore
  ) throws(DocumentStoreError) -> String? {
    guard case .collection(let path) = query.scope, try store.count(StructuredQuery(.collection(path))) == 0,
      let other = try store.documents(StructuredQuery(.collectionGroup(path.id)).limited(to: .first(1))).first
    else { return nil }
    let names = [path, other.path.parent].map { PathText.printed($0.segments) }
    return "there is no collection \(names[0]), but there is \(names[1]). "
      + "\"group \(PathText.quoted(path.id))\" queries all collections with that id."
  }
}
