// Fields below fields: reading one, and changing many at once.

extension StoredMap {
  /// The value at a path; nil if there is none or something on the way is no map.
  public subscript(path: StoredFieldPath) -> StoredValue? {
    var map = self
    for name in path.names.dropLast() {
      guard case .map(let inner) = map[name] else { return nil }
      map = inner
    }
    return path.names.last.flatMap { map[$0] }
  }

  /// This map, with the field at each path as it is in `source`: set if it has a value, else removed.
  ///
  /// A value that is set makes the maps above it, in place of whatever is no map there; a removal makes
  /// and replaces nothing, and leaves the maps above it even if they are empty then. `paths` are in
  /// order, and none is above another.
  package func replacing(_ paths: [StoredFieldPath], from source: StoredMap) -> StoredMap {
    replacing(paths[...], below: 0, from: source)
  }

  /// One pass over the fields and the paths, both in order. `paths` agree in their first `depth` names,
  /// which lead to this map and to `source`.
  private func replacing(
    _ paths: ArraySlice<StoredFieldPath>, below depth: Int, from source: StoredMap?
  ) -> StoredMap {
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

  /// What becomes of the value to which the first `depth` names of all `paths` lead.
  private static func replacing(
    _ paths: ArraySlice<StoredFieldPath>, below depth: Int, in value: StoredValue?, from source: StoredValue?
  ) -> StoredValue? {
    if paths.contains(where: { $0.names.count == depth }) { return source }
    var inner: StoredMap?
    if case .map(let map) = source { inner = map }
    if case .map(let map) = value { return .map(map.replacing(paths, below: depth, from: inner)) }
    let made = StoredMap().replacing(paths, below: depth, from: inner)
    return made.isEmpty ? value : .map(made)
  }
}
