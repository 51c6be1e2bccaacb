// Lists collections and documents of a snapshot by name, also those that exist only as parts of other names.

extension StoreSnapshot {
  /// The ids of the collections directly below a document, or of the root collections, in the order of names.
  /// A collection without documents counts if a document is below it at any depth. The document need not
  /// exist. `changed` says of documents whether they exist, in place of the snapshot.
  package func collectionIDs(
    below document: DocumentPath?, after: String? = nil, max count: Int = .max,
    changed: [DocumentPath: Bool] = [:]
  ) throws(DocumentStoreError) -> [String] {
    try names(changed: changed).names(
      NamesBelow(document?.segments ?? [], depth: 2, after: after, count: count))
  }

  /// The ids of a collection's documents in the order of names, also of those that do not exist, but have
  /// documents below them. `changed` says of documents whether they exist, in place of the snapshot.
  package func documentIDs(
    in collection: CollectionPath, after: String? = nil, max count: Int = .max,
    changed: [DocumentPath: Bool] = [:]
  ) throws(DocumentStoreError) -> [String] {
    try names(changed: changed).names(
      NamesBelow(collection.segments, depth: 1, after: after, count: count))
  }
}
