// Lists collections, which exist only as parts of document names, and lists document paths.

import ByteStore

extension DocumentStore {
  /// The ids of all collections at any depth, each once.
  public func collectionGroups() throws(DocumentStoreError) -> [String] {
    let (snapshot, names) = try snapshotWithNames()
    return try CollectionNames(snapshot, names).groups()
  }

  /// The collections directly below `document`, with the number of documents in each. If `document` is nil,
  /// the root collections. The document need not exist.
  public func collections(
    below document: DocumentPath?
  ) throws(DocumentStoreError) -> [(path: CollectionPath, documents: Int)] {
    var found: [(path: CollectionPath, documents: Int)] = []
    for id in try collectionGroups() {
      guard let path = try? CollectionPath((document?.segments ?? []) + [id]) else { continue }
      let documents = try count(StructuredQuery(.collection(path)))
      if documents > 0 { found.append((path, documents)) }
    }
    return found
  }

  func snapshotWithNames() throws(DocumentStoreError) -> (Snapshot, OrderedIndex) {
    while true {
      let (snapshot, names) = try byteSnapshot { [indexes] in indexes.state.withLock { $0.names?.tree } }
      if let names { return (snapshot, names) }
      try rebuildNames()
    }
  }
}

extension DocumentStore {
  /// The paths of all user documents, unordered. Reserved documents are left out.
  package func userPaths() throws(DocumentStoreError) -> [DocumentPath] {
    let (snapshot, _) = try byteSnapshot {}
    var paths: [DocumentPath] = []
    try readAll(snapshot) { _, key, _ in
      guard DocumentKey.isOfDocument(key), let path = DocumentKey.decode(key),
        (try? path.check()) != nil
      else { return }
      paths.append(path)
    }
    return paths
  }
}
