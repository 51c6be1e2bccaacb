// Reads and changes fields by path.

extension StoredMap {
  /// The value at a path; nil if the field is absent or a parent is not a map.
  public subscript(path: StoredFieldPath) -> StoredValue? {
    if path.names.count == 1 { return self[path.names[0]] }
    if let encoded { return encoded.value(at: path) }
    var map = self
    for name in path.names.dropLast() {
      guard case .map(let inner) = map[name] else { return nil }
      map = inner
    }
    return path.names.last.flatMap { map[$0] }
  }

  /// Copies the field at each path from `source`: sets the field, or removes it if `source` lacks it.
  ///
  /// Setting a field creates the missing maps above it, and replaces values above it that are not maps.
  /// Removing a field creates and replaces nothing, and keeps maps that become empty. `paths` must be sorted,
  /// and no path may be a prefix of another.
  package func replacing(_ paths: [StoredFieldPath], from source: StoredMap) -> StoredMap {
    replacing(paths[...], below: 0, from: source)
  }

  /// Merges the fields and the paths in one pass; both are sorted. The first `depth` names are the same in
  /// all `paths`, and lead to this map and to `source`.
  private func replacing(
    _ paths: ArraySlice<StoredFieldPath>, below depth: Int, from source: StoredMap?
  ) -> StoredMap {
    // Encoded fields are decoded once.
    let entries = entries
    var result: [Entry] = []
    result.reserveCapacity(entries.count + paths.count)
    var kept = entries[...]
    var rest = paths
    while let name = rest.first?.names[depth] {
      let group = rest.prefix { $0.names[depth].isSameUTF8(as: name) }
      rest = rest[group.endIndex...]
      while let entry = kept.first, entry.name.precedesInUTF8(name) {
        result.append(entry)
        kept.removeFirst()
      }
      let before = kept.first?.name.isSameUTF8(as: name) == true ? kept.removeFirst().value : nil
      if let after = Self.replacing(group, below: depth + 1, in: before, from: source?[name]) {
        result.append((name, after))
      }
    }
    result.append(contentsOf: kept)
    return StoredMap(sorted: result)
  }

  /// The new value at the path that consists of the first `depth` names. All `paths` share these names.
  private static func replacing(
    _ paths: ArraySlice<StoredFieldPath>, below depth: Int, in value: StoredValue?, from source: StoredValue?
  ) -> StoredValue? {
    if paths.contains(where: { $0.names.count == depth }) { return source }
    var inner: StoredMap?
    if case .map(let map) = source { inner = map }
    if case .map(let map) = value { return .map(map.replacing(paths, below: depth, from: inner)) }
    let created = StoredMap().replacing(paths, below: depth, from: inner)
    return created.isEmpty ? value : .map(created)
  }
}
