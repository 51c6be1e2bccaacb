// Lists names in the paths of documents, in one snapshot.
//
// The index of names is in the order of collection groups, and of paths within a group. A list of names takes
// one seek for each name in each group.

import ByteStore

/// The names in the paths of all documents in one snapshot.
struct CollectionNames {
  let snapshot: Snapshot
  /// The index of names.
  let index: OrderedIndex
  /// Whether documents exist that have changed since the snapshot.
  let changed: [DocumentPath: Bool]

  /// `index` is the index of names in `snapshot`. `changed` says of documents whether they exist, in place of
  /// the snapshot.
  init(_ snapshot: Snapshot, _ index: OrderedIndex, changed: [DocumentPath: Bool] = [:]) {
    self.snapshot = snapshot
    self.index = index
    self.changed = changed
  }

  /// The ids of all collections in the snapshot at any depth, each once.
  func groups() throws(DocumentStoreError) -> [String] {
    let pooled = snapshot.takeBuffer()
    defer { snapshot.recycle(pooled) }
    var ids: [String] = []
    // By their bytes, because equal strings can have different ones.
    var known: Set<[UInt8]> = []
    var cursor = try index.cursor()
    while try cursor.next() {
      let exists = try translatingErrors { () throws(ByteStoreError) in
        try snapshot.read(cursor.ordinal, into: &pooled.buffer)
      }
      guard exists else { continue }
      let key = pooled.buffer.withEntry { key, _ in [UInt8](copying: key) }
      guard let id = DocumentKey.decode(key)?.collectionID else { continue }
      if known.insert(Array(id.utf8)).inserted { ids.append(id) }
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

  /// The names below a path in the order of names.
  func names(_ wanted: NamesBelow) throws(DocumentStoreError) -> [String] {
    var found: [[UInt8]: String] = [:]
    for group in try groups() where (try? CollectionPath([group])) != nil {
      try add(wanted, ofGroup: group, to: &found)
    }
    for (path, exists) in changed where exists && !path.isReserved && wanted.contains(path) {
      if let (name, key) = wanted.name(in: path) { found[key] = name }
    }
    return Array(found.sorted { $0.key.precedes($1.key) }.map(\.value).prefix(wanted.count))
  }

  /// Adds the names in the paths of a collection group, by their keys.
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
    let pooled = snapshot.takeBuffer()
    defer { snapshot.recycle(pooled) }
    var cursor = try index.cursor()
    try cursor.seekForward(to: start)
    var count = 0
    // Behind a key that is too long to be stored, names are not in order either.
    var stopsAtCount = isOrdered
    while count < wanted.count || !stopsAtCount, try cursor.next() {
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
      // Another document may have the same name in its path.
      guard changed[path] != false else { continue }
      guard let (name, key) = wanted.name(in: path) else { continue }
      if !path.isReserved, found.updateValue(name, forKey: key) == nil { count += 1 }
      guard prefix.count + key.count <= StoredKey.keptBytes else {
        stopsAtCount = false
        continue
      }
      guard let behind = (prefix + key).prefixSuccessor else { return }
      try cursor.seekForward(to: behind)
    }
  }
}

/// The names that follow a path in the paths of documents.
struct NamesBelow {
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
