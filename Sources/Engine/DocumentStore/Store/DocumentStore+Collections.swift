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

  /// The ids of the collections directly below a document, or of the root collections, in the order of names.
  /// A collection without documents counts if a document is below it at any depth. The document need not
  /// exist.
  package func collectionIDs(
    below document: DocumentPath?, after: String? = nil, max count: Int = .max
  ) throws(DocumentStoreError) -> [String] {
    try names(NamesBelow(document?.segments ?? [], depth: 2, after: after, count: count))
  }

  /// The ids of a collection's documents in the order of names, also of those that do not exist, but have
  /// documents below them.
  package func documentIDs(
    in collection: CollectionPath, after: String? = nil, max count: Int = .max
  ) throws(DocumentStoreError) -> [String] {
    try names(NamesBelow(collection.segments, depth: 1, after: after, count: count))
  }

  private func names(_ wanted: NamesBelow) throws(DocumentStoreError) -> [String] {
    var found: [[UInt8]: String] = [:]
    for group in try collectionGroups() where (try? CollectionPath([group])) != nil {
      try add(wanted, ofGroup: group, to: &found)
    }
    return Array(found.sorted { $0.key.precedes($1.key) }.map(\.value).prefix(wanted.count))
  }

  /// Adds the names in the paths of a collection group, by their keys. Each name takes one seek in the index
  /// of names.
  private func add(
    _ wanted: NamesBelow, ofGroup group: String, to found: inout [[UInt8]: String]
  ) throws(DocumentStoreError) {
    let groupKey = NameKey.prefix(group: group)
    let prefix = groupKey + wanted.parentKey
    // Names that are longer than a stored key are not in order, so all names of the group are visited.
    let isOrdered = prefix.count + (wanted.afterKey?.count ?? 0) <= StoredKey.keptBytes
    var start = isOrdered ? prefix : StoredKey.start(of: groupKey)
    if isOrdered, let after = wanted.afterKey {
      guard let behind = (prefix + after).prefixSuccessor else { return }
      start = behind
    }
    let (snapshot, names) = try snapshotWithNames()
    let pooled = snapshot.takeBuffer()
    defer { snapshot.recycle(pooled) }
    var cursor = try names.cursor()
    try cursor.seekForward(to: start)
    var count = 0
    while count < wanted.count || !isOrdered, try cursor.next() {
      let exists = try translatingErrors { () throws(ByteStoreError) in
        try snapshot.read(cursor.ordinal, into: &pooled.buffer)
      }
      guard exists,
        let path = pooled.buffer.withEntry({ key, _ in DocumentKey.decode([UInt8](copying: key)) })
      else { continue }
      guard path.collectionID.isSameUTF8(as: group) else { return }
      guard wanted.contains(path) else {
        if isOrdered { return }
        continue
      }
      guard let (name, key) = wanted.name(in: path) else { continue }
      if !path.isReserved {
        found[key] = name
        count += 1
      }
      guard prefix.count + key.count <= StoredKey.keptBytes else { continue }
      guard let behind = (prefix + key).prefixSuccessor else { return }
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

/// The names that follow a path in the paths of documents.
private struct NamesBelow {
  let parent: [String]
  /// The least number of names that a document's path has after the parent's.
  let depth: Int
  let count: Int
  let parentKey: [UInt8]
  /// The key of the name after which the names begin.
  let afterKey: [UInt8]?

  init(_ parent: [String], depth: Int, after: String?, count: Int) {
    self.parent = parent
    self.depth = depth
    self.count = count
    parentKey = parent.reduce(into: []) { key, name in DocumentKey.append(name, to: &key) }
    afterKey = after.map(Self.key)
  }

  private static func key(_ name: String) -> [UInt8] {
    var key: [UInt8] = []
    DocumentKey.append(name, to: &key)
    return key
  }

  func contains(_ path: DocumentPath) -> Bool {
    path.segments.prefix(parent.count).elementsEqual(parent) { $0.isSameUTF8(as: $1) }
  }

  /// The name in the path of a document below the parent; nil if the names begin after it, or if the path has
  /// none.
  func name(in path: DocumentPath) -> (name: String, key: [UInt8])? {
    guard path.segments.count >= parent.count + depth else { return nil }
    let name = path.segments[parent.count]
    let key = Self.key(name)
    if let afterKey, !afterKey.precedes(key) { return nil }
    return (name, key)
  }
}
