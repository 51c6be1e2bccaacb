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

  /// The ids of the collections directly below a document, or of the root collections, in order. A collection
  /// without documents counts if a document is below it at any depth. The document need not exist.
  package func collectionIDs(below document: DocumentPath?) throws(DocumentStoreError) -> [String] {
    let parent = document?.segments ?? []
    var ids: Set<String> = []
    for group in try collectionGroups() {
      try addCollections(below: parent, withDocumentsOf: group, to: &ids)
    }
    return ids.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Adds the collections below a path that contain documents of a collection group. Each of them takes one
  /// seek in the index of names.
  private func addCollections(
    below parent: [String], withDocumentsOf group: String, to ids: inout Set<String>
  ) throws(DocumentStoreError) {
    var start = NameKey.prefix(group: group)
    for segment in parent { DocumentKey.append(segment, to: &start) }
    let (snapshot, names) = try snapshotWithNames()
    let pooled = snapshot.takeBuffer()
    defer { snapshot.recycle(pooled) }
    var cursor = try names.cursor()
    try cursor.seekForward(to: StoredKey.start(of: start))
    while try cursor.next() {
      let exists = try translatingErrors { () throws(ByteStoreError) in
        try snapshot.read(cursor.ordinal, into: &pooled.buffer)
      }
      guard exists,
        let path = pooled.buffer.withEntry({ key, _ in DocumentKey.decode([UInt8](copying: key)) })
      else { continue }
      guard path.collectionID.isSameUTF8(as: group), path.segments.count >= parent.count + 2,
        path.segments.prefix(parent.count).elementsEqual(parent, by: { $0.isSameUTF8(as: $1) })
      else {
        // Names that are longer than a stored key are not in order, so all of them are visited.
        guard start.count > StoredKey.keptBytes, path.collectionID.isSameUTF8(as: group) else { return }
        continue
      }
      let id = path.segments[parent.count]
      if (try? CollectionPath([id])) != nil { ids.insert(id) }
      var last = start
      DocumentKey.append(id, to: &last)
      guard last.count <= StoredKey.keptBytes else { continue }
      guard let behind = last.prefixSuccessor else { return }
      try cursor.seekForward(to: behind)
    }
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
