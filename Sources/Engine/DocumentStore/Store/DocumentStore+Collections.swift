// Lists collections, which exist only as parts of document names, and lists document paths.

import ByteStore

extension DocumentStore {
  /// The ids of all collections at any depth, each once.
  public func collectionGroups() throws(DocumentStoreError) -> [String] {
    let (snapshot, names) = try snapshotWithNames()
    let pooled = snapshot.takeBuffer()
    defer { snapshot.recycle(pooled) }
    var ids: [String] = []
    var cursor = try names.cursor()
    while try cursor.next() {
      let exists = try translatingErrors { () throws(ByteStoreError) in
        try snapshot.read(cursor.ordinal, into: &pooled.buffer)
      }
      guard exists else { continue }
      let key = pooled.buffer.withEntry { key, _ in [UInt8](copying: key) }
      guard let id = DocumentKey.decode(key)?.collectionID else { continue }
      if !ids.contains(where: { $0.isSameUTF8(as: id) }) { ids.append(id) }
      let prefix = NameKey.prefix(group: id)
      // Skip the group's other documents. If the id is longer than a stored key, its prefix is truncated, so
      // iterate over the documents instead.
      guard prefix.count <= StoredKey.keptBytes else { continue }
      guard let behind = prefix.prefixSuccessor else { break }
      // Never seek backward, because a forged key could lead to a document of another group.
      try cursor.seekForward(to: behind)
    }
    return ids
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
