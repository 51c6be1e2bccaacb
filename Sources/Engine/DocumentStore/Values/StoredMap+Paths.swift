// Reads, selects and changes fields by path.

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

  /// The fields at the paths. Maps above them have no other fields, and there is no map without one of them.
  ///
  /// Looks up the paths among the fields, or the fields among the paths, whichever are fewer: a request can
  /// have any number of paths, and they are applied to many documents. `paths` must be sorted, and no path
  /// may be a prefix of another.
  package func selecting(_ paths: [StoredFieldPath]) -> StoredMap { selecting(paths[...], below: 0) }

  private func selecting(_ paths: ArraySlice<StoredFieldPath>, below depth: Int) -> StoredMap {
    var result: [Entry] = []
    func add(_ name: String, _ value: StoredValue, at group: ArraySlice<StoredFieldPath>) {
      if let selected = Self.selected(group, below: depth + 1, in: value) { result.append((name, selected)) }
    }
    var rest = paths
    if paths.count <= count {
      while let name = rest.first?.names[depth] {
        let group = rest.prefix { $0.names[depth].isSameUTF8(as: name) }
        rest = rest[group.endIndex...]
        if let value = self[name] { add(name, value, at: group) }
      }
    } else {
      for (name, value) in entries {
        rest = rest[rest.end { $0.names[depth].precedesInUTF8(name) }...]
        let group = rest[..<rest.end { !name.precedesInUTF8($0.names[depth]) }]
        rest = rest[group.endIndex...]
        if !group.isEmpty { add(name, value, at: group) }
      }
    }
    return StoredMap(sorted: result)
  }

  /// The parts of a value at the paths, all of which share their first `depth` names.
  private static func selected(
    _ paths: ArraySlice<StoredFieldPath>, below depth: Int, in value: StoredValue
  ) -> StoredValue? {
    if paths.first?.names.count == depth { return value }
    guard case .map(let map) = value else { return nil }
    let inner = map.selecting(paths, below: depth)
    return inner.isEmpty ? nil : .map(inner)
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
    result.reserveCapacity(entries.count)
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
    // Nothing is created from a source that ends here. A path can be much deeper than any map.
    guard let inner else { return value }
    let created = StoredMap().replacing(paths, below: depth, from: inner)
    return created.isEmpty ? value : .map(created)
  }
}

extension ArraySlice {
  /// The end of the elements that satisfy a condition. They are at the beginning of the slice.
  fileprivate func end(where condition: (Element) -> Bool) -> Int {
    var low = startIndex
    var high = endIndex
    while low < high {
      let middle = low + (high - low) / 2
      if condition(self[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
